import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startRedis } from '../support/redis.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { createWorkerFleet, readJournal } from '../support/worker-fleet.ts';
import type { WorkerProcessOptions } from '../support/worker-process.ts';

const leaseMs = 2_000;

/** A worker of one workgroup, and when it has polled. */
async function startWorker(behaviour: WorkerProcessOptions['behaviour'] = {}) {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const fleet = createWorkerFleet();
  onTestFinished(() => fleet.stopAll());
  const folder = tempDir();
  const journal = join(folder, 'journal');
  const worker = await fleet.start({
    journal,
    leaseMs,
    behaviour,
    config: {
      dataDir: join(folder, 'data'),
      queue: { backend: 'redis', redisUrl: redis.url },
      pipeline: { pollEvery: 200, rollupEvery: 300, publishEvery: 400, maintainEvery: 1_000 },
      workgroups: [{ id: 'a' }],
    },
  });
  const lines = () => readJournal(journal, 'a');
  const polls = () => lines().filter(({ what, event }) => what === 'poll' && event === 'begin');
  return { redis, worker, lines, polls };
}

test('a worker gives its shards up while Redis stays away, and takes them again', async () => {
  const { redis, worker, lines, polls } = await startWorker();
  await until('it is polled', () => polls().length > 2);
  await redis.restart({ downMs: 2 * leaseMs });
  expect(lines().some(({ what, event }) => what === 'shard' && event === 'close')).toBe(true);
  const backAtMs = Date.now();
  await until('it is polled again', () => polls().some(({ atMs }) => atMs > backAtMs));
  expect((await worker.stop()).code).toBe(0);
});

test('a worker stops though the running stage does not heed its signal', async () => {
  const { worker, lines, polls } = await startWorker({ poll: 'ignore-abort' });
  await until('a poll runs', () => polls().length > 0);
  expect((await worker.stop()).code).toBe(0);
  expect(lines().at(-1)).toMatchObject({ what: 'shard', event: 'close' });
});
