import type { StartTimer } from './timer.ts';

/** A repeated action. */
export interface Repeating {
  /** Waits for the current run and stops. */
  stop(): Promise<void>;
}

/**
 * Repeats an action. The delay begins at the end of each run.
 * @param everyMs a function is asked before each delay
 * @param action must not throw
 */
export function repeat(
  everyMs: number | (() => number),
  startTimer: StartTimer,
  action: () => Promise<void>,
): Repeating {
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();
  const schedule = () =>
    startTimer(typeof everyMs === 'number' ? everyMs : everyMs(), () => {
      running = action().then(() => {
        if (!isStopped) stopTimer = schedule();
      });
    });
  let stopTimer = schedule();
  return {
    async stop() {
      isStopped = true;
      stopTimer();
      await running;
    },
  };
}
