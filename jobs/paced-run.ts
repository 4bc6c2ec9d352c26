import { SECOND_MS } from '../src/lib/time.ts';
import { type StartTimer, startSystemTimer } from '../src/lib/timer.ts';

/** Repeats an action: soon if it is asked for, and after a longer time without being asked. */
export interface PacedRun {
  /** Asks for a run. It begins at once, or when `minPeriodMs` have passed since the last one began. */
  want(): void;
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
}

const JITTER = 0.1;
/** During a long wait, the time is checked this often. */
const LOOK_EVERY_MS = 5 * SECOND_MS;

/**
 * Begins with a run that nobody asks for. Without `firstAfterMs` it begins at once, and `isBusy` is true
 * until it ends.
 */
export function createPacedRun(options: PacedRunOptions): PacedRun {
  const { minPeriodMs, maxPeriodMs, firstAfterMs = 0, run, startTimer = startSystemTimer } = options;
  const { nowMs = () => performance.now() } = options;
  const createdAtMs = nowMs();
  let beganAtMs = Number.NEGATIVE_INFINITY;
  let notBeforeMs = Number.NEGATIVE_INFINITY;
  let isWanted = firstAfterMs === 0;
  let jitter = newJitter();
  let isRunning = false;
  let isStopped = false;
  let stopTimer = () => {};

  function plan(): void {
    stopTimer();
    if (isStopped || isRunning) return;
    const apartMs = isWanted ? minPeriodMs : Math.max(minPeriodMs, maxPeriodMs * jitter);
    const firstAtMs = isWanted ? Number.NEGATIVE_INFINITY : createdAtMs + firstAfterMs;
    const atMs = Math.max(beganAtMs + apartMs, notBeforeMs, firstAtMs);
    const leftMs = Math.max(0, Math.ceil(atMs - nowMs()));
    // A machine that sleeps may delay a timer.
    if (leftMs > LOOK_EVERY_MS) stopTimer = startTimer(LOOK_EVERY_MS, plan);
    else stopTimer = startTimer(leftMs, () => void begin());
  }

  async function begin(): Promise<void> {
    if (isStopped) return;
    isRunning = true;
    isWanted = false;
    beganAtMs = nowMs();
    jitter = newJitter();
    const after = await run();
    isRunning = false;
    if (after === 'again') isWanted = true;
    notBeforeMs = typeof after === 'object' ? nowMs() + after.waitMs : Number.NEGATIVE_INFINITY;
    if (typeof after === 'object') isWanted = true;
    plan();
  }

  plan();
  return {
    want() {
      if (isWanted) return;
      isWanted = true;
      plan();
    },
    isBusy: () => isWanted || isRunning,
    stop() {
      isStopped = true;
      stopTimer();
    },
  };
}

function newJitter(): number {
  return 1 + JITTER * (2 * Math.random() - 1);
}
