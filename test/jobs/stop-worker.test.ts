import { expect, test } from 'vitest';
import { stopWorker } from '../../jobs/stop-worker.ts';
import { silentLogger } from '../../src/lib/logger.ts';

type Options = Parameters<typeof stopWorker>[0];

/** Stops a worker with the shards "a" and "b", in a store with so many workers and open shards. */
async function stop(options: { workers?: number; awake?: number; isAway?: boolean; isStuck?: boolean } = {}) {
  const { workers = 1, awake = 2, isAway = false, isStuck = false } = options;
  const done: string[] = [];
  const note = async (what: string) => void done.push(what);
  await stopWorker({
    backend: {
      workerId: 'me',
      leases: {
        leaseMs: 10_000,
        survey: async () => {
          if (isAway) throw new Error('the store is away');
          return { workers, awake: Array.from({ length: awake }, (_, index) => `${index}`) };
        },
        leave: () => note('leave'),
      },
      close: () => note('close'),
    } as unknown as Options['backend'],
    ownedShards: {
      remaining: () => ['a', 'b'],
      renew: async () => undefined,
      giveUpAll: async (reason: string) => {
        done.push(`give up all: ${reason}`);
        if (isStuck) await new Promise(() => {});
      },
      releaseAll: () => note('release all'),
    } as unknown as Options['ownedShards'],
    handovers: {
      handOver: (id: string, reason: string, shareMax: number) =>
        note(`hand over ${id} (${reason}) to ${shareMax}`),
    } as unknown as Options['handovers'],
    roundsEnded: Promise.resolve(),
    closeJobs: () => note('close jobs'),
    giveUpMs: isStuck ? 10 : 10_000,
    logger: silentLogger,
  });
  return done;
}

test('a worker that is alone leaves, and gives its shards up', async () => {
  expect(await stop()).toEqual(['leave', 'give up all: worker-stops', 'close jobs', 'close']);
});

test.each([
  [2, 5, 5],
  [3, 5, 3],
  [3, 4, 2],
])('with %i workers and %i open shards, a successor has fewer than %i', async (workers, awake, shareMax) => {
  expect(await stop({ workers, awake })).toEqual([
    'leave',
    `hand over a (worker-stops) to ${shareMax}`,
    `hand over b (worker-stops) to ${shareMax}`,
    'give up all: worker-stops',
    'close jobs',
    'close',
  ]);
});

test('if the store is away, the shards are given up without a handover', async () => {
  expect(await stop({ workers: 2, isAway: true })).toEqual([
    'give up all: worker-stops',
    'close jobs',
    'close',
  ]);
});

test('shards that are not closed in time are released', async () => {
  expect(await stop({ isStuck: true })).toEqual([
    'leave',
    'give up all: worker-stops',
    'release all',
    'close jobs',
    'close',
  ]);
});
