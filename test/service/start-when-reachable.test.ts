import { expect, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { openQueueRedis } from '../../src/service/open-control.ts';
import { startWhenReachable } from '../../src/service/start-when-reachable.ts';

const nobody = { queue: { backend: 'redis', redisUrl: 'redis://127.0.0.1:1' } } as const;
const { signal } = new AbortController();

test('a start without Redis fails after its patience, with what to do', async () => {
  let attempts = 0;
  const start = () => {
    attempts++;
    return openQueueRedis(nobody, silentLogger);
  };
  await expect(
    startWhenReachable(start, { signal, logger: silentLogger, patienceMs: 1_200 }),
  ).rejects.toMatchObject({
    code: 'QueueUnreachable',
    message: expect.stringMatching(/ECONNREFUSED.*start it, or set queue\.redisUrl/),
  });
  expect(attempts).toBeGreaterThan(1);
});

test('other errors end a start at once', async () => {
  let attempts = 0;
  const start = async () => {
    attempts++;
    throw new Error('a bug');
  };
  await expect(startWhenReachable(start, { signal, logger: silentLogger })).rejects.toThrow('a bug');
  expect(attempts).toBe(1);
});

test('a process that must end does not wait for Redis', async () => {
  const ending = new AbortController();
  const start = async () => {
    ending.abort();
    return openQueueRedis(nobody, silentLogger);
  };
  expect(await startWhenReachable(start, { signal: ending.signal, logger: silentLogger })).toBeUndefined();
});
