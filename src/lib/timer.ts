/** Calls back once after a delay. The result stops it. Stopping it twice, or after the call, does nothing. */
export type StartTimer = (delayMs: number, ring: () => void) => () => void;

/** The timer of the platform. It does not keep a process alive. */
export const startSystemTimer: StartTimer = (delayMs, ring) => {
  const timer = setTimeout(ring, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
};
