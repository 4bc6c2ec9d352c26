import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { openBackend } from '../../jobs/queue-backend.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const config = (redisUrl: string) => ({
  dataDir: '/nowhere',
  queue: { backend: 'redis' as const, redisUrl },
});

/** The names of the events that are logged. */
function recordLog() {
  const events: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void events.push(JSON.parse(line).msg) });
  return { events, log };
}

test('a Redis that is not there is worth trying again, and its error does not show the password', async () => {
  const opening = openBackend({ config: config('redis://worker:hunter2@127.0.0.1:1'), logger: silentLogger });
  const error = await opening.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(TransientError);
  expect(error).toMatchObject({ code: 'QueueUnreachable' });
  expect(String(error)).toMatch(/Redis at 127\.0\.0\.1:1 cannot be used .*ECONNREFUSED/);
  expect(String(error)).not.toContain('hunter2');
});

test('an outage is reported once when it begins and once when it ends, and a Redis that may evict is warned of', {
  tags: ['slow'],
}, async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const client = new Redis(redis.url);
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
  client.disconnect();
  const { events, log: logger } = recordLog();
  const backend = await openBackend({ config: config(redis.url), logger });
  expect(events).toEqual(['queue.redis-may-evict']);
  let recoveries = 0;
  backend.onRecovered(() => {
    recoveries += 1;
  });
  await redis.restart({ downMs: 500 });
  await until('it has recovered', () => recoveries > 0);
  expect(events).toEqual(['queue.redis-may-evict', 'queue.redis-unreachable', 'queue.redis-reachable']);
  await backend.close();
  expect(events).toHaveLength(3);
});

test('the queues of earlier versions are removed, and nothing else of them', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const client = new Redis(redis.url);
  await client.sadd('wattline:workgroups', 'home');
  await client.hset('wattline:queue:home:meta', 'opts', 'x');
  await client.set('wattline:stream:{home}:head', 'kept');
  const backend = await openBackend({ config: config(redis.url), logger: silentLogger });
  expect(await client.keys('*')).toEqual(['wattline:stream:{home}:head']);
  await backend.close();
  client.disconnect();
});

test('a message reaches the worker that it is for, and a worker that has ended is noticed', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const open = () => openBackend({ config: config(redis.url), logger: silentLogger });
  const [first, second] = [await open(), await open()];
  const messages: string[] = [];
  second.channel.onTold((message) => messages.push(message));
  expect(await first.channel.tell(second.workerId, 'due')).toBe(true);
  await until('the message arrives', () => messages.length > 0);
  expect(messages).toEqual(['due']);
  await second.close();
  await until('nobody takes the message', async () => !(await first.channel.tell(second.workerId, 'due')));
  await first.close();
});

test('a worker knows if there are others, and hears of the workgroups that they release, not of its own', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const open = () => openBackend({ config: config(redis.url), logger: silentLogger });
  const first = await open();
  expect(await first.channel.tellOthers('alone')).toBe(false);
  const second = await open();
  const heard: string[] = [];
  for (const [name, { channel }] of Object.entries({ first, second })) {
    channel.onReleased(() => heard.push(`${name}: released`));
    channel.onTold((message) => heard.push(`${name}: ${message}`));
  }
  expect(await first.leases.acquireOrRenew('home')).toBe(true);
  await first.leases.release('home', 'awake');
  expect(await first.channel.tellOthers('leaving')).toBe(true);
  await until('both have the message', () => heard.length >= 3);
  // Messages arrive in their order, so the release is not still to come.
  expect(heard.toSorted()).toEqual(['first: leaving', 'second: leaving', 'second: released']);
  await Promise.all([first.close(), second.close()]);
});

test('a worker continues when Redis refuses to let it listen again', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const admin = new Redis(redis.url);
  const backend = await openBackend({ config: config(redis.url), logger: silentLogger });
  await admin.call('ACL', 'SETUSER', 'default', 'resetchannels');
  await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await until('it was refused', async () =>
    /cmdstat_subscribe:.*rejected_calls=[1-9]/.test(await admin.info('commandstats')),
  );
  expect(await backend.channel.tell(backend.workerId, 'due').catch((error: Error) => error.message)).toMatch(
    /NOPERM/,
  );
  await backend.close();
  admin.disconnect();
});

test('a closed backend opens no queue, which would connect again', { tags: ['slow'] }, async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const backend = await openBackend({ config: config(redis.url), logger: silentLogger });
  await backend.close();
  await expect(backend.openQueue()).rejects.toMatchObject({ code: 'QueueUnreachable' });
});
