import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { Ask, Position } from '../../src/client/position.ts';
import { createSocketSource } from '../../src/client/socket-source.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { rounds } from '../support/rounds.ts';
import { until } from '../support/until.ts';
import type { SocketDialect, SocketFault } from '../support/vendor-socket.ts';
import { oldest, read, start, startForTest, throughCheckpoint, valuesOf } from './start-socket-source.ts';

/** Fewer than a message has in any form. */
const MESSAGE_BYTES_MIN = 20;

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

test('every message is delivered once and in order, for any dialect and any faults', {
  tags: ['slow'],
}, async () => {
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
  'an expired offset, reported %s, is one gap over the socket too, and everything retained is delivered once',
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

test.each([true, false])('a recreated log is read from its start, epochs reported: %s', async (saysEpoch) => {
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
  source.noteLanded({ kind: 'offset', offset: 1_002n });
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

test('a reader that keeps up stays connected, however much it has read', { tags: ['slow'] }, async () => {
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

test('closing frees everything, also a connection that never opens', { tags: ['slow'] }, async () => {
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

/** Timers and connections that keep a process alive. */
function countHandles(): number {
  return process.getActiveResourcesInfo().filter((name) => /^(Timeout|TCPSocketWrap)$/.test(name)).length;
}
