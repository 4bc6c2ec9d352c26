import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Ask, type Position, startPosition } from '../../src/client/position.ts';
import { readStream } from '../../src/client/read-stream.ts';
import { defaultSocketBounds } from '../../src/client/socket-reader.ts';
import { limits } from '../../src/contract/wire-limits.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { oldest, read, startForTest, valuesOf } from './start-socket-source.ts';

test('a connection that is not accepted and not refused is given up, and tried again', async () => {
  const { vendor, socket, source } = await startForTest({ bounds: { connectMs: 200, graceMs: 0 } });
  socket.faults = ['leave-waiting'];
  const expected = valuesOf(vendor.append(3));
  const { values, transports, position } = await read(source, oldest, 3);
  expect([values, transports]).toEqual([expected, new Set(['rest'])]);
  await until('it is read over a socket', async () => {
    await source.fetch({ ask: position.ask, waitSeconds: 0 });
    return source.transport === 'socket';
  });
  // On a busy machine another one may be given up.
  expect(socket.handshakes.length).toBeGreaterThan(1);
});

test('a source that is closed while its connection is opened does not read from it', async () => {
  const { socket, source } = await startForTest({ bounds: { connectMs: 60_000, graceMs: 60_000 } });
  socket.faults = ['leave-waiting'];
  const ended = source.fetch({ ask: oldest, waitSeconds: 0 }).catch((error: unknown) => error);
  await until('the connection is being opened', () => socket.handshakes.length === 1);
  await source.close();
  expect(await ended).not.toBeInstanceOf(TypeError);
});

test('a connection counts as lost only after two frames of an idle server did not come', () => {
  expect(defaultSocketBounds.silenceMs).toBeGreaterThan(2 * limits.frameIdleMs);
});

test('a subscription names its table, unless it is for all tables', async () => {
  for (const [table, named] of [
    ['solar', { table: 'solar' }],
    ['-', {}],
  ] as const) {
    const { vendor, socket, source } = await startForTest({ table });
    await read(source, oldest, vendor.append(1).length);
    const [{ table: given } = {}] = socket.subscriptions;
    expect({ ...(given !== undefined && { table: given }) }).toEqual(named);
  }
});

/** A logger that notes when a socket counts as lost. */
function lossesOf(): { logger: Logger; lost: unknown[] } {
  const lost: unknown[] = [];
  const note = (facts: object, message?: string) =>
    void (message === 'upstream.socket-lost' && lost.push(facts));
  return { lost, logger: { ...silentLogger, info: note, warn: note } };
}

test('a server that ends each subscription as expired is read over REST after three renewals', async () => {
  const { logger, lost } = lossesOf();
  const { vendor, socket, source } = await startForTest({ logger });
  socket.faults = Array.from({ length: 50 }, () => 'offset_expired' as const);
  const expected = valuesOf(vendor.append(3));
  const found = await read(source, oldest, 3);
  expect(found.values).toEqual(expected);
  expect(found.transports).toContain('rest');
  expect([socket.handshakes.length, lost]).toEqual([
    4,
    [{ reason: 'offset_expired', failures: 1, retryMs: 0 }],
  ]);
});

test('a subscription that starts at another position than requested is not used', async () => {
  const { vendor, socket, source } = await startForTest();
  socket.faults = ['elsewhere'];
  const expected = valuesOf(vendor.append(5));
  const found = await read(source, { kind: 'offset', offset: vendor.messages[0]!.offset }, 5);
  expect(found).toMatchObject({ values: expected, gaps: [] });
});

test('a subscription that ends before its first frame still gives a position to resume from', async () => {
  const { vendor, socket, source } = await startForTest();
  socket.faults = ['cut-before-data'];
  vendor.append(3);
  const answer = await source.fetch({ ask: oldest });
  expect(Buffer.from(answer!.bytes).toString()).toContain('"nextOffset":"1001"');
});

test.each([
  // A busy machine may delay many idle frames.
  ['stays connected while idle frames come', 50, 2_000],
  ['connects again where nothing comes at all', undefined, 300],
] as const)('on a quiet stream it %s', { tags: ['slow'] }, async (_name, idleEveryMs, silenceMs) => {
  const bounds = { silenceMs };
  const { vendor, socket, source } = await startForTest({ socket: { idleEveryMs }, bounds });
  vendor.append(3);
  const { position } = await read(source, oldest, 3);
  const transports = new Set<string>();
  const beganAtMs = performance.now();
  const isSettled = () =>
    idleEveryMs === undefined
      ? socket.handshakes.length > 1
      : performance.now() > beganAtMs + 1.5 * silenceMs;
  while (!isSettled()) {
    if (await source.fetch({ ask: position.ask, waitSeconds: 0.1 })) source.noteLanded(position.ask);
    transports.add(source.transport);
  }
  // REST checks if the socket has missed a message.
  expect(transports).toEqual(new Set(idleEveryMs === undefined ? ['socket', 'rest'] : ['socket']));
  if (idleEveryMs !== undefined) expect(socket.handshakes).toHaveLength(1);
  const later = valuesOf(vendor.append(2));
  expect(await read(source, position, 2)).toMatchObject({ values: later, gaps: [] });
});

test('messages that land slowly do not end their connection, although no frame comes meanwhile', {
  tags: ['slow'],
}, async () => {
  const silenceMs = 200;
  const { vendor, socket, source } = await startForTest({ bounds: { silenceMs } });
  vendor.append(3);
  const batches = readStream(source, { from: startPosition(oldest), waitSeconds: 5, pollEveryMs: 0 });
  const { value } = await batches.next();
  await sleep(3 * silenceMs);
  source.noteLanded(value!.position.ask);
  const later = valuesOf(vendor.append(2));
  const found = await read(source, value!.position, 2);
  expect(found).toMatchObject({ values: later, transports: new Set(['socket']) });
  expect(socket.handshakes).toHaveLength(1);
});

test('a server that accepts the connection and ignores the subscription does not delay messages', async () => {
  const { vendor, socket, source } = await startForTest({ bounds: { silenceMs: 300 } });
  socket.faults = ['ignore'];
  const expected = valuesOf(vendor.append(3));
  const found = await read(source, oldest, 3);
  expect(found).toMatchObject({ values: expected, transports: new Set(['rest']) });
});

test('a refused socket is tried again at growing intervals while REST reads', async () => {
  const clock = createTestClock();
  const { vendor, socket, source } = await startForTest({ clock, random: () => 0.999 });
  socket.faults = Array.from({ length: 20 }, () => 'refuse' as const);
  vendor.append(3);
  let { position } = await read(source, oldest, 3);
  const triedAfterMs: number[] = [];
  for (let tried = 1, second = 0; tried < 9; second += 1) {
    clock.leap(1_000);
    await source.fetch({ ask: position.ask, waitSeconds: 0 });
    expect(source.transport).toBe('rest');
    if (socket.handshakes.length > tried) {
      tried = socket.handshakes.length;
      triedAfterMs.push(second);
    }
  }
  const waits = triedAfterMs.map((second, index) => second - (triedAfterMs[index - 1] ?? -1));
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  socket.faults = [];
  clock.leap(60_000);
  const later = valuesOf(vendor.append(3));
  const found = await read(source, position, 3);
  expect(found.values).toEqual(later);
  expect(found.transports).toEqual(new Set(['socket']));
  ({ position } = found);

  // After two minutes without an error the earlier failures do not count.
  clock.leap(120_000);
  socket.cut();
  await until('the end of the socket is noticed', async () => {
    await source.fetch({ ask: position.ask, waitSeconds: 0 });
    return source.transport === 'rest';
  });
  clock.leap(1_000);
  vendor.append(1);
  expect((await read(source, position, 1)).transports).toEqual(new Set(['socket']));
});

test('a subscription can be renewed any number of times if it delivers messages', async () => {
  const { logger, lost } = lossesOf();
  const { vendor, socket, source } = await startForTest({ logger });
  let from: Ask | Position = oldest;
  for (let round = 0; round < 5; round++) {
    const expected = valuesOf(vendor.append(1));
    const found = await read(source, from, 1);
    expect(found.values).toEqual(expected);
    from = found.position;
    socket.stop('offset_expired');
  }
  expect([socket.handshakes.length, lost]).toEqual([5, []]);
});

test('a token that is refused again is not renewed again', async () => {
  const asked: boolean[] = [];
  const { vendor, source } = await startForTest({
    token: (renew) => {
      asked.push(renew);
      return `token-${asked.length}`;
    },
  });
  vendor.tokens = new Set(['none of them']);
  expect(await source.fetch({ ask: oldest })).toMatchObject({ status: 401 });
  // Of the socket, and then of REST.
  expect(asked).toEqual([false, true, false, true]);
});

test('a refused or expired token is renewed, and reading continues at the same offset', async () => {
  const issued: string[] = [];
  const { vendor, socket, source } = await startForTest({
    token: (renew) => {
      if (renew || issued.length === 0) issued.push(`token-${issued.length + 1}`);
      return issued.at(-1)!;
    },
  });
  vendor.tokens = new Set(['token-2']);
  vendor.append(3);
  const first = await read(source, oldest, 3);
  expect(first).toMatchObject({ values: [0, 1, 2], transports: new Set(['socket']) });
  vendor.tokens = new Set(['token-3']);
  socket.cut();
  vendor.append(3);
  const second = await read(source, first.position, 3);
  expect(second).toMatchObject({ values: [3, 4, 5], gaps: [] });
  await source.fetch({ ask: second.position.ask, waitSeconds: 0.1 });
  expect(source.transport).toBe('socket');
  source.noteLanded(second.position.ask);
  vendor.tokens = new Set(['token-4']);
  socket.stop('token_expired');
  vendor.append(3);
  const third = await read(source, second.position, 3);
  expect(third).toMatchObject({ values: [6, 7, 8], gaps: [], transports: new Set(['socket']) });
  expect(issued).toHaveLength(4);
  expect(socket.handshakes.at(-1)).toMatchObject({
    auth: { token: 'token-4', workgroupId: 'acme' },
    authorization: 'Bearer token-4',
  });
});

test('a request for a few messages uses REST', async () => {
  const { vendor, source } = await startForTest();
  vendor.append(30);
  await read(source, oldest, 30);
  expect(await source.fetch({ ask: oldest, messagesMax: 10 })).toBeDefined();
  expect(source.transport).toBe('rest');
});

test('if socket and REST fail, the failure of REST is reported', async () => {
  const { vendor, source } = await startForTest();
  await vendor.close();
  await expect(source.fetch({ ask: oldest })).rejects.toMatchObject({
    code: 'NetworkFailure',
    retryable: true,
  });
});

test('an abort ends a wait at once, and the next read continues the subscription', async () => {
  const { vendor, socket, source } = await startForTest();
  vendor.append(3);
  const { position } = await read(source, oldest, 3);
  const stopping = new AbortController();
  const waiting = source.fetch({ ask: position.ask, waitSeconds: 3_600, signal: stopping.signal });
  stopping.abort(new Error('the worker stops'));
  await expect(waiting).rejects.toThrow('the worker stops');
  const later = valuesOf(vendor.append(2));
  expect((await read(source, position, 2)).values).toEqual(later);
  expect(socket.handshakes).toHaveLength(1);
});
