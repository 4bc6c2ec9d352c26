import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { columnsToMessages } from '../../src/client/columns-to-messages.ts';
import { type Ask, type Position, startPosition } from '../../src/client/position.ts';
import { readStream, type StreamBatch } from '../../src/client/read-stream.ts';
import {
  createSocketSource,
  type SocketSource,
  type SocketSourceOptions,
} from '../../src/client/socket-source.ts';
import { systemWaiting, type Waiting } from '../../src/client/with-retries.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { rounds } from '../support/rounds.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { type Dialect, startVendor, type VendorServer } from '../support/vendor-server.ts';
import {
  addVendorSocket,
  type SocketDialect,
  type SocketFault,
  type VendorSocket,
} from '../support/vendor-socket.ts';

interface Started {
  vendor: VendorServer;
  socket: VendorSocket;
  source: SocketSource;
  close(): Promise<void>;
}

/** A lost socket is opened again at the next read. */
const hasty: Waiting = { ...systemWaiting, random: () => 0, sleep: async () => {} };

async function start(
  options: {
    dialect?: Partial<Dialect>;
    socket?: Partial<SocketDialect>;
  } & Partial<SocketSourceOptions> = {},
): Promise<Started> {
  const { dialect, socket: socketDialect, bounds, ...rest } = options;
  const vendor = await startVendor(dialect);
  const socket = addVendorSocket(vendor, socketDialect);
  const source = createSocketSource({
    url: vendor.url,
    workgroup: 'acme',
    token: 'secret',
    logger: silentLogger,
    random: hasty.random,
    // Long enough for a busy machine.
    bounds: { graceMs: 10_000, ...bounds },
    ...rest,
  });
  const close = async () => {
    await source.close();
    await vendor.close();
  };
  return { vendor, socket, source, close };
}

async function startForTest(options: Parameters<typeof start>[0] = {}): Promise<Started> {
  const started = await start(options);
  onTestFinished(started.close);
  return started;
}

interface Delivered {
  values: unknown[];
  gaps: string[];
  position: Position;
  transports: Set<string>;
}

/** Reads until at least `count` messages have arrived. */
async function read(source: SocketSource, from: Position | Ask, count: number): Promise<Delivered> {
  const delivered: Delivered = {
    values: [],
    gaps: [],
    position: 'ask' in from ? from : startPosition(from),
    transports: new Set(),
  };
  if (count === 0) return delivered;
  const signal = AbortSignal.timeout(10_000);
  for await (const batch of readStream(source, {
    from: delivered.position,
    waitSeconds: 0.1,
    pollEveryMs: 0,
    waiting: hasty,
    signal,
  })) {
    note(delivered, batch, source);
    if (delivered.values.length >= count) break;
  }
  source.landed(delivered.position.ask);
  return delivered;
}

function note(delivered: Delivered, batch: StreamBatch, source: SocketSource): void {
  for (const message of columnsToMessages(batch.columns, batch.names))
    delivered.values.push(message.kind === 'telemetry' ? message.data.value : message.kind);
  if (batch.gap) delivered.gaps.push(batch.gap.reason);
  delivered.position = batch.position;
  delivered.transports.add(source.transport);
}

/** Stores and loads a position as a consumer does: with the columns of its checkpoint only. */
function throughCheckpoint(position: Position): Position {
  return startPosition(position.ask, {
    ...(position.epoch !== undefined && { epoch: position.epoch }),
    ...(position.lastOffset !== undefined && { lastOffset: position.lastOffset }),
    ...(position.lastStoreTimeMs !== undefined && { lastStoreTimeMs: position.lastStoreTimeMs }),
  });
}

/** Fewer than a message has in any form. */
const MESSAGE_BYTES_MIN = 20;
const valuesOf = (messages: Array<{ value: number }>) => messages.map(({ value }) => value);
const oldest: Ask = { kind: 'oldest' };

const socketDialects: fc.Arbitrary<Partial<SocketDialect>> = fc.record({
  form: fc.constantFrom('binary', 'array-buffer', 'wrapped', 'base64', 'json-text', 'json-pretty', 'objects'),
  list: fc.constantFrom('root', 'single', 'messages', 'records', 'data', 'results', 'rows', 'items'),
  cursor: fc.constantFrom('nextOffset', 'next_offset', 'cursor', 'none'),
  bounds: fc.constantFrom('inclusive', 'exclusive'),
  messagesPerFrame: fc.integer({ min: 1, max: 5 }),
  asksAcknowledgement: fc.boolean(),
  answers: fc.constantFrom('callback', 'node-callback', 'event', 'both', 'ok', 'none'),
  saysRequestId: fc.boolean(),
  idFirst: fc.boolean(),
  saysUpToDate: fc.boolean(),
  saysEpoch: fc.boolean(),
});
const faults: fc.Arbitrary<Array<SocketFault | undefined>> = fc.array(
  fc.constantFrom<SocketFault | undefined>(
    undefined,
    'refuse',
    'cut-before-data',
    'cut',
    'garbage',
    'empty',
    'lossy',
    'complain',
    'error-frame',
    'token_expired',
    'consumer_too_slow',
    'server_draining',
  ),
  { maxLength: 4 },
);

test('every message is delivered once and in order, for any dialect and any faults', async () => {
  await fc.assert(
    fc.asyncProperty(
      socketDialects,
      fc.constantFrom('text', 'integer'),
      fc.constantFrom('text', 'integer'),
      faults,
      fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(1n, 3n, 1n << 40n),
      async (socketDialect, offsetsAs, timesAs, wrong, batches, step) => {
        const bounds = socketDialect.bounds!;
        const { vendor, socket, source, close } = await start({
          // No server sends objects, because large integers lose digits in them.
          dialect: { offsetsAs: socketDialect.form === 'objects' ? 'text' : offsetsAs, timesAs, bounds },
          socket: socketDialect,
        });
        socket.faults = [...wrong];
        const delivered: unknown[] = [];
        const expected: unknown[] = [];
        let position: Position | Ask = oldest;
        for (const count of batches) {
          expected.push(...valuesOf(vendor.append(count, { step })));
          const found = await read(source, position, count);
          delivered.push(...found.values);
          if (!wrong.some(Boolean)) expect(found.transports).not.toContain('rest');
          position = throughCheckpoint(found.position);
        }
        expect(delivered).toEqual(expected);
        await close();
      },
    ),
    { numRuns: rounds(20, 80) },
  );
});

test.each(['both', 'none'] as const)(
  'an expired offset, told %s, is one gap over the socket too, and everything retained is delivered once',
  async (answers) => {
    const { vendor, socket, source } = await startForTest({ socket: { answers } });
    vendor.append(5);
    const before = await read(source, oldest, 5);
    const missed = vendor.append(20, { everyMs: 1_000 });
    vendor.trim(15);
    socket.cut();
    const found = await read(source, throughCheckpoint(before.position), 10);
    expect(found).toMatchObject({ values: valuesOf(missed.slice(10)), gaps: ['expired'] });
    expect(found.transports).toEqual(new Set(['socket']));
  },
);

test.each([true, false])('a recreated log is read from its start, epochs told: %s', async (saysEpoch) => {
  const { vendor, source } = await startForTest({ dialect: { saysEpoch }, socket: { saysEpoch } });
  vendor.append(10);
  const before = await read(source, oldest, 10);
  vendor.recreate();
  const fresh = vendor.append(7);
  const found = await read(source, throughCheckpoint(before.position), 7);
  expect(found).toMatchObject({ values: valuesOf(fresh), gaps: ['recreated'] });
});

test('offsets beyond 2^53 keep every digit, and a server that loses them is read over REST', async () => {
  for (const fault of [undefined, 'lossy'] as const) {
    const { vendor, socket, source } = await startForTest();
    socket.faults = [fault];
    vendor.append(1, { step: (1n << 62n) + 12_345n });
    vendor.append(2);
    const found = await read(source, oldest, 3);
    expect(found).toMatchObject({ values: [0, 1, 2] });
    expect(found.position.lastOffset).toBe(1_000n + (1n << 62n) + 12_345n + 2n);
    expect(found.transports).toContain(fault === undefined ? 'socket' : 'rest');
  }
});

test('frames are acknowledged after they have landed, so the server is never far ahead', async () => {
  const { vendor, socket, source } = await startForTest({ socket: { messagesPerFrame: 1 } });
  vendor.append(50);
  const answer = await source.fetch({ ask: oldest });
  await until('as many frames are sent as may be', () => socket.unacknowledgedMax === 4);
  await sleep(100);
  expect(socket.acknowledged).toBe(0);
  expect(answer?.bytes.length).toBeGreaterThan(0);
  source.landed({ kind: 'offset', offset: 1_002n });
  await until('what has landed is acknowledged', () => socket.acknowledged > 0);
  expect(socket.unacknowledgedMax).toBe(4);
});

test('messages that were fetched and did not land are requested again at their position', async () => {
  const { vendor, socket, source } = await startForTest();
  vendor.append(3);
  const { position } = await read(source, oldest, 3);
  vendor.append(3);
  const { ask } = position;
  const first = await source.fetch({ ask });
  // After a failed landing the source asks over REST, and then subscribes again.
  const second = await source.fetch({ ask });
  expect(source.transport).toBe('rest');
  const third = await source.fetch({ ask });
  expect(source.transport).toBe('socket');
  expect([first, second, third].map((answer) => answer !== undefined)).toEqual([true, true, true]);
  expect(socket.subscriptions.at(-1)).toMatchObject({ offset: String((ask as { offset: bigint }).offset) });
});

test('a server that pushes faster than messages land is read over REST, and nothing is lost', async () => {
  const { vendor, source } = await startForTest({
    socket: { asksAcknowledgement: false, messagesPerFrame: 1 },
    bounds: { bufferBytesMax: 2_000 },
  });
  const expected = valuesOf(vendor.append(200));
  const found = await read(source, oldest, 200);
  expect(found.values).toEqual(expected);
  expect(found.transports).toContain('rest');
});

test('a reader that keeps up stays connected, however much it has read', async () => {
  const bounds = { bufferBytesMax: 2_000 };
  const { vendor, socket, source } = await startForTest({ bounds });
  let position: Position | Ask = oldest;
  let readBytes = 0;
  while (readBytes < 3 * bounds.bufferBytesMax) {
    const expected = valuesOf(vendor.append(5));
    const found = await read(source, position, 5);
    expect(found).toMatchObject({ values: expected, transports: new Set(['socket']) });
    ({ position } = found);
    readBytes += 5 * MESSAGE_BYTES_MIN;
  }
  expect(socket.handshakes).toHaveLength(1);
});

test('a connection that is neither let in nor refused is given up, and tried again', async () => {
  const { vendor, socket, source } = await startForTest({ bounds: { connectMs: 200, graceMs: 0 } });
  socket.faults = ['leave-waiting'];
  const expected = valuesOf(vendor.append(3));
  const { values, transports, position } = await read(source, oldest, 3);
  expect([values, transports]).toEqual([expected, new Set(['rest'])]);
  await until('it is read over a socket', async () => {
    await source.fetch({ ask: position.ask, waitSeconds: 0 });
    return source.transport === 'socket';
  });
  expect(socket.handshakes).toHaveLength(2);
});

test('a server that ends each subscription as expired is read over REST after a few', async () => {
  const { vendor, socket, source } = await startForTest();
  socket.faults = Array.from({ length: 50 }, () => 'offset_expired' as const);
  const expected = valuesOf(vendor.append(3));
  const found = await read(source, oldest, 3);
  expect(found.values).toEqual(expected);
  expect(found.transports).toContain('rest');
  expect(socket.handshakes.length).toBeLessThan(10);
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
  ['stays connected while idle frames come', 100],
  ['connects again where nothing comes at all', undefined],
] as const)('on a quiet stream it %s', async (_name, idleEveryMs) => {
  const bounds = { silenceMs: 500 };
  const { vendor, socket, source } = await startForTest({ socket: { idleEveryMs }, bounds });
  vendor.append(3);
  const { position } = await read(source, oldest, 3);
  const transports = new Set<string>();
  const quietUntilMs = performance.now() + 1_300;
  while (performance.now() < quietUntilMs) {
    if (await source.fetch({ ask: position.ask, waitSeconds: 0.1 })) source.landed(position.ask);
    transports.add(source.transport);
  }
  // REST checks if the socket has missed a message.
  expect(transports).toEqual(new Set(idleEveryMs === undefined ? ['socket', 'rest'] : ['socket']));
  if (idleEveryMs === undefined) expect(socket.handshakes.length).toBeGreaterThan(1);
  else expect(socket.handshakes).toHaveLength(1);
  const later = valuesOf(vendor.append(2));
  expect(await read(source, position, 2)).toMatchObject({ values: later, gaps: [] });
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
  source.landed(second.position.ask);
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

test('closing frees everything, also a connection that never opens', async () => {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void silent.close());
  const before = countHandles();
  const source = createSocketSource({
    url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    workgroup: 'acme',
    logger: silentLogger,
    timeouts: { totalMs: 50 },
  });
  await source.fetch({ ask: oldest }).catch(() => undefined);
  await source.close();
  await until('nothing is left', () => countHandles() <= before, 3_000);

  const { vendor, socket, source: connected, close } = await start();
  vendor.append(3);
  await read(connected, oldest, 3);
  await connected.close();
  await until('the server has heard', () => socket.connections === 0);
  await close();
  await until('nothing is left', () => countHandles() <= before, 3_000);
});

test('an abort ends a wait at once, and the next read continues the subscription', async () => {
  const { vendor, socket, source } = await startForTest();
  vendor.append(3);
  const { position } = await read(source, oldest, 3);
  const stopping = new AbortController();
  const waiting = source.fetch({ ask: position.ask, waitSeconds: 20, signal: stopping.signal });
  stopping.abort(new Error('the worker stops'));
  await expect(waiting).rejects.toThrow('the worker stops');
  const later = valuesOf(vendor.append(2));
  expect((await read(source, position, 2)).values).toEqual(later);
  expect(socket.handshakes).toHaveLength(1);
});

/** Timers and connections that keep a process alive. */
function countHandles(): number {
  return process.getActiveResourcesInfo().filter((name) => /^(Timeout|TCPSocketWrap)$/.test(name)).length;
}
