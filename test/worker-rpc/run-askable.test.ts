import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createAskableRunner } from '../../src/worker-rpc/run-askable.ts';
import { until } from '../support/until.ts';

test('an operation that waits is not run if its caller has left, and an explanation neither', async () => {
  const answering = Promise.withResolvers<void>();
  const ran: string[] = [];
  const runAskable = createAskableRunner({
    run: async (_, operation) => {
      ran.push(operation);
      await answering.promise;
      return undefined as never;
    },
  });
  const left = new AbortController();
  const ask = (operation: string, args: unknown, asker = new AbortController()) =>
    runAskable('acme', operation, async () => args, asker.signal);
  const day = { device: randomUUID(), day: '2026-11-20' };
  const kept = [ask('explain', day), ...Array.from({ length: 14 }, () => ask('status', undefined))];
  const waiting = [ask('explain', day, left), ask('status', undefined, left)];
  await until('all turns are taken', () => ran.length === 15);
  left.abort(new Error('gone'));
  const ended = Promise.allSettled(waiting);
  answering.resolve();
  await Promise.all(kept);
  expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(ran).toHaveLength(15);
});

test('a caller that leaves while its arguments are read gets nothing run', async () => {
  const ran: string[] = [];
  const runAskable = createAskableRunner({
    run: async (_, operation) => {
      ran.push(operation);
      return undefined as never;
    },
  });
  const left = new AbortController();
  const readArgs = async () => left.abort(new Error('gone'));
  await expect(runAskable('acme', 'status', readArgs, left.signal)).rejects.toThrow('gone');
  expect(ran).toEqual([]);
});

test('a call is refused while 16 run and 128 wait, and an explanation while one runs and two wait', async () => {
  const answering = Promise.withResolvers<void>();
  const runAskable = createAskableRunner({
    run: async () => {
      await answering.promise;
      return undefined as never;
    },
  });
  const ask = (operation: string, args: unknown) =>
    runAskable('acme', operation, async () => args, new AbortController().signal);
  const explain = () => ask('explain', { device: randomUUID(), day: '2026-11-20' });
  const kept = [explain(), explain(), explain()];
  await expect(explain()).rejects.toMatchObject({ code: 'Busy', retryable: true });
  kept.push(...Array.from({ length: 13 + 128 }, () => ask('status', undefined)));
  await expect(ask('status', undefined)).rejects.toMatchObject({ code: 'Busy', retryable: true });
  answering.resolve();
  expect(await Promise.all(kept)).toHaveLength(16 + 128);
});

test('the id of a request has at most 64 characters, as in HTTP', async () => {
  const ids: unknown[] = [];
  const runAskable = createAskableRunner({
    run: async (_, _operation, args) => {
      ids.push((args as { requestId: string }).requestId);
      return undefined as never;
    },
  });
  const upload = { path: '/x.csv', name: 'x.csv', actor: 'a', again: false };
  const send = (requestId: string) =>
    runAskable('acme', 'upload', async () => ({ ...upload, requestId }), new AbortController().signal);
  await send('r'.repeat(64));
  expect(ids).toEqual(['r'.repeat(64)]);
  await expect(send('r'.repeat(65))).rejects.toMatchObject({ code: 'InvalidArguments' });
  expect(ids).toHaveLength(1);
});
