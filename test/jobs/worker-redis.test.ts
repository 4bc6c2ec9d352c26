// @module-tag slow
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { isSoak } from '../support/rounds.ts';
import { until } from '../support/until.ts';
import {
  createWorkerFleet,
  type JournalLine,
  readJournal,
  type WorkerProcess,
} from '../support/worker-fleet.ts';
import type { WorkerProcessOptions } from '../support/worker-process.ts';

/** Short enough for a test to wait for it, long enough for a machine that is busy. */
const leaseMs = 2_000;

/** So long that it does not run out during a test. */
const newYearExport = {
  id: 'x',
  workgroup: 'a',
  report: 'daily_energy',
  range: 'last_month',
  format: 'csv',
  destination: { folder: 'out' },
  schedule: '0 3 1 1 *',
} as const;

let directory: string;
const servers: TestRedis[] = [];
const fleet = createWorkerFleet();
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wattline-worker-'));
});
afterAll(async () => {
  await fleet.stopAll();
  await Promise.all(servers.map((server) => server.stop()));
  await rm(directory, { recursive: true, force: true });
});

async function setUp(name: string, workgroups: string[]) {
  const redis = await startRedis();
  servers.push(redis);
  const journal = join(directory, name);
  const optionsFor = (ids: string[]): WorkerProcessOptions => ({
    journal,
    leaseMs,
    config: {
      dataDir: join(directory, `${name}-data`),
      queue: { backend: 'redis', redisUrl: redis.url },
      pipeline: { pollEvery: 200, rollupEvery: 300, publishEvery: 400, maintainEvery: 1_000 },
      workgroups: ids.map((id) => ({ id })),
    },
  });
  const read = (workgroupId: string) => readJournal(journal, workgroupId);
  return { redis, options: optionsFor(workgroups), optionsFor, read };
}

const polls = (lines: JournalLine[]) =>
  lines.filter(({ what, event }) => what === 'poll' && event === 'begin');

/** The times when each process opened and closed the shard; a killed process has no end. */
function ownerships(lines: JournalLine[]) {
  return lines
    .filter(({ event }) => event === 'open')
    .map(({ pid, atMs }) => ({
      pid,
      fromMs: atMs,
      toMs: lines.find((line) => line.pid === pid && line.event === 'close' && line.atMs >= atMs)?.atMs,
    }));
}

describe.concurrent('workers that share Redis', () => {
  test('spread the workgroups evenly, each with one owner at a time, and double no tick', async () => {
    const workgroups = ['a', 'b', 'c', 'd'];
    const { options, read } = await setUp('spread', workgroups);
    const workers = await Promise.all([fleet.start(options), fleet.start(options)]);
    const ownedBy = async () => {
      const all = await Promise.all(workers.map((worker) => worker.health()));
      return all.map(({ shards }) => shards.filter(({ state }) => state === 'owned').length);
    };
    await until('each owns two', async () => String(await ownedBy()) === '2,2');
    const fromMs = Date.now();
    const since = (workgroup: string) => polls(read(workgroup)).filter(({ atMs }) => atMs >= fromMs);
    await until('each is polled some times', () => workgroups.every((id) => since(id).length > 8));
    const toMs = Date.now();
    for (const workgroup of workgroups) {
      const lines = read(workgroup);
      const recent = polls(lines).filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
      expect(new Set(recent.map(({ pid }) => pid)).size).toBe(1);
      expect(recent.length).toBeGreaterThan(5);
      expect(recent.length).toBeLessThanOrEqual((toMs - fromMs) / 200 + 2);
      const owners = ownerships(lines);
      for (const [index, { toMs: closedMs }] of owners.slice(0, -1).entries())
        expect(closedMs).toBeLessThanOrEqual(owners[index + 1]!.fromMs);
    }
    const openable = async ({ canWake }: WorkerProcess) => {
      const ids: string[] = [];
      for (const id of [...workgroups, 'unknown']) if (await canWake(id)) ids.push(id);
      return ids;
    };
    await until('a request can open each at its owner only', async () => {
      const [first, second] = await Promise.all(workers.map(openable));
      return first!.length === 2 && String([...first!, ...second!].toSorted()) === 'a,b,c,d';
    });
  });

  test('ignore messages of Redis that they do not know', async () => {
    const { redis, options, read } = await setUp('unknown-messages', ['a']);
    const worker = await fleet.start(options);
    await until('it polls', () => polls(read('a')).length > 0);
    const { workerId } = await worker.health();
    const client = new Redis(redis.url);
    for (const text of ['no JSON', 'null', '{"stage":"export"}', '{"kind":"new"}'])
      expect(await client.publish(`wattline:worker:${workerId}`, text)).toBe(1);
    const polled = polls(read('a')).length;
    await until('it polls on', () => polls(read('a')).length > polled + 2);
    expect((await worker.stop()).code).toBe(0);
    client.disconnect();
  });

  test('take over all shards of a stopped worker at once, and not only in their next round', async () => {
    const { options, read } = await setUp('handover', ['a', 'b', 'c']);
    // The next round comes after 200 s, long after a test has given up waiting.
    const slow = { ...options, leaseMs: 1_000_000 };
    const first = await fleet.start(slow);
    const ids = ['a', 'b', 'c'];
    await until('the first has all', () => ids.every((id) => ownerships(read(id)).length === 1));
    const second = await fleet.start(slow);
    await until('the second has looked', async () => {
      const { startedAtMs, lastRoundAtMs } = await second.health();
      return lastRoundAtMs > startedAtMs;
    });
    expect((await first.stop()).code).toBe(0);
    await until('the second has all', () =>
      ids.every((id) => ownerships(read(id)).at(-1)!.pid === second.pid),
    );
    await second.stop();
  });

  test('begin no stage after being stopped for longer than the lease', async () => {
    const { options, read } = await setUp('paused', ['a']);
    const first = await fleet.start(options);
    await until('the first works', () => polls(read('a')).length > 2);
    // A stage that has just been allowed to begin would be noted after the pause.
    await until('no stage begins', () => {
      const { event, atMs } = read('a').at(-1)!;
      return event === 'end' && Date.now() - atMs > 20;
    });
    first.pause();
    const second = await fleet.start(options);
    const begun = (pid: number) => read('a').filter((line) => line.pid === pid && line.event === 'begin');
    await until('the second works', () => begun(second.pid).length > 2);
    const before = begun(first.pid).length;
    first.resume();
    await until('the first has closed it', () =>
      read('a').some(({ pid, what, event }) => pid === first.pid && what === 'shard' && event === 'close'),
    );
    const later = begun(second.pid).length;
    await until('the second continues', () => begun(second.pid).length > later + 5);
    expect(begun(first.pid)).toHaveLength(before);
    expect(await first.wake('a')).toBe(false);
    expect((await second.stop()).code).toBe(0);
  });

  test.runIf(isSoak)('continue when Redis was away and comes back empty', async () => {
    const { redis, options, read } = await setUp('outage', ['a', 'b']);
    options.behaviour = { poll: 'take-100ms' };
    const workers = [await fleet.start(options), await fleet.start(options)];
    await until(
      'both workgroups are polled',
      () => polls(read('a')).length > 2 && polls(read('b')).length > 2,
    );
    await redis.restart({ downMs: 500 });
    const backAtMs = Date.now();
    const pollsSince = (workgroup: string) => polls(read(workgroup)).filter(({ atMs }) => atMs > backAtMs);
    await until('both are polled again', () => pollsSince('a').length > 5 && pollsSince('b').length > 5);
    await until(
      'all is well',
      async () => (await workers[0]!.health()).healthy && (await workers[1]!.health()).healthy,
    );
    for (const worker of workers) expect((await worker.stop()).code).toBe(0);
  });

  test.runIf(isSoak)('stop while Redis is away', async () => {
    const { redis, options, read } = await setUp('gone', ['a']);
    options.behaviour = { poll: 'take-100ms' };
    const worker = await fleet.start(options);
    await until('it is polled', () => polls(read('a')).length > 2);
    await redis.stop();
    await sleep(500);
    expect((await worker.stop()).code).toBe(0);
  });

  test('retry a stage that throws, report it, and keep only ids in Redis', {
    timeout: 240_000,
  }, async () => {
    const { redis, options, read } = await setUp('throwing', ['a']);
    // A worker that loses its lease on a busy machine begins to count failures anew.
    options.leaseMs = 60_000;
    options.behaviour = { rollup: 'throw' };
    options.config.exports = [newYearExport];
    const worker = await fleet.start(options);
    const rollups = () => read('a').filter(({ what, event }) => what === 'rollup' && event === 'begin');
    // The rounds of a worker are 12 s apart with this lease, so whatever misses one waits that long.
    await until('it was tried three times', () => rollups().length >= 3, 2 * options.leaseMs);
    const [first, second, third] = rollups();
    // A millisecond less, because the times are rounded.
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(999);
    expect(third!.atMs - second!.atMs).toBeGreaterThanOrEqual(1_999);
    await until('it has failed', async () => rollupOf(await worker.health()).failures >= 3);
    const health = await worker.health();
    expect(health).toMatchObject({ live: true, healthy: false });
    expect(rollupOf(health)).toMatchObject({
      state: 'failing',
      lastSuccessAtMs: null,
      lastError: {
        code: 'BadReading',
        message: expect.stringMatching(/^an unknown error; its text is only in the log/),
        retryable: true,
      },
    });
    const everything = await readEverything(redis.url);
    expect(everything).toContain('{"stage":"export","workgroupId":"a"}');
    expect(everything).not.toMatch(/4711\.5|secret-token|worker-process|at .*:\d+:\d+/);
  });

  test('let an idle workgroup hibernate: nobody has its lease, and news or a request opens it in one of them', async () => {
    const { redis, options, read } = await setUp('hibernate', ['a', 'b']);
    options.hasNews = true;
    // Long enough that a workgroup that was opened is still open when the test looks, on a busy machine.
    options.config.pipeline = { ...options.config.pipeline, hibernateAfter: 3_000 };
    const workers = [await fleet.start(options), await fleet.start(options)];
    const statesOf = async (id: string) =>
      (await Promise.all(workers.map((worker) => worker.health()))).map(
        ({ shards }) => shards.find(({ workgroupId }) => workgroupId === id)?.state,
      );
    const isHibernated = async (id: string) => String(await statesOf(id)) === 'hibernated,hibernated';
    await until('both hibernate', async () => (await isHibernated('a')) && (await isHibernated('b')));
    expect(read('a').at(-1)).toMatchObject({ what: 'shard', event: 'hibernate' });
    const client = new Redis(redis.url);
    expect(await client.keys('wattline:lease:*')).toEqual([]);
    // Nothing is called for it any more.
    const before = read('a').length;
    await sleep(2_500);
    expect(read('a')).toHaveLength(before);

    for (const worker of workers) worker.news('a');
    await until('it is polled', () => polls(read('a').slice(before)).length > 0);
    await until('one has it, and the other knows', async () =>
      ['elsewhere,owned', 'owned,elsewhere'].includes(String((await statesOf('a')).toSorted())),
    );
    expect(
      read('a')
        .slice(before)
        .filter(({ event }) => event === 'open'),
    ).toHaveLength(1);
    expect(await isHibernated('b')).toBe(true);
    // A request opens it too, and is refused where another worker has it.
    expect(await workers[0]!.wake('b')).toBe(true);
    expect(read('b').findLast(({ event }) => event === 'open')!.pid).toBe(workers[0]!.pid);
    expect(await workers[1]!.wake('b')).toBe(false);
    expect(await workers[1]!.wake('unknown')).toBe(false);
    client.disconnect();
  });

  test('take over a workgroup that was open when its worker was killed, but not a workgroup that hibernated', async () => {
    const { options, read } = await setUp('killed', ['busy', 'asleep']);
    options.hasNews = true;
    options.idle = ['asleep'];
    const first = await fleet.start(options);
    await until('it works', () => polls(read('busy')).length > 0);
    options.idle = ['asleep', 'busy'];
    const second = await fleet.start(options);
    await first.crash();
    await until('the second has it', () => read('busy').some(({ pid }) => pid === second.pid));
    expect(read('asleep')).toEqual([]);
  });

  test('send a job to the worker that has the shard, and do it where it is if nobody has it', async () => {
    const { redis, options, read } = await setUp('jobs', ['a']);
    options.hasNews = true;
    // A busy machine may renew a short lease too late, and then the other worker gets the shard.
    options.leaseMs = 30_000;
    options.config.exports = [newYearExport];
    const owner = await fleet.start(options);
    await until('it works', () => polls(read('a')).length > 0);
    // The other one takes the jobs as well.
    const other = await fleet.start(options);
    const client = new Redis(redis.url, { maxRetriesPerRequest: null });
    const queue = new Queue('due', { connection: client, prefix: 'wattline:jobs' });
    const exports = () =>
      read('a').filter(({ what, event }) => what === ('export' as never) && event === 'begin');
    await until('it exported at the beginning', () => exports().length > 0);
    const before = exports().length;
    const outcomes = async () =>
      new Set((await queue.getCompleted()).map(({ returnvalue }) => returnvalue as unknown));
    await until('each worker has taken a job', async () => {
      await queue.add('export', { stage: 'export', workgroupId: 'a' });
      return (await outcomes()).size > 1;
    });
    await until('the jobs are done', async () => (await queue.getJobCountByTypes('wait', 'active')) === 0);
    expect(await outcomes()).toEqual(new Set(['here', 'elsewhere']));
    await until('it exported', () => exports().length > before);
    expect(exports().every(({ pid }) => pid === owner.pid)).toBe(true);
    expect(other.pid).not.toBe(owner.pid);
    await queue.close();
    client.disconnect();
  });

  test('stop at once when the running stage heeds its signal', async () => {
    const { options, read } = await setUp('heeding', ['a']);
    options.behaviour = { poll: 'wait-for-abort' };
    const worker = await fleet.start(options);
    await until('a poll runs', () => polls(read('a')).length > 0);
    expect((await worker.stop()).code).toBe(0);
    expect(read('a').findLast(({ what }) => what === 'poll')).toMatchObject({ event: 'end' });
    expect(read('a').at(-1)).toMatchObject({ what: 'shard', event: 'close' });
  });
});

function rollupOf(health: { shards: Array<{ stages: Array<{ stage: string; failures: number }> }> }) {
  const stage = health.shards[0]?.stages.find((each) => each.stage === 'rollup');
  if (!stage) throw new Error('there is no rollup');
  return stage;
}

/** All keys and values of a Redis as text. */
async function readEverything(url: string): Promise<string> {
  const redis = new Redis(url);
  const readers: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    list: (key) => redis.lrange(key, 0, -1),
    set: (key) => redis.smembers(key),
    zset: (key) => redis.zrange(key, '0', '-1'),
    stream: (key) => redis.xrange(key, '-', '+'),
    none: async () => '',
  };
  const parts: string[] = [];
  for (const key of await redis.keys('*')) {
    const value = await readers[await redis.type(key)]!(key).catch(() => '');
    parts.push(key, JSON.stringify(value).replaceAll('\\"', '"'));
  }
  redis.disconnect();
  return parts.join('\n');
}
