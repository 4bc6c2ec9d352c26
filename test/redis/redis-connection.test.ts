import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { startRedis, startSentinel, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('a connection on which a command gets no answer is opened again', async () => {
  const options = { url: server.url, commandTimeoutMs: 300, logger: silentLogger };
  const connection = await openRedisConnection(options);
  onTestFinished(() => connection.close());
  let opened = 0;
  connection.onReady(() => {
    opened += 1;
  });
  process.kill(server.pid, 'SIGSTOP');
  try {
    await expect(connection.values(['key'])).rejects.toMatchObject({ code: 'RedisAnswerLost' });
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
  await until('the connection is opened again', () => opened > 0);
  expect(await connection.values(['key'])).toEqual([null]);
});

test.each(['stream', 'queue'] as const)('a wrong password names the setting of the %s', async (use) => {
  const url = server.url.replace('//', '//nobody:wrong@');
  await expect(openRedisConnection({ url, use, logger: silentLogger })).rejects.toMatchObject({
    code: 'RedisRefused',
    message: expect.stringContaining(`the user or the password in ${use}.redisUrl is wrong`),
  });
});

test('a server that is refused keeps no connection', async () => {
  const cluster = await startRedis({ 'cluster-enabled': 'yes', 'cluster-port': String(await freePort()) });
  onTestFinished(() => cluster.stop());
  const redis = new Redis(cluster.url);
  onTestFinished(() => redis.disconnect());
  await expect(openRedisConnection({ url: cluster.url, logger: silentLogger })).rejects.toMatchObject({
    code: 'RedisCluster',
  });
  const clients = async () =>
    String(await redis.client('LIST'))
      .trim()
      .split('\n').length;
  await until('only the client of the test is left', async () => (await clients()) === 1, 5_000);
});

test('settings that may lose messages are a warning for the stream, and none for the queue', async () => {
  const careless = await startRedis({ 'maxmemory-policy': 'allkeys-lru' });
  onTestFinished(() => careless.stop());
  const warned: string[] = [];
  const warn = (facts: object, event: string) => warned.push(`${event} ${JSON.stringify(facts)}`);
  const logger = Object.assign(Object.create(silentLogger), { warn });
  for (const use of ['queue', 'stream'] as const) {
    const connection = await openRedisConnection({ url: careless.url, use, logger });
    onTestFinished(() => connection.close());
    expect(warned).toHaveLength(use === 'queue' ? 0 : 1);
    expect((await connection.settings()).problems).toHaveLength(2);
  }
  expect(warned[0]).toMatch(/^stream.redis-may-lose-messages .*maxmemory-policy is allkeys-lru/);
});

test.each([
  [{}, 'RedisUnreachable', 'start it, or set stream.redisUrl'],
  [{ use: 'queue' as const }, 'QueueUnreachable', 'start it, or set queue.redisUrl'],
  [
    { sentinels: ['redis://127.0.0.1:1'] },
    'RedisUnreachable',
    'stream.redisSentinels must name the sentinels that watch localhost, the host of stream.redisUrl',
  ],
])('a server that cannot be reached says which setting to look at: %j', async (more, code, advice) => {
  const url = 'redis://localhost:1';
  const opening = openRedisConnection({ url, logger: silentLogger, ...more });
  await expect(opening).rejects.toMatchObject({ code, message: expect.stringContaining(advice) });
});

test('no keys are no values, without a command', async () => {
  const connection = await openRedisConnection({ url: server.url, logger: silentLogger });
  connection.close();
  expect(await connection.values([])).toEqual([]);
  await expect(connection.values(['key'])).rejects.toMatchObject({ code: 'RedisUnreachable' });
});

test('sentinels that are away for a while are asked again, once the connection was open', {
  tags: ['slow'],
}, async () => {
  const sentinel = await startSentinel(server.port);
  onTestFinished(sentinel.stop);
  const proxy = await startCuttingProxy(sentinel.port);
  onTestFinished(proxy.close);
  const connection = await openRedisConnection({
    ...{ url: 'redis://mymaster', sentinels: [`redis://127.0.0.1:${proxy.port}`], logger: silentLogger },
  });
  onTestFinished(connection.close);
  proxy.cut();
  const before = proxy.refused;
  await server.restart();
  await until('the sentinel is asked in vain', () => proxy.refused > before + 2);
  proxy.mend();
  await until('the connection is open again', () => connection.isReady);
});
