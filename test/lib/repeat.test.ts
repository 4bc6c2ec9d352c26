import { expect, test } from 'vitest';
import { repeat } from '../../src/lib/repeat.ts';
import { createTestClock } from '../support/test-clock.ts';

test('a repeated action waits after each run, and its stop waits for the run that has begun', async () => {
  const clock = createTestClock();
  const runs: PromiseWithResolvers<void>[] = [];
  const repeating = repeat(
    () => 100 * (runs.length + 1),
    clock.startTimer,
    () => {
      runs.push(Promise.withResolvers<void>());
      return runs.at(-1)!.promise;
    },
  );
  await clock.advance(99);
  expect(runs).toHaveLength(0);
  await clock.advance(1_000);
  // The first run goes on.
  expect(runs).toHaveLength(1);
  runs[0]!.resolve();
  await clock.advance(199);
  expect(runs).toHaveLength(1);
  await clock.advance(1);
  expect(runs).toHaveLength(2);

  let isStopped = false;
  const stopping = repeating.stop().then(() => {
    isStopped = true;
  });
  await clock.advance(0);
  expect(isStopped).toBe(false);
  runs[1]!.resolve();
  await stopping;
  await clock.advance(10_000);
  expect([runs.length, clock.timersPending]).toEqual([2, 0]);
});

test('a stop during the wait ends it', async () => {
  const clock = createTestClock();
  await repeat(100, clock.startTimer, () => expect.unreachable()).stop();
  expect(clock.timersPending).toBe(0);
});
