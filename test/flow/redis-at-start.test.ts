import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { startRedis } from '../support/redis.ts';
import { sampled } from '../support/rounds.ts';
import { createServiceProcess, type ProcessRole } from '../support/service-process.ts';
import { until } from '../support/until.ts';

test.each(sampled<ProcessRole>(['up', 'worker'], 2))(
  'a process that starts while Redis restarts waits for Redis and works then (%s)',
  async (role) => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const service = await createServiceProcess(
      {
        queue: { backend: 'redis', redisUrl: redis.url },
        stream: { log: 'redis' },
        storage: { shared: true },
        workgroups: [{ id: 'home' }],
      },
      role,
    );
    let starting: Promise<void> | undefined;
    await redis.restart({
      async whileDown() {
        starting = service.start();
        starting.catch(() => undefined);
        await until('the process waits or has ended', () => /Redis at/.test(service.errorText()));
        expect(service.errorText()).toMatch(/Redis at .* cannot be used .*start\.waiting/);
      },
    });
    await starting;
    const asking = new Redis(redis.url);
    onTestFinished(() => asking.disconnect());
    await until('the worker has begun', async () => (await asking.zcard('wattline:workers')) === 1);
    expect(await service.stop()).toBe(0);
  },
);
