import { expect, test } from 'vitest';
import { createSharing } from '../../src/lib/sharing.ts';

const staying = () => new AbortController().signal;

/** Work that ends on request, and notes what happens to it. */
function createWork() {
  const runs: Array<{ signal: AbortSignal; end(answer: string): void; fail(error: Error): void }> = [];
  const work = (signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => runs.push({ signal, end: resolve, fail: reject }));
  return { runs, work };
}

test('concurrent equal requests share one answer, and a later request gets a new one', async () => {
  const { take } = createSharing();
  const { runs, work } = createWork();
  const answers = ['a', 'a', 'b', 'a'].map((key) => take(key, work, staying()));
  expect(runs).toHaveLength(2);
  runs[0]!.end('of a');
  runs[1]!.end('of b');
  expect(await Promise.all(answers)).toEqual(['of a', 'of a', 'of b', 'of a']);
  const later = take('a', work, staying());
  runs[2]!.end('of a again');
  expect(await later).toBe('of a again');
});

test('all callers that wait get a failure, and later callers do not', async () => {
  const { take } = createSharing();
  const { runs, work } = createWork();
  const answers = [take('a', work, staying()), take('a', work, staying())];
  runs[0]!.fail(new Error('no room'));
  expect((await Promise.allSettled(answers)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const later = take('a', work, staying());
  runs[1]!.end('there is');
  expect(await later).toBe('there is');
});

test('one who leaves leaves the others waiting, and the last one takes the work along', async () => {
  const { take } = createSharing();
  const { runs, work } = createWork();
  const [first, second] = [new AbortController(), new AbortController()];
  const answers = [take('a', work, first.signal), take('a', work, second.signal)];
  first.abort(new Error('gone'));
  await expect(answers[0]).rejects.toThrow('gone');
  expect(runs[0]!.signal.aborted).toBe(false);
  second.abort(new Error('gone too'));
  await expect(answers[1]).rejects.toThrow('gone too');
  expect(runs[0]!.signal.aborted).toBe(true);
  const later = take('a', work, staying());
  expect(runs).toHaveLength(2);
  runs[1]!.end('anew');
  expect(await later).toBe('anew');
});

test('a request that is cancelled before its turn starts nothing', async () => {
  const { runs, work } = createWork();
  await expect(createSharing().take('a', work, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  expect(runs).toEqual([]);
});
