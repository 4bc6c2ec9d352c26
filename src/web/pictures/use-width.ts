import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/**
 * The width of an element in pixels. With it a picture is drawn at its real size, so that its text has the
 * same size at every width. 0 before the first layout.
 */
export function useWidth<Shown extends HTMLElement>() {
  const ref = useRef<Shown>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    setWidth(Math.round(element.getBoundingClientRect().width));
    const observer = new ResizeObserver(([entry]) => setWidth(Math.round(entry!.contentRect.width)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, width };
}
