import { expect, test } from 'vitest';
import { createShardRoom } from '../../jobs/shard-room.ts';
import { createShardsInMemory, settled } from './shards-in-memory.ts';

const HIBERNATE_AFTER_MS = 1_000;

function setUp(openMax: number, asleepForEver: readonly string[] = []) {
  const shards = createShardsInMemory();
  const made: string[] = [];
  let rooms = 0;
  const clock = { isSteady: true as const, ms: 1_000_000, now: () => clock.ms };
  const room = createShardRoom({
    ownedShards: shards.ownedShards,
    openMax,
    hibernateAfterMs: HIBERNATE_AFTER_MS,
    clock,
    hasNews: (id) => !asleepForEver.includes(id),
    onMadeRoom: (id) => void made.push(id),
    onRoom: () => {
      rooms += 1;
    },
  });
  return { ...shards, room, clock, made, rooms: () => rooms };
}

test('shards that are idle for long enough hibernate, and others stay open', async () => {
  const { room, open, idleMs, events, rooms } = setUp(10);
  await open('long', 'short', 'busy');
  idleMs.set('long', HIBERNATE_AFTER_MS).set('short', HIBERNATE_AFTER_MS - 1);
  room.hibernateIdleShards();
  await settled();
  expect(events).toEqual(['close long', 'hibernated long']);
  expect(rooms()).toBe(1);
});

test('four shards hibernate at the same time, and the longest idle one begins', async () => {
  const { room, open, idleMs, events } = setUp(10);
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  await open(...ids);
  for (const [index, id] of ids.entries()) idleMs.set(id, HIBERNATE_AFTER_MS + index);
  room.hibernateIdleShards();
  room.hibernateIdleShards();
  await settled();
  expect(events.filter((event) => event.startsWith('hibernated')).sort()).toEqual(
    ['c', 'd', 'e', 'f'].map((id) => `hibernated ${id}`),
  );
  room.hibernateIdleShards();
  await settled();
  expect(events.filter((event) => event.startsWith('hibernated'))).toHaveLength(6);
});

test('a shard that has news while it is asked stays open', async () => {
  const { room, open, idleMs, restless, events, made, ownedShards } = setUp(10);
  await open('a');
  idleMs.set('a', HIBERNATE_AFTER_MS);
  restless.add('a');
  room.hibernateIdleShards();
  await settled();
  expect([events, made]).toEqual([[], []]);
  expect(ownedShards.openLoop('a')).toBeDefined();
});

test('if all are open, the longest idle one makes room, also before its time', async () => {
  const { room, open, idleMs, events, made } = setUp(2);
  expect(room.hasRoom()).toBe(true);
  await open('a', 'b');
  idleMs.set('a', 5).set('b', 7);
  expect(room.hasRoom()).toBe(false);
  // One at a time is enough.
  expect(room.hasRoom()).toBe(false);
  await settled();
  expect(events).toEqual(['close b', 'hibernated b']);
  expect(made).toEqual([]);
  expect(room.hasRoom()).toBe(true);
});

test('a busy shard makes room after its turn, and is wanted again', async () => {
  const { room, clock, open, restless, events, made } = setUp(1);
  await open('a');
  restless.add('a');
  room.hibernateIdleShards();
  clock.ms += 14_999;
  expect(room.hasRoom()).toBe(false);
  await settled();
  expect(events).toEqual([]);
  clock.ms += 1;
  expect(room.hasRoom()).toBe(false);
  await settled();
  expect(events).toEqual(['close a']);
  expect(made).toEqual(['a']);
  expect(room.hasRoom()).toBe(true);

  // When it is open again, its next turn is as long.
  room.hibernateIdleShards();
  clock.ms += 60_000;
  await open('a');
  room.hibernateIdleShards();
  clock.ms += 14_999;
  expect(room.hasRoom()).toBe(false);
  await settled();
  expect(made).toEqual(['a']);
});

test('shards that nothing can wake stay open, and others are opened beside them', async () => {
  const { room, open, idleMs, events } = setUp(1, ['upstream']);
  await open('upstream');
  idleMs.set('upstream', HIBERNATE_AFTER_MS);
  room.hibernateIdleShards();
  expect(room.hasRoom()).toBe(true);
  await settled();
  expect(events).toEqual([]);
});

test('a shard that makes room during a stop is not wanted again', async () => {
  const { room, open, idleMs, restless, made, ownedShards } = setUp(1);
  await open('a');
  idleMs.set('a', 1);
  restless.add('a');
  expect(room.hasRoom()).toBe(false);
  room.stop();
  await settled();
  expect(made).toEqual([]);
  expect(ownedShards.openLoop('a')).toBeDefined();
});
