import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLocalLeases, type Leases } from '../../jobs/leases.ts';
import { createOwnedShards } from '../../jobs/owned-shards.ts';
import type { LossReason, ShardLoop } from '../../jobs/start-shard-loop.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';

const leaseMs = 10_000;

/** OwnedShards over leases that a test can take away, and a warehouse that says what was asked of it. */
function setUp(
  options: {
    open?: (attempt: number) => Promise<void>;
    catchUp?: () => Promise<boolean>;
    mayHibernate?: () => Promise<boolean>;
    stop?: () => Promise<'stopped' | 'abandoned'>;
  } = {},
) {
  const clock = { isSteady: true as const, ms: 1_000_000, now: () => clock.ms };
  const events: string[] = [];
  /** Workgroups with a renewed lease. */
  const renewed: string[] = [];
  const store = { isAway: false, renewTakesMs: 0, takenByOther: new Set<string>() };
  const local = createLocalLeases(leaseMs);
  const leases: Leases = {
    ...local,
    canRunOut: true,
    async acquireOrRenew(workgroupId) {
      if (store.isAway) throw new Error('the store is away');
      return !store.takenByOther.has(workgroupId);
    },
    async renew(workgroupIds) {
      renewed.push(...workgroupIds);
      clock.ms += store.renewTakesMs;
      if (store.isAway) throw new Error('the store is away');
      return workgroupIds.filter((id) => store.takenByOther.has(id));
    },
    async release(workgroupId, state) {
      events.push(`release ${workgroupId}${state === 'hibernated' ? ' hibernated' : ''}`);
    },
  };
  let attempts = 0;
  const lost = new Map<string, (reason: LossReason) => void>();
  const ownedShards = createOwnedShards({
    leases,
    clock,
    logger: silentLogger,
    async open(workgroupId, { onLost }) {
      attempts += 1;
      events.push(`open ${workgroupId}`);
      lost.set(workgroupId, onLost);
      await options.open?.(attempts);
      const shard: ShardLoop = {
        workgroupId,
        health: () => [],
        noteNews: () => undefined,
        noteChange: () => undefined,
        noteDue: () => undefined,
        noteUse: () => undefined,
        idleMs: () => 0,
        catchUp: options.catchUp ?? (async () => true),
        async stop() {
          events.push(`stop ${workgroupId}`);
          return options.stop?.() ?? 'stopped';
        },
      };
      return shard;
    },
    async close(workgroupId) {
      events.push(`close ${workgroupId}`);
    },
    mayHibernate: options.mayHibernate ?? (async () => true),
    onHibernated: async (workgroupId) => void events.push(`hibernated ${workgroupId}`),
  });
  return { clock, events, renewed, store, lost, ownedShards };
}

const settle = async () => {
  for (let count = 0; count < 5; count++) await turn();
};

test('a shard is opened once its lease is held, and closed before the lease is released', async () => {
  const { events, ownedShards } = setUp();
  expect(await ownedShards.take('a')).toBe(true);
  await settle();
  expect(ownedShards.describe('a')).toEqual({ state: 'owned', error: null, failingSinceMs: null });
  ownedShards.giveUp('a', 'handed-over');
  await settle();
  expect(events).toEqual(['open a', 'stop a', 'close a', 'release a']);
  expect(ownedShards.describe('a').state).toBe('elsewhere');
});

test('a shard that another worker owns is not opened', async () => {
  const { events, store, ownedShards } = setUp();
  store.takenByOther.add('a');
  expect(await ownedShards.take('a')).toBe(false);
  expect(events).toEqual([]);
});

test('a shard that cannot be opened is closed, its lease released, and tried again later and later', async () => {
  const { clock, events, ownedShards } = setUp({
    open: async (attempt) => {
      if (attempt < 3) throw new TransientError('Busy', `attempt ${attempt} failed`);
    },
  });
  const waits: number[] = [];
  for (let attempt = 1; attempt < 3; attempt++) {
    await ownedShards.take('a');
    await settle();
    expect(ownedShards.describe('a')).toEqual({
      state: 'waiting',
      error: `attempt ${attempt} failed`,
      failingSinceMs: 1_000_000,
    });
    const failedAtMs = clock.ms;
    while (!ownedShards.mayTake('a')) clock.ms += 1_000;
    waits.push(clock.ms - failedAtMs);
  }
  expect(waits).toEqual([leaseMs, 2 * leaseMs]);
  expect(events).toEqual(['open a', 'close a', 'release a', 'open a', 'close a', 'release a']);
  await ownedShards.take('a');
  await settle();
  expect(ownedShards.describe('a')).toEqual({ state: 'owned', error: null, failingSinceMs: null });
});

test('a shard that is opened slowly after a failure shows the failure until it is open', async () => {
  const second = Promise.withResolvers<void>();
  const { clock, ownedShards } = setUp({
    open: (attempt) =>
      attempt === 1 ? Promise.reject(new TransientError('Full', 'the disk is full')) : second.promise,
  });
  await ownedShards.take('a');
  await settle();
  clock.ms += leaseMs;
  await ownedShards.take('a');
  clock.ms += 3 * leaseMs;
  expect(ownedShards.describe('a')).toEqual({
    state: 'opening',
    error: 'the disk is full',
    failingSinceMs: 1_000_000,
  });
  second.resolve();
});

test('a shard that another worker has opened is no failure of this one any more', async () => {
  const { clock, store, ownedShards } = setUp({
    open: async () => {
      throw new TransientError('Busy', 'not now');
    },
  });
  await ownedShards.take('a');
  await settle();
  store.takenByOther.add('a');
  clock.ms += leaseMs;
  await ownedShards.take('a');
  expect(ownedShards.describe('a')).toEqual({ state: 'elsewhere', error: null, failingSinceMs: null });
  // The same if this worker does not try again, because it has no room for the shard.
  store.takenByOther.clear();
  await ownedShards.take('a');
  await settle();
  expect(ownedShards.describe('a').state).toBe('waiting');
  clock.ms += 3 * leaseMs;
  expect(ownedShards.describe('a')).toEqual({ state: 'elsewhere', error: null, failingSinceMs: null });
});

test('a failure after another worker had the shard waits as long as a first failure', async () => {
  const { ownedShards, clock } = setUp({ open: () => Promise.reject(new Error('one request was lost')) });
  const failOnce = async () => {
    await ownedShards.take('acme');
    await ownedShards.settledLoop('acme');
    const failedAtMs = clock.ms;
    while (!ownedShards.mayTake('acme')) clock.ms += 1_000;
    return clock.ms - failedAtMs;
  };
  expect(await failOnce()).toBe(leaseMs);
  expect(await failOnce()).toBe(2 * leaseMs);
  // Nobody asks this worker while another one has the shard.
  clock.ms += 3_600_000;
  expect(await failOnce()).toBe(leaseMs);
});

test('a lease that is being given back is not prolonged, or nobody could take it', async () => {
  const { events, ownedShards, renewed } = setUp();
  await ownedShards.take('a');
  await settle();
  ownedShards.giveUp('a', 'handed-over');
  while (!events.includes('release a')) await Promise.resolve();
  renewed.length = 0;
  await ownedShards.renew();
  expect(renewed).toEqual([]);
});

test('a shard is given up if another worker has got its lease', async () => {
  const { events, store, ownedShards } = setUp();
  await ownedShards.take('a');
  await settle();
  store.takenByOther.add('a');
  await ownedShards.renew();
  await settle();
  expect(events.slice(0, 3)).toEqual(['open a', 'stop a', 'close a']);
});

test('a shard is kept while the store is briefly away, and given up before its lease may have run out', async () => {
  const { clock, store, ownedShards } = setUp();
  await ownedShards.take('a');
  await settle();
  store.isAway = true;
  clock.ms += leaseMs / 2;
  await ownedShards.renew();
  expect(ownedShards.remaining()).toEqual(['a']);
  clock.ms += leaseMs / 2 - leaseMs / 10;
  await ownedShards.renew();
  expect(ownedShards.remaining()).toEqual([]);
});

test('a renewed lease lasts from when it was asked for', async () => {
  const { clock, store, ownedShards } = setUp();
  await ownedShards.take('a');
  await settle();
  clock.ms += leaseMs - 1;
  await ownedShards.renew();
  store.isAway = true;
  clock.ms += leaseMs / 2;
  await ownedShards.renew();
  expect(ownedShards.remaining()).toEqual(['a']);
  // The store may have begun the lease before its answer came.
  Object.assign(store, { isAway: false, renewTakesMs: 3_000 });
  await ownedShards.renew();
  clock.ms += leaseMs - 3_000;
  expect(ownedShards.isNowhereElse('a')).toBe(false);
});

test('a shard whose opening takes longer than its lease is closed again', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { clock, events, ownedShards } = setUp({ open: () => promise });
  await ownedShards.take('a');
  clock.ms += leaseMs;
  resolve();
  await settle();
  expect(events).toEqual(['open a', 'stop a', 'close a', 'release a']);
  expect(ownedShards.describe('a').state).toBe('elsewhere');
});

test('a shard that nobody can open is nowhere else, and one that another worker has taken over is there', async () => {
  const failing = setUp({ open: () => Promise.reject(new TransientError('Busy', 'not now')) });
  await failing.ownedShards.take('a');
  await settle();
  expect(failing.ownedShards.isNowhereElse('a')).toBe(true);
  const { lost, ownedShards } = setUp();
  expect(ownedShards.isNowhereElse('a')).toBe(false);
  await ownedShards.take('a');
  await settle();
  expect(ownedShards.isNowhereElse('a')).toBe(true);
  lost.get('a')!('stale-owner');
  await settle();
  expect(ownedShards.isNowhereElse('a')).toBe(false);
});

test('a shard with a stage that does not end does not count as hibernated', async () => {
  const { events, ownedShards } = setUp({ stop: async () => 'abandoned' });
  await ownedShards.take('a');
  await settle();
  await ownedShards.hibernate('a');
  expect(events).toEqual(['open a', 'stop a', 'close a', 'release a']);
});

test('a shard that is lost while it is being opened is closed again', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { events, store, ownedShards } = setUp({ open: () => promise });
  await ownedShards.take('a');
  store.takenByOther.add('a');
  await ownedShards.renew();
  expect(ownedShards.remaining()).toEqual([]);
  resolve();
  await settle();
  expect(events).toEqual(['open a', 'stop a', 'close a', 'release a']);
  expect(ownedShards.openLoops()).toEqual([]);
});

test('a shard that another worker has written to is given up and left alone for a while', async () => {
  const { clock, lost, ownedShards } = setUp();
  await ownedShards.take('a');
  await settle();
  lost.get('a')!('stale-owner');
  await settle();
  expect(ownedShards.describe('a').state).toBe('waiting');
  expect(ownedShards.mayTake('a')).toBe(false);
  clock.ms += leaseMs;
  expect(ownedShards.mayTake('a')).toBe(true);
});

test('a shard that has ended is closed, and may be opened again at once', async () => {
  const { events, lost, ownedShards } = setUp();
  await ownedShards.take('a');
  await settle();
  const lostBefore = lost.get('a')!;
  lostBefore('shard-ended');
  lostBefore('shard-ended');
  await settle();
  expect(events).toEqual(['open a', 'stop a', 'close a', 'release a']);
  expect(ownedShards.mayTake('a')).toBe(true);
  await ownedShards.take('a');
  await settle();
  lostBefore('shard-ended');
  await settle();
  expect(ownedShards.describe('a')).toEqual({ state: 'owned', error: null, failingSinceMs: null });
});

test('giving everything up waits for shards that are open and for those being opened', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { events, ownedShards } = setUp({ open: (attempt) => (attempt === 2 ? promise : Promise.resolve()) });
  await ownedShards.take('a');
  await settle();
  await ownedShards.take('b');
  let hasEnded = false;
  const all = ownedShards.giveUpAll('worker-stops').then(() => {
    hasEnded = true;
  });
  await settle();
  expect(events).toContain('release a');
  expect(hasEnded).toBe(false);
  resolve();
  await all;
  expect(events.slice(-3)).toEqual(['stop b', 'close b', 'release b']);
});

test('an idle shard hibernates: it is noted after it was closed, and before its lease is released', async () => {
  const { events, ownedShards } = setUp();
  await ownedShards.take('a');
  await settle();
  expect(await ownedShards.hibernate('a')).toBe(true);
  expect(events).toEqual(['open a', 'stop a', 'close a', 'hibernated a', 'release a hibernated']);
  expect(ownedShards.isOwned('a')).toBe(false);
});

test.each([
  ['has news while it publishes', { catchUp: async () => false }],
  ['has not read its stream to the end', { mayHibernate: async () => false }],
])('a shard that %s stays open', async (_, options) => {
  const { events, ownedShards } = setUp(options);
  await ownedShards.take('a');
  await settle();
  expect(await ownedShards.hibernate('a')).toBe(false);
  expect(events).toEqual(['open a']);
  expect(ownedShards.describe('a').state).toBe('owned');
});

test('a shard that is lost while it closes to hibernate does not count as hibernated', async () => {
  const { events, store, ownedShards } = setUp({
    catchUp: async () => {
      store.takenByOther.add('a');
      await ownedShards.renew();
      return true;
    },
  });
  await ownedShards.take('a');
  await settle();
  expect(await ownedShards.hibernate('a')).toBe(false);
  await settle();
  expect(events).toEqual(['open a', 'stop a', 'close a', 'release a']);
});

test('who asks for a shard waits while it is opened or closed', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { ownedShards } = setUp({ open: () => promise });
  expect(await ownedShards.settledLoop('a')).toBeUndefined();
  await ownedShards.take('a');
  const asked = ownedShards.settledLoop('a');
  resolve();
  expect((await asked)?.workgroupId).toBe('a');
  ownedShards.giveUp('a', 'handed-over');
  expect(await ownedShards.settledLoop('a')).toBeUndefined();
  expect(ownedShards.isOwned('a')).toBe(false);
});
