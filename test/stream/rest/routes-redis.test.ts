import { randomUUID } from 'node:crypto';
import { afterAll } from 'vitest';
import { silentLogger } from '../../../src/lib/logger.ts';
import { openRedisConnection } from '../../../src/redis/redis-connection.ts';
import { openRedisLog } from '../../../src/stream/log/redis/redis-log.ts';
import { startRedis } from '../../support/redis.ts';
import { serveFrom } from '../../support/stream-service.ts';

const server = await startRedis();
const redis = await openRedisConnection({ url: server.url, logger: silentLogger });
afterAll(async () => {
  redis.close();
  await server.stop();
});
// Each service gets its own log, because their workgroups have the same name.
serveFrom((options) => openRedisLog({ ...options, redis, workgroupId: randomUUID() }));
await import('./stream-routes.test.ts');
await import('./read-access.test.ts');
await import('./route-errors.test.ts');
