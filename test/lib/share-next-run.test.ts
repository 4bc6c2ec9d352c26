import { expect, test } from 'vitest';
import { shareNextRun } from '../../src/lib/share-next-run.ts';

test('callers during a run share the next one, which also begins if the run fails', async () => {
  const runs: Array<PromiseWithResolvers<string>> = [];
  const run = shareNextRun(() => {
    runs.push(Promise.withResolvers());
    return runs.at(-1)!.promise;
  });
  const first = run();
  const [second, third] = [run(), run()];
  expect(runs).toHaveLength(1);
  runs[0]!.reject(new Error('the first has failed'));
  await expect(first).rejects.toThrow('the first has failed');
  await expect.poll(() => runs.length).toBe(2);
  runs[1]!.resolve('newer');
  expect(await Promise.all([second, third])).toEqual(['newer', 'newer']);
  expect(runs).toHaveLength(2);
});

test.each([0, 1, 2, 3, 4, 5, 6])(
  'a call %i steps after the end of a run starts no second run beside the next one',
  async (steps) => {
    let active = 0;
    let mostActive = 0;
    const ends: Array<PromiseWithResolvers<void>> = [];
    const run = shareNextRun(async () => {
      active++;
      mostActive = Math.max(mostActive, active);
      const end = Promise.withResolvers<void>();
      ends.push(end);
      await end.promise;
      active--;
    });
    const calls = [run(), run()];
    ends[0]!.resolve();
    for (let step = 0; step < steps; step++) await Promise.resolve();
    calls.push(run());
    await expect.poll(() => ends.length).toBeGreaterThan(1);
    for (let index = 1; index < ends.length || active > 0; index++) {
      ends[index]?.resolve();
      await new Promise(setImmediate);
    }
    await Promise.all(calls);
    expect(mostActive).toBe(1);
  },
);
