import type { StartTimer } from '../../lib/timer.ts';

/** Measures how long a request is held: in total, and since the caller has everything or got a message. */
interface HoldTimer {
  /** The backlog is exhausted. The idle time starts, and starts again if the caller got a message. */
  exhausted(sawMessage: boolean): void;
  /** True if the request must be answered. The idle time counts only if the caller has everything. */
  isOver(upToDate: boolean): boolean;
  /** Runs a wait. Its signal aborts when the request must be answered. */
  during(wait: (stop: AbortSignal) => Promise<void>): Promise<void>;
  end(): void;
}

/** Only timers decide, because the clock may be set back during a request. */
export function createHoldTimer(options: {
  startTimer: StartTimer;
  holdMs: number;
  idleMs: number;
  signal: AbortSignal;
}): HoldTimer {
  const { startTimer, holdMs, idleMs, signal } = options;
  let waiting: AbortController | undefined;
  let held = holdMs <= 0;
  let idle = false;
  let stopIdle: (() => void) | undefined;
  const interrupt = () => waiting?.abort();
  const stopHold = startTimer(Math.max(0, holdMs), () => {
    held = true;
    interrupt();
  });
  signal.addEventListener('abort', interrupt);

  return {
    exhausted(sawMessage) {
      if (stopIdle !== undefined && !sawMessage) return;
      stopIdle?.();
      idle = false;
      stopIdle = startTimer(idleMs, () => {
        idle = true;
        interrupt();
      });
    },
    isOver: (upToDate) => held || signal.aborted || (upToDate && idle),
    async during(wait) {
      waiting = new AbortController();
      await wait(waiting.signal);
      waiting = undefined;
    },
    end() {
      stopHold();
      stopIdle?.();
      signal.removeEventListener('abort', interrupt);
    },
  };
}
