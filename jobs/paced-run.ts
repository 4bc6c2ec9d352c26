import { type StartTimer, startSystemTimer } from '../src/lib/timer.ts';

/** Repeats an action: soon if it is asked for, and after a longer time without being asked. */
export interface PacedRun {
  /** Asks for a run. It begins at once, or when `minPeriodMs` have passed since the last one began. */
  request(): void;
  /** True if a run was asked for or is under way. */
  isBusy(): boolean;
  /** Begins no more runs. The current one continues. */
  stop(): void;
}

/** What follows a run: nothing, another run as after a request, or another run after a wait. */
export type AfterRun = 'done' | 'again' | { waitMs: number };

interface PacedRunOptions {
  /** The least time between the beginnings of two runs. */
  minPeriodMs: number;
  /**
   * The time between the beginnings of two runs if nobody asks. It varies by a tenth, so that shards do not
   * run at the same time.
   */
  maxPeriodMs: number;
  /** The time until the first run if nobody asks. Default: 0. */
  firstAfterMs?: number;
  /** Must not throw. */
  run(): Promise<AfterRun>;
  startTimer?: StartTimer;
  /** Monotonic milliseconds, because a clock that is set must not stop the runs. */
  nowMs?: () => number;
  /** A number from 0 to 1, without 1. */
  random?: () => number;
}

const JITTER = 0.1;

/**
 * Begins with a run that nobody asks for. Without `firstAfterMs` it begins at once, and `isBusy` is true
 * until it ends.
 */
export function createPacedRun(options: PacedRunOptions): PacedRun {
  const { minPeriodMs, maxPeriodMs, firstAfterMs = 0, run, startTimer = startSystemTimer } = options;
  const { nowMs = () => performance.now(), random = Math.random } = options;
  const createdAtMs = nowMs();
  let beganAtMs = Number.NEGATIVE_INFINITY;
  let notBeforeMs = Number.NEGATIVE_INFINITY;
  let isRequested = firstAfterMs === 0;
  let jitter = newJitter(random);
  let isRunning = false;
  let isStopped = false;
  let stopTimer = () => {};

  function plan(): void {
    stopTimer();
    if (isStopped || isRunning) return;
    const apartMs = isRequested ? minPeriodMs : Math.max(minPeriodMs, maxPeriodMs * jitter);
    const firstAtMs = isRequested ? Number.NEGATIVE_INFINITY : createdAtMs + firstAfterMs;
    const atMs = Math.max(beganAtMs + apartMs, notBeforeMs, firstAtMs);
    const leftMs = Math.max(0, Math.ceil(atMs - nowMs()));
    stopTimer = startTimer(leftMs, () => void begin());
  }

  async function begin(): Promise<void> {
    isRunning = true;
    isRequested = false;
    beganAtMs = nowMs();
    jitter = newJitter(random);
    const after = await run();
    isRunning = false;
    if (after === 'again') isRequested = true;
    notBeforeMs = typeof after === 'object' ? nowMs() + after.waitMs : Number.NEGATIVE_INFINITY;
    if (typeof after === 'object') isRequested = true;
    plan();
  }

  plan();
  return {
    request() {
      if (isRequested) return;
      isRequested = true;
      plan();
    },
    isBusy: () => isRequested || isRunning,
    stop() {
      isStopped = true;
      stopTimer();
    },
  };
}

/** The time from one run to the next is multiplied by it: 1, at most `JITTER` more or less. */
function newJitter(random: () => number): number {
  return 1 + JITTER * (2 * random() - 1);
}
