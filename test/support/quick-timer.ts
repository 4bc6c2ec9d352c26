import { type StartTimer, startSystemTimer } from '../../src/lib/timer.ts';

const QUICK_MS = 20;

/**
 * A timer for retries and regular checks, so that a test need not wait for them. It calls back after at most
 * 20 ms.
 */
export const startQuickTimer: StartTimer = (delayMs, ring) =>
  startSystemTimer(Math.min(delayMs, QUICK_MS), ring);
