import { expect, test } from 'vitest';
import { createShardDemand } from '../../jobs/shard-demand.ts';
import { createShardsInMemory, settled } from './shards-in-memory.ts';

function setUp(options: { heldByOther?: Set<string> } = {}) {
  const heldByOther = options.heldByOther ?? new Set();
  const shards = createShardsInMemory({ leases: { acquireOrRenew: async (id) => !heldByOther.has(id) } });
  const limits = { mayTakeMore: true, hasRoom: true };
  const nothingWanted: string[][] = [];
  const demand = createShardDemand({
    ownedShards: shards.ownedShards,
    mayTakeMore: () => limits.mayTakeMore,
    hasRoom: () => limits.hasRoom,
    onNothingWanted: () => void nothingWanted.push(shards.events.filter((event) => event.startsWith('open'))),
  });
  return { ...shards, limits, demand, nothingWanted };
}

test('a wanted shard is opened once, and gets the news', async () => {
  const { demand, events, ownedShards } = setUp();
  demand.want('a');
  demand.want('a');
  expect(demand.wanted()).toEqual(['a']);
  await settled();
  expect(events).toEqual(['open a', 'news a']);
  expect(ownedShards.openLoop('a')).toBeDefined();
  expect(demand.isWanted('a')).toBe(false);
});

test('a shard that is wanted for a job only gets no news, unless somebody wants it for news too', async () => {
  const { demand, events } = setUp();
  demand.want('a', { isBrief: true });
  expect(demand.isBrief('a')).toBe(true);
  demand.want('b', { isBrief: true });
  demand.want('b');
  demand.want('b', { isBrief: true });
  expect(demand.isBrief('b')).toBe(false);
  await settled();
  expect(events).toEqual(['open a', 'open b', 'news b']);
});

test('at most four shards are opened at the same time, and callers that wait come first', async () => {
  const { demand, events, ownedShards, holdOpenings } = setUp();
  const release = holdOpenings();
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) demand.want(id);
  await settled();
  expect(ownedShards.openingCount()).toBe(4);
  const woken = demand.wake('z');
  await settled();
  expect(events).toEqual(['open a', 'open b', 'open c', 'open d']);
  release();
  expect((await woken)?.workgroupId).toBe('z');
  await settled();
  const opened = events.filter((event) => event.startsWith('open'));
  expect(opened.slice(4)).toEqual(['open z', 'open e', 'open f']);
});

test('without room nothing is opened until the next call of openWanted', async () => {
  const { demand, events, limits } = setUp();
  limits.hasRoom = false;
  demand.want('a');
  const woken = demand.wake('b');
  await settled();
  expect(events).toEqual([]);
  limits.hasRoom = true;
  demand.openWanted();
  expect((await woken)?.workgroupId).toBe('b');
});

test('a worker that has its share opens only what a caller waits for', async () => {
  const { demand, events, limits } = setUp();
  limits.mayTakeMore = false;
  demand.want('a');
  expect((await demand.wake('b'))?.workgroupId).toBe('b');
  await settled();
  expect(events.filter((event) => event.startsWith('open'))).toEqual(['open b']);
  expect(demand.wanted()).toEqual(['a']);
});

test('a shard of another worker is not wanted any more, and its callers get nothing', async () => {
  const { demand, ownedShards } = setUp({ heldByOther: new Set(['a']) });
  expect(await demand.wake('a')).toBeUndefined();
  expect(demand.isWanted('a')).toBe(false);
  expect(ownedShards.isOwned('a')).toBe(false);
});

test('a shard that cannot be opened stays wanted, and its callers get nothing now', async () => {
  const { demand, broken, ownedShards } = setUp();
  broken.add('a');
  expect(await demand.wake('a')).toBeUndefined();
  expect(demand.isWanted('a')).toBe(true);
  expect(ownedShards.describe('a').state).toBe('waiting');
});

test('after the stop nothing is opened, and callers get nothing', async () => {
  const { demand, events, limits } = setUp();
  limits.hasRoom = false;
  const waiting = demand.wake('a');
  demand.stop();
  expect(await waiting).toBeUndefined();
  limits.hasRoom = true;
  demand.want('b');
  await settled();
  expect(events).toEqual([]);
});

test('a shard is not dropped while its lease is being asked for, because a look at the leases can see it first', async () => {
  const { demand, ownedShards } = setUp();
  const woken = demand.wake('a');
  demand.drop('a');
  expect((await woken)?.workgroupId).toBe('a');
  expect(ownedShards.isOwned('a')).toBe(true);
});

test('that nothing is wanted any more is said when the last wanted shard is open, and not before', async () => {
  const { demand, holdOpenings, nothingWanted } = setUp();
  const release = holdOpenings();
  demand.want('a');
  demand.want('b');
  await settled();
  expect(nothingWanted).toEqual([]);
  release();
  await settled();
  expect(nothingWanted).toEqual([['open a', 'open b']]);
});

test('that nothing is wanted any more is not said while another shard cannot be opened', async () => {
  const { demand, broken, nothingWanted } = setUp();
  broken.add('a');
  demand.want('a');
  demand.want('b');
  await settled();
  expect(nothingWanted).toEqual([]);
  demand.drop('a');
  await settled();
  expect(nothingWanted).toEqual([['open a', 'open b']]);
});
