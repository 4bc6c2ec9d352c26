import type { StartTimer } from '../../lib/timer.ts';

/**
 * Measures how long a request is held. It measures the total time, and the idle time: the time since the
 * caller had everything, or since it last got a message.
 */
interface HoldTimer {
  /**
   * To be called when the caller has everything. It starts the idle time, and starts it again if the caller
   * got a message.
   */
  noteExhausted(sawMessage: boolean): void;
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
  let isHoldOver = holdMs <= 0;
  let isIdle = false;
  let stopIdle: (() => void) | undefined;
  const interrupt = () => waiting?.abort();
  const stopHold = startTimer(Math.max(0, holdMs), () => {
    isHoldOver = true;
    interrupt();
  });
  signal.addEventListener('abort', interrupt);

  return {
    noteExhausted(sawMessage) {
      if (stopIdle !== undefined && !sawMessage) return;
      stopIdle?.();
      isIdle = false;
      stopIdle = startTimer(idleMs, () => {
        isIdle = true;
        interrupt();
      });
    },
    isOver: (upToDate) => isHoldOver || signal.aborted || (upToDate && isIdle),
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
