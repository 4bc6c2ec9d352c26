/**
 * Calls `ring` once after a delay. The returned function cancels the call. After the call it does nothing.
 */
export type StartTimer = (delayMs: number, ring: () => void) => () => void;

/** The timer of the platform. It does not keep a process alive. */
export const startSystemTimer: StartTimer = (delayMs, ring) => {
  const timer = setTimeout(ring, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
};
