import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';
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
