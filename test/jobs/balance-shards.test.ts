import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeUnconfigured } from '../../jobs/balance-shards.ts';
import { openBackend, type QueueBackend } from '../../jobs/queue-backend.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
let redis: Redis;
const backends: QueueBackend[] = [];
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  const queue = { backend: 'redis' as const, redisUrl: server.url };
  for (let count = 0; count < 2; count++)
    backends.push(await openBackend({ config: { dataDir: '/nowhere', queue }, logger: silentLogger }));
});
afterAll(async () => {
  redis.disconnect();
  await Promise.all(backends.map((backend) => backend.close()));
  await server.stop();
});

test('a workgroup that is configured no more leaves nothing in the store, once nobody works on it', async () => {
  const [first, second] = backends as [QueueBackend, QueueBackend];
  for (const workgroupId of ['old', 'kept']) {
    await first.leases.hold(workgroupId);
    const queue = first.queue(workgroupId);
    await queue.schedule({ stage: 'poll', workgroupId, everyMs: 60_000 });
    await queue.close();
  }
  const keysOf = async (workgroupId: string) => (await redis.keys(`wattline:*${workgroupId}*`)).length;
  await removeUnconfigured(second, ['kept'], silentLogger);
  expect(await keysOf('old')).toBeGreaterThan(1);

  await first.leases.release('old');
  await removeUnconfigured(second, ['kept'], silentLogger);
  expect(await keysOf('old')).toBe(0);
  expect(await keysOf('kept')).toBeGreaterThan(1);
  expect(await second.leases.known()).toEqual(['kept']);
});
