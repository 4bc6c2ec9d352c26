import type { StartTimer } from '../../src/stream/timer.ts';
import type { Clock, UtcMs } from '../../src/time.ts';

/** A clock that stands still until a test moves it, with timers that ring as it passes them. */
export interface TestClock extends Clock {
  startTimer: StartTimer;
  /** Moves the time on, ringing timers in order, and lets what they set off run. */
  advance(ms: number): Promise<void>;
  /** Sets the time, backwards too. Rings nothing. */
  set(nowMs: UtcMs): void;
  readonly timersPending: number;
}

export const TEST_START_MS = Date.UTC(2026, 10, 20, 12);

export function createTestClock(startMs: UtcMs = TEST_START_MS): TestClock {
  let nowMs = startMs;
  const timers = new Set<{ atMs: UtcMs; ring: () => void }>();
  return {
    now: () => nowMs,
    startTimer(delayMs, ring) {
      const timer = { atMs: nowMs + delayMs, ring };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      const untilMs = nowMs + ms;
      for (;;) {
        await settle();
        const due = [...timers].filter((timer) => timer.atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
        if (due === undefined) break;
        timers.delete(due);
        nowMs = Math.max(nowMs, due.atMs);
        due.ring();
      }
      nowMs = untilMs;
      await settle();
    },
    set(ms) {
      nowMs = ms;
    },
    get timersPending() {
      return timers.size;
    },
  };
}

/** Lets promises that are ready, and what follows from them, run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
