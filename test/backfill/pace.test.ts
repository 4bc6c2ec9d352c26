import { expect, test } from 'vitest';
import { createPace } from '../../src/backfill/pace.ts';

/** True if the rate allows work at once. A call that has to wait ends with the abort. */
async function isFree(pace: ReturnType<typeof createPace>, messages: number): Promise<boolean> {
  const stop = new AbortController();
  const waited = pace(messages, stop.signal).then(
    () => true,
    () => false,
  );
  await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  return waited;
}

test('work waits until its share of each second is over', async () => {
  let nowMs = 50_000;
  const pace = createPace(100, () => nowMs);
  // 10 s of work at 100 messages a second.
  expect(await isFree(pace, 1_000)).toBe(false);
  nowMs += 10_000;
  expect(await isFree(pace, 0)).toBe(true);
  expect(await isFree(pace, 1)).toBe(false);
});

test('after a pause, the work of one second needs no wait', async () => {
  let nowMs = 0;
  const pace = createPace(100, () => nowMs);
  nowMs += 3_600_000;
  expect(await isFree(pace, 100)).toBe(true);
  expect(await isFree(pace, 1)).toBe(false);
});
