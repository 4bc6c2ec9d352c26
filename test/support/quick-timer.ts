import { type StartTimer, startSystemTimer } from '../../src/lib/timer.ts';

const QUICK_MS = 20;

/** A timer for retries and looks that a test would wait for: it rings after 20 ms at the latest. */
export const startQuickTimer: StartTimer = (delayMs, ring) =>
  startSystemTimer(Math.min(delayMs, QUICK_MS), ring);
