import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { silentLogger } from '../../../src/lib/logger.ts';
import { openRedisConnection, type RedisConnection } from '../../../src/redis/redis-connection.ts';
import { openRedisLog } from '../../../src/stream/log/redis/redis-log.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { testLogConformance } from './log-conformance.ts';

let server: TestRedis;
let redis: RedisConnection;
let admin: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = await openRedisConnection({ url: server.url, logger: silentLogger });
  admin = new Redis(server.url);
});
afterAll(async () => {
  redis.close();
  admin.disconnect();
  await server.stop();
});

testLogConformance({
  name: 'Redis log',
  persists: true,
  createPlace() {
    const workgroupId = randomUUID();
    return {
      open: (options) => openRedisLog({ ...options, redis, workgroupId }),
      async destroy() {
        await admin.del(await admin.keys(`wattline:stream:{${workgroupId}}:*`));
      },
    };
  },
});
