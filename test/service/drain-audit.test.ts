// @module-tag slow
import { expect, onTestFinished, test } from 'vitest';
import { createAudit } from '../../src/audit/audit.ts';
import { configSchema } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { startRoles } from '../../src/service/start-roles.ts';
import { startRedis } from '../support/redis.ts';
import { openTestRedisLog, readToTail } from '../support/redis-log.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

test('a process without the stream moves its audit entries into the logs in Redis', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const dataDir = tempDir();
  const config = configSchema.parse({
    dataDir,
    logLevel: 'silent',
    http: { port: 0 },
    stream: { log: 'redis' },
    queue: { backend: 'redis', redisUrl: redis.url },
    storage: { shared: true },
    workgroups: [{ id: 'acme' }],
  });
  const audit = createAudit({ dataDir, actor: 'test', clock: systemClock });
  audit.record('acme', { action: 'budget.uploaded', target: 'before the start' });
  const running = await startRoles(config, ['report'], { logger: silentLogger, clock: systemClock });
  await until('the entry is moved', () => audit.waiting('acme') === 0);
  audit.record('acme', { action: 'budget.uploaded', target: 'right before the end' });
  await running.stop();
  expect(audit.waiting('acme')).toBe(0);

  const { log } = await openTestRedisLog(redis.url, { workgroupId: 'acme' });
  const { messages } = await readToTail(log);
  expect(messages.map((message) => 'target' in message && message.target)).toEqual([
    'before the start',
    'right before the end',
  ]);
});
