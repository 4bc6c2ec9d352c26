import { expect, onTestFinished, test } from 'vitest';
import { createFairThreads } from '../../src/lib/fair-threads.ts';

/** A thread that answers with the request, ends with an error at `fail`, and never answers `hang`. */
const module = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', (request) => {
      if (request === 'fail') throw new Error('broken');
      if (request !== 'hang') parentPort.postMessage(request);
    });
  `)}`,
);

function openThreads(threadsMax: number) {
  const threads = createFairThreads<string, string>({
    module,
    threadsMax,
    closedError: () => new Error('closed'),
  });
  onTestFinished(() => threads.close());
  return threads;
}

test('an owner has one job in the threads, and its other jobs wait while another owner has a turn', async () => {
  const threads = openThreads(2);
  const jobs = [
    threads.run('a1', 'a'),
    threads.run('a2', 'a'),
    threads.run('a3', 'a'),
    threads.run('b1', 'b'),
  ];
  expect([threads.waiting('a'), threads.waiting('b')]).toEqual([2, 0]);
  expect(await Promise.all(jobs)).toEqual(['a1', 'a2', 'a3', 'b1']);
});

test('a thread that fails ends only its own job', async () => {
  const threads = openThreads(1);
  const failed = expect(threads.run('fail', 'a')).rejects.toThrow('broken');
  expect(await threads.run('b1', 'b')).toBe('b1');
  await failed;
});

test('jobs that have not begun are refused when the threads are closed, and later ones too', async () => {
  const threads = openThreads(1);
  expect(await threads.run('a1', 'a')).toBe('a1');
  const begun = expect(threads.run('hang', 'a')).rejects.toThrow('the thread has ended');
  const waiting = expect(threads.run('b1', 'b')).rejects.toThrow('closed');
  await threads.close();
  await expect(threads.run('c1', 'c')).rejects.toThrow('closed');
  await Promise.all([begun, waiting]);
});
