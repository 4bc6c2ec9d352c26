/** Calls back once after a while. The result stops it; stopping it again, or after it rang, does nothing. */
export type StartTimer = (delayMs: number, ring: () => void) => () => void;

/** The platform's timer. It does not keep a process alive by itself. */
export const startSystemTimer: StartTimer = (delayMs, ring) => {
  const timer = setTimeout(ring, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
};
