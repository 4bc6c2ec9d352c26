import { setTimeout as sleep } from 'node:timers/promises';
import { WAIT_MS_MAX } from './rounds.ts';

const PAUSE_MS_MIN = 20;
const PAUSE_MS_MAX = 500;

/**
 * Waits until a condition of the outside world holds (another process, a server), looking again and again.
 * The pause between two looks is three times as long as the look, because a look that starts a process or
 * opens a database takes the processor from what is waited for.
 * @throws Error that says what was waited for once `withinMs` have passed
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = WAIT_MS_MAX,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const beganAt = performance.now();
    if (await condition()) return;
    const now = performance.now();
    if (now > deadline) throw new Error(`waited ${withinMs} ms in vain until ${what}`);
    await sleep(Math.min(Math.max(3 * (now - beganAt), PAUSE_MS_MIN), PAUSE_MS_MAX));
  }
}
