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
