import type { Clock, UtcMs } from '../../src/lib/time.ts';
import type { StartTimer } from '../../src/lib/timer.ts';

/** A clock that stands still until a test moves it. Its timers call back when it passes their times. */
export interface TestClock extends Clock {
  startTimer: StartTimer;
  /** Resolves when that much time has passed. */
  pass(delayMs: number): Promise<void>;
  /** Moves the time forward. Timers call back in order, and promises that follow from them run. */
  advance(ms: number): Promise<void>;
  /** Lets time pass at once, as for a process that was stopped. Timers call back late. */
  leap(ms: number): void;
  /** Sets the clock forward or back, like an operator. No time passes. */
  set(nowMs: UtcMs): void;
  readonly timersPending: number;
}

export const TEST_START_MS = Date.UTC(2026, 10, 20, 12);

export function createTestClock(startMs: UtcMs = TEST_START_MS): TestClock {
  let nowMs = startMs;
  /** The time that has passed. Timers use it, so setting the clock does not change them. */
  let elapsedMs = 0;
  const timers = new Set<{ atMs: number; ring: () => void }>();
  const pass = (ms: number) => {
    elapsedMs += ms;
    nowMs += ms;
  };
  const startTimer: StartTimer = (delayMs, ring) => {
    const timer = { atMs: elapsedMs + delayMs, ring };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  return {
    now: () => nowMs,
    elapsed: () => elapsedMs,
    startTimer,
    pass: (delayMs) => new Promise((resolve) => startTimer(delayMs, resolve)),
    async advance(ms) {
      const untilMs = elapsedMs + ms;
      for (;;) {
        await settle();
        const due = [...timers].filter((timer) => timer.atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
        if (due === undefined) break;
        timers.delete(due);
        pass(Math.max(0, due.atMs - elapsedMs));
        due.ring();
      }
      pass(untilMs - elapsedMs);
      await settle();
    },
    leap: pass,
    set(ms) {
      nowMs = ms;
    },
    get timersPending() {
      return timers.size;
    },
  };
}

/** Lets settled promises run, and everything that follows from them. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
