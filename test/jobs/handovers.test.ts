import { expect, onTestFinished, test } from 'vitest';
import { parseHandoverMessage } from '../../jobs/handover-message.ts';
import { createHandovers, type HandoverTimes } from '../../jobs/handovers.ts';
import { startWorker } from '../../jobs/worker.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { SECOND_MS } from '../../src/lib/time.ts';
import { startRedis } from '../support/redis.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, settle } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

/** So long that no worker takes anything in its own round. */
const LEASE_MS = 100_000;

/** Workers in this process that share a Redis. Their shards have no warehouse, and each call is noted. */
async function setUp(workgroups: string[]) {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const events: string[] = [];
  const config = configSchema.parse({
    dataDir: tempDir(),
    queue: { backend: 'redis', redisUrl: redis.url },
    workgroups: workgroups.map((id) => ({ id })),
  });
  const none = async () => undefined;

  /**
   * @param prepare what a successor does. Undefined if it can prepare nothing
   * @param giveUpMs its shards do not close, and a stop waits for this time
   */
  async function start(name: string, prepare?: (workgroupId: string) => Promise<void>, giveUpMs?: number) {
    const note = (what: string) => async (id: string) => void events.push(`${name} ${what} ${id}`);
    const worker = await startWorker({
      config,
      workgroups: createWorkgroups(config),
      leaseMs: LEASE_MS,
      ...(giveUpMs !== undefined && { giveUpMs }),
      logger: silentLogger,
      dependencies: {
        stages: {
          poll: none,
          rollup: none,
          publish: none,
          maintain: none,
          commit: none,
          export: none,
        } as never,
        ...(prepare && {
          async prepare(id: string) {
            events.push(`${name} prepares ${id}`);
            await prepare(id);
          },
          discard: note('discards'),
        }),
        openShard: note('opens'),
        closeShard: giveUpMs === undefined ? note('closes') : () => new Promise(() => undefined),
        hasNews: () => true,
        assess: async () => 'behind' as const,
        mayHibernate: async () => false,
        onHibernated: async () => undefined,
      },
    });
    onTestFinished(() => worker.stop());
    await until(`${name} has looked`, () => worker.health().lastRoundAtMs > worker.health().startedAtMs);
    return worker;
  }
  const has = (event: string) => until(event, () => events.includes(event));
  return { events, start, has };
}

const isPrepared = async () => undefined;

test('one successor prepares while the owner works, and has the lease when the owner has closed', {
  tags: ['slow'],
}, async () => {
  const { events, start, has } = await setUp(['a']);
  const owner = await start('owner', isPrepared);
  await has('owner opens a');
  const prepared = Promise.withResolvers<void>();
  await start('b', () => prepared.promise);
  await start('c', () => prepared.promise);
  const stopping = owner.stop();
  await until('one prepares', () => events.some((event) => event.includes('prepares')));
  expect(events).not.toContain('owner closes a');
  prepared.resolve();
  await stopping;
  const successor = events.find((event) => event.includes('prepares'))!.split(' ')[0]!;
  await has(`${successor} opens a`);
  expect(events).toEqual([
    'owner opens a',
    `${successor} prepares a`,
    'owner closes a',
    `${successor} opens a`,
  ]);
});

test('without another worker nobody is waited for', async () => {
  const { events, start, has } = await setUp(['a']);
  const owner = await start('owner', isPrepared);
  await has('owner opens a');
  await owner.stop();
  expect(events).toEqual(['owner opens a', 'owner closes a']);
});

test('a failed preparation hands the workgroup over as well', { tags: ['slow'] }, async () => {
  const { events, start, has } = await setUp(['a']);
  const owner = await start('owner', isPrepared);
  await has('owner opens a');
  await start('b', () => Promise.reject(new Error('the disk is full')));
  await owner.stop();
  await has('b opens a');
  expect(events.indexOf('owner closes a')).toBeLessThan(events.indexOf('b opens a'));
});

test('a successor that stops first gives the workgroup to another worker', { tags: ['slow'] }, async () => {
  const { events, start, has } = await setUp(['a']);
  const owner = await start('owner', isPrepared);
  await has('owner opens a');
  const prepared = Promise.withResolvers<void>();
  const first = await start('b', () => prepared.promise);
  const stopping = owner.stop();
  await has('b prepares a');
  await start('c', isPrepared);
  await first.stop();
  prepared.resolve();
  await stopping;
  await has('c opens a');
  expect(events).toContain('b discards a');
  expect(events).not.toContain('b opens a');
});

test('a worker that ends before its shard is closed gives the lease to its successor', {
  tags: ['slow'],
}, async () => {
  const { events, start, has } = await setUp(['a']);
  const owner = await start('owner', isPrepared, 500);
  await has('owner opens a');
  await start('b', isPrepared);
  await owner.stop();
  await has('b opens a');
  expect(events).not.toContain('owner closes a');
});

test('workers that can prepare nothing hand over as before', { tags: ['slow'] }, async () => {
  const { events, start, has } = await setUp(['a', 'b']);
  const owner = await start('owner');
  await has('owner opens b');
  await start('next');
  await owner.stop();
  await has('next opens a');
  await has('next opens b');
  expect(events.filter((event) => event.includes('prepares'))).toEqual([]);
});

const SHORT: HandoverTimes = { answerMs: 1_000, reportEveryMs: 5, silenceMs: 200, waitMs: 600_000 };

/**
 * An owner and its successor in this process, without Redis. `events` has the reports of the successor, and
 * the moment when the owner gives up.
 */
function pairOf(prepare: () => Promise<void>, times: HandoverTimes, isCutOff = () => false) {
  const events: string[] = [];
  const none = async () => undefined;
  const handoversOf = (workerId: string, other: () => ReturnType<typeof createHandovers>) => {
    const tell = async (text: string) => {
      const message = parseHandoverMessage(JSON.parse(text))!;
      if (isCutOff()) return false;
      if (workerId === 'successor') events.push(message.kind);
      other().onMessage(message);
      return true;
    };
    return createHandovers({
      workerId,
      leases: { succeed: async () => true, release: none },
      channel: { tell: (_, text) => tell(text), tellOthers: tell },
      prepare,
      discard: none,
      ownedShards: {
        take: async () => true,
        mayTake: () => true,
        remaining: () => [],
        giveUp: () => void events.push('given up'),
      },
      openMax: 10,
      mayOpen: () => true,
      times,
      logger: silentLogger,
    });
  };
  const owner = handoversOf('owner', () => successor);
  const successor: ReturnType<typeof createHandovers> = handoversOf('successor', () => owner);
  onTestFinished(() => successor.stop());
  return { events, owner };
}

test('an owner waits as long as its successor tells that it is preparing', async () => {
  const prepared = Promise.withResolvers<void>();
  const { events, owner } = pairOf(() => prepared.promise, { ...SHORT, silenceMs: 100 });
  const handedOver = owner.handOver('a', 'worker-stops', 10);
  // Longer than it waits for a silent one.
  await until('it has told it for long', () => events.length > 60);
  prepared.resolve();
  await handedOver;
  expect([...new Set(events)]).toEqual(['preparing', 'prepared', 'given up']);
});

test('an owner does not wait for a successor that has become silent, and does not wait for ever', async () => {
  const never = new Promise<void>(() => undefined);
  let isCutOff = false;
  const silent = pairOf(
    () => never,
    SHORT,
    () => isCutOff,
  );
  const handedOver = silent.owner.handOver('a', 'worker-stops', 10);
  await until('it has told it', () => silent.events.length > 2);
  isCutOff = true;
  await handedOver;
  expect(silent.events.at(-1)).toBe('given up');
  const slow = pairOf(() => never, { ...SHORT, waitMs: 100 });
  await slow.owner.handOver('a', 'worker-stops', 10);
  expect([...new Set(slow.events)]).toEqual(['preparing', 'given up']);
});

/** A worker with room for two shards that is asked to become a successor. `events` has what it does. */
function successorAlone(prepare: (workgroupId: string) => Promise<void> = isPrepared) {
  const clock = createTestClock();
  const events: string[] = [];
  const note = (what: string) => async (id: string) => void events.push(`${what} ${id}`);
  const handovers = createHandovers({
    workerId: 'successor',
    leases: { succeed: async () => true, release: async () => undefined },
    channel: { tell: async () => true, tellOthers: async () => true },
    prepare: async (id) => {
      events.push(`prepares ${id}`);
      await prepare(id);
    },
    discard: note('discards'),
    ownedShards: {
      take: async (id) => {
        events.push(`takes ${id}`);
        return true;
      },
      mayTake: () => true,
      remaining: () => [],
      giveUp: () => undefined,
    },
    openMax: 2,
    mayOpen: () => true,
    startTimer: clock.startTimer,
    logger: silentLogger,
  });
  onTestFinished(() => handovers.stop());
  /** Asks it, and waits for what follows. */
  const ask = async (...ids: string[]) => {
    for (const workgroupId of ids) {
      handovers.onMessage({ kind: 'leaving', workgroupId, workerId: 'owner', shareMax: 10 });
      await settle();
    }
  };
  return { clock, events, handovers, ask };
}

test('a worker becomes the successor of as many shards as it has room for, with those that it waits for', async () => {
  const { events, handovers, ask } = successorAlone();
  await ask('a', 'b', 'c');
  expect(events).toEqual(['prepares a', 'prepares b']);
  // Now it is open, and the owned shards count it.
  handovers.onMessage({ kind: 'handed-over', workgroupId: 'a' });
  await settle();
  await ask('c');
  expect(events).toEqual(['prepares a', 'prepares b', 'takes a', 'prepares c']);
});

test('a worker that stops prepares no further warehouse, and discards those that it has', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { events, handovers, ask } = successorAlone(() => promise);
  await ask('a', 'b');
  handovers.stop();
  resolve();
  await settle();
  expect(events).toEqual(['prepares a', 'discards a', 'discards b']);
});

test('a workgroup that is handed over before its turn is opened, and no longer prepared', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { events, handovers, ask } = successorAlone(() => promise);
  await ask('a', 'b');
  handovers.onMessage({ kind: 'handed-over', workgroupId: 'b' });
  resolve();
  await settle();
  expect(events).toEqual(['prepares a', 'takes b']);
});

test('prepared files are kept for a minute after the last time that they were asked for', async () => {
  const { clock, events, ask } = successorAlone();
  await ask('a');
  await clock.advance(40 * SECOND_MS);
  await ask('a');
  await clock.advance(60 * SECOND_MS - 1);
  expect(events).toEqual(['prepares a', 'prepares a']);
  await clock.advance(1);
  expect(events.slice(2)).toEqual(['discards a']);
});
