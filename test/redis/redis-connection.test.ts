import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';
import { freePort } from '../support/free-port.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
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
