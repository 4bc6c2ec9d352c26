import { setTimeout as sleep } from 'node:timers/promises';
import { WAIT_MS_MAX } from './rounds.ts';

const PAUSE_MS_MIN = 20;
const PAUSE_MS_MAX = 500;

/**
 * Waits until a condition holds that another process or a server brings about. It checks the condition again
 * and again. The pause between two checks is three times as long as a check, because a check that starts a
 * process or opens a database slows the process that it waits for.
 * @throws Error that names the condition, after `withinMs`
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
