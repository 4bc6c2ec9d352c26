import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until a condition of the outside world holds (another process, a server), looking again and again.
 * @throws Error that says what was waited for once `withinMs` have passed
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${withinMs} ms in vain until ${what}`);
    await sleep(20);
  }
}
