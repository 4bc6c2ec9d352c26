import { useRef } from 'preact/hooks';

/**
 * A finger cannot point without pressing. So the first touch of a part of a picture shows its values, as
 * pointing does, and the second one leads on.
 */
export function useFirstTouch() {
  const isFirst = useRef(false);
  return {
    /**
     * Call it when the pointer goes down.
     * @param isShown true if the values of this part are shown already
     */
    onDown(event: PointerEvent, isShown: boolean): void {
      isFirst.current = event.pointerType === 'touch' && !isShown;
    },
    /** True if a click only shows. It must not lead on. */
    isShowing: () => isFirst.current,
  };
}

/**
 * True for a mouse or a pen. It is false for a finger: when the finger is lifted, the values stay on the
 * screen.
 */
export function isMouse({ pointerType }: PointerEvent): boolean {
  return pointerType !== 'touch';
}
