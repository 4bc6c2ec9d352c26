import { expect, test } from 'vitest';
import { TransientError } from '../../src/lib/errors.ts';
import { createForwardingLogger, silentLogger } from '../../src/lib/logger.ts';
import { openQueueRedis } from '../../src/service/open-control.ts';
import { startWhenReachable } from '../../src/service/start-when-reachable.ts';

const nobody = { queue: { backend: 'redis', redisUrl: 'redis://127.0.0.1:1' } } as const;
const { signal } = new AbortController();

test('a start without Redis fails after its patience, with what to do', { tags: ['slow'] }, async () => {
  // Loads the client, which takes long on a busy machine.
  await openQueueRedis(nobody, silentLogger).catch(() => undefined);
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

test('of the attempts of a start only the first is logged', { tags: ['slow'] }, async () => {
  const logged: object[] = [];
  const logger = createForwardingLogger((line) => logged.push(JSON.parse(line)));
  let attempts = 0;
  const start = async () => {
    attempts++;
    if (attempts < 3) throw new TransientError('StreamUnreachable', 'the stream does not answer');
    return 'started';
  };
  expect(await startWhenReachable(start, { signal, logger })).toBe('started');
  expect(logged).toMatchObject([
    { msg: 'start.waiting', error: 'the stream does not answer', forSeconds: 30 },
  ]);
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
