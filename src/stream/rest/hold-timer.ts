import type { StartTimer } from '../../lib/timer.ts';

/** How long one request waits: in all, and since it last had something to hope for. */
export interface HoldTimer {
  /** The backlog is exhausted; the idle time starts, or starts anew where a message came that the caller may see. */
  exhausted(sawMessage: boolean): void;
  /** Whether it is time to answer. Idleness counts only for a caller that has everything. */
  isOver(upToDate: boolean): boolean;
  /** Runs a wait whose signal aborts as soon as it is time to answer. */
  during(wait: (stop: AbortSignal) => Promise<void>): Promise<void>;
  /** Stops the timers. */
  end(): void;
}

/** Timers alone decide, never the clock: it may be set back while a request is held. */
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
