import type { StartTimer } from './timer.ts';

/** Something that is done again and again, one time after another. */
export interface Repeating {
  /** Waits for what is under way, and does it no more. */
  stop(): Promise<void>;
}

/**
 * Does something every so often, counted from the end of the time before.
 * @param action must not fail
 */
export function repeat(everyMs: number, startTimer: StartTimer, action: () => Promise<void>): Repeating {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  const schedule = () =>
    startTimer(everyMs, () => {
      running = action().then(() => {
        if (!stopped) stopTimer = schedule();
      });
    });
  let stopTimer = schedule();
  return {
    async stop() {
      stopped = true;
      stopTimer();
      await running;
    },
  };
}
