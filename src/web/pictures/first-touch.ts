import { useRef } from 'preact/hooks';

/**
 * A finger cannot point at something without touching it. So the first touch of a part of a picture only
 * shows its values. The second touch follows the link.
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
    /** True if a click only shows the values and must not follow the link. */
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
