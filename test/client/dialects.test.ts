import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import type { Waiting } from '../../src/client/backoff.ts';
import { columnsToMessages } from '../../src/client/columns-to-messages.ts';
import { type Ask, type Position, startPosition } from '../../src/client/position.ts';
import { readStream } from '../../src/client/read-stream.ts';
import { createRestSource } from '../../src/client/rest-source.ts';
import { rounds } from '../support/rounds.ts';
import { type Dialect, plainDialect } from '../support/vendor-dialect.ts';
import { type Fault, startVendor } from '../support/vendor-server.ts';

/** A clock that stands still. */
const patient: Waiting = { clock: { now: () => 0 }, random: () => 0.5, sleep: async () => {} };

const closing: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function start(dialect: Partial<Dialect> = {}) {
  const vendor = await startVendor(dialect);
  const source = createRestSource({ url: vendor.url, workgroup: 'acme', token: 'secret' });
  closing.push(
    () => source.close(),
    () => vendor.close(),
  );
  return { vendor, source };
}

/** Reads to the head of the stream. Returns the delivered values in order, and the position after them. */
async function drain(
  source: ReturnType<typeof createRestSource>,
  from: Position | Ask,
  messagesMax: number,
): Promise<{ values: unknown[]; position: Position; gaps: string[]; reads: number }> {
  let position = 'ask' in from ? from : startPosition(from);
  const values: unknown[] = [];
  const gaps: string[] = [];
  let reads = 0;
  for await (const batch of readStream(source, {
    from: position,
    messagesMax,
    untilUpToDate: true,
    waiting: patient,
    pollEveryMs: 0,
  })) {
    position = batch.position;
    reads++;
    for (const message of columnsToMessages(batch.columns, batch.names)) {
      values.push(message.kind === 'telemetry' ? message.data.value : message.kind);
    }
    if (batch.gap) gaps.push(batch.gap.reason);
  }
  return { values, position, gaps, reads };
}

/** Stores and loads a position as a consumer does: with the columns of its checkpoint only. */
function throughCheckpoint(position: Position): Position {
  return startPosition(position.ask, {
    ...(position.epoch !== undefined && { epoch: position.epoch }),
    ...(position.lastOffset !== undefined && { lastOffset: position.lastOffset }),
    ...(position.lastStoreTimeMs !== undefined && { lastStoreTimeMs: position.lastStoreTimeMs }),
  });
}

const dialects: fc.Arbitrary<Dialect> = fc.record<Dialect>({
  encoding: fc.constantFrom('cbor', 'cbor-sequence', 'json', 'json-lines'),
  saysContentType: fc.boolean(),
  list: fc.constantFrom('root', 'messages', 'records', 'data', 'results', 'rows', 'items'),
  cursor: fc.constantFrom('nextOffset', 'next_offset', 'offset', 'cursor', 'header', 'none'),
  bounds: fc.constantFrom('inclusive', 'inclusive-last', 'exclusive'),
  offsetsAs: fc.constantFrom('text', 'integer'),
  timesAs: fc.constantFrom('text', 'integer'),
  deviceAs: fc.constantFrom('device', 'device_id', 'deviceId'),
  eventTimeAs: fc.constantFrom('event_time', 'eventTime', 'timestamp'),
  saysUpToDate: fc.boolean(),
  saysEpoch: fc.boolean(),
  compression: fc.constantFrom('none', 'none', 'gzip', 'br', 'zstd'),
});

const faults: fc.Arbitrary<Array<Fault | undefined>> = fc.array(
  fc.constantFrom<Fault | undefined>(
    undefined,
    undefined,
    'page',
    'page-200',
    'busy',
    'limited',
    'error-200',
    'error-object',
    'truncated',
    'reset',
    'garbage',
    'unknown-offset',
  ),
  // Fewer than the failures after which a reader gives up.
  { maxLength: 6 },
);

test('every message is delivered once and in order, for any dialect and any faults', {
  tags: ['slow'],
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      dialects,
      faults,
      // An inclusive cursor that names the last message needs room for one more.
      fc.integer({ min: 2, max: 9 }),
      fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 4 }),
      fc.constantFrom(1n, 3n, 1n << 40n),
      async (dialect, wrong, messagesMax, batches, step) => {
        const { vendor, source } = await start(dialect);
        vendor.faults = [...wrong];
        const delivered: unknown[] = [];
        const expected: unknown[] = [];
        let position: Position | Ask = { kind: 'oldest' };
        for (const count of batches) {
          expected.push(...vendor.append(count, { step }).map(({ value }) => value));
          const drained = await drain(source, position, messagesMax);
          delivered.push(...drained.values);
          position = throughCheckpoint(drained.position);
        }
        expect(delivered).toEqual(expected);
        await source.close();
        await vendor.close();
      },
    ),
    { numRuns: rounds(60, 300) },
  );
});

test.each(['cbor', 'cbor-sequence', 'json', 'json-lines'] as const)(
  'a body that breaks off is read again: %s',
  async (encoding) => {
    const { vendor, source } = await start({ encoding, cursor: 'header' });
    const expected = vendor.append(6).map(({ value }) => value);
    vendor.faults = ['truncated', 'truncated'];
    const { values } = await drain(source, { kind: 'oldest' }, 100);
    expect(values).toEqual(expected);
  },
);

test('a server that includes the requested message is read from the one after it, also one at a time', async () => {
  const { vendor, source } = await start({ cursor: 'none', bounds: 'inclusive', saysUpToDate: false });
  const expected = vendor.append(5).map(({ value }) => value);
  const { values } = await drain(source, { kind: 'oldest' }, 1);
  expect(values).toEqual(expected);
});

test('a server that excludes the requested message loses none, also without a next position', async () => {
  const { vendor, source } = await start({ cursor: 'none', bounds: 'exclusive', saysUpToDate: false });
  vendor.append(3);
  const { position } = await drain(source, { kind: 'oldest' }, 100);
  const later = vendor.append(2, { step: 1n }).map(({ value }) => value);
  expect((await drain(source, throughCheckpoint(position), 100)).values).toEqual(later);
});

test('offsets beyond 2^53 keep every digit, also as integers of JSON', async () => {
  for (const encoding of ['cbor', 'json'] as const) {
    const { vendor, source } = await start({ encoding });
    vendor.append(1, { step: (1n << 63n) + 12_345n });
    vendor.append(2, { step: 1n });
    const { position, values } = await drain(source, { kind: 'oldest' }, 1);
    expect(values).toEqual([0, 1, 2]);
    expect(position.lastOffset).toBe(1_000n + (1n << 63n) + 12_345n + 2n);
  }
});

test.each([400, 404, 410, 416, 'opaque-400'] as const)(
  'an expired offset answered with %s is one gap, and everything retained is delivered once',
  async (expired) => {
    const { vendor, source } = await start();
    vendor.expired = expired;
    vendor.append(5);
    const { position } = await drain(source, { kind: 'oldest' }, 100);
    const missed = vendor.append(20, { everyMs: 1_000 });
    vendor.trim(15);
    const { values, gaps, position: after } = await drain(source, throughCheckpoint(position), 4);
    expect(values).toEqual(missed.slice(10).map(({ value }) => value));
    expect(gaps).toHaveLength(1);
    const later = vendor.append(3).map(({ value }) => value);
    expect(await drain(source, after, 100)).toMatchObject({ values: later, gaps: [] });
  },
);

test('a gap reaches from the requested position to the first available message', async () => {
  const { vendor, source } = await start();
  const [, , last] = vendor.append(3);
  const { position } = await drain(source, { kind: 'oldest' }, 100);
  vendor.append(5, { everyMs: 2_000 });
  vendor.trim(6);
  const first = vendor.messages[0]!;
  const batch = (await readStream(source, { from: position, waiting: patient }).next()).value;
  expect(batch?.gap).toEqual({
    reason: 'expired',
    from: last!.offset + 1n,
    to: first.offset,
    fromTimeMs: last!.storeTimeMs,
    toTimeMs: first.storeTimeMs,
  });
});

test.each([
  { saysEpoch: true, ahead: 416 },
  { saysEpoch: true, ahead: 'tail' },
  { saysEpoch: true, ahead: 'oldest' },
  { saysEpoch: false, ahead: 416 },
  { saysEpoch: false, ahead: 'tail' },
  { saysEpoch: false, ahead: 'oldest' },
] as const)(
  'a recreated log is read from its start without mixing positions: %o',
  async ({ saysEpoch, ahead }) => {
    const { vendor, source } = await start({ saysEpoch });
    vendor.ahead = ahead;
    vendor.append(10);
    const { position } = await drain(source, { kind: 'oldest' }, 4);
    vendor.recreate();
    const fresh = vendor.append(7).map(({ value }) => value);
    const { values, gaps, position: after } = await drain(source, throughCheckpoint(position), 4);
    expect(values).toEqual(fresh);
    expect(gaps).toEqual(['recreated']);
    expect(after.lastOffset).toBe(17n);
  },
);

test('a new log that is longer than the old position is recognized by its epoch', async () => {
  const { vendor, source } = await start();
  vendor.append(10);
  const { position } = await drain(source, { kind: 'oldest' }, 100);
  vendor.recreate();
  const fresh = vendor.append(2_000).map(({ value }) => value);
  const { values, gaps } = await drain(source, throughCheckpoint(position), 500);
  expect(values).toEqual(fresh);
  expect(gaps).toEqual(['recreated']);
});

test('a quiet stream is asked the same question again, without failures and restarts', async () => {
  for (const saysUpToDate of [true, false]) {
    for (const bounds of ['inclusive', 'inclusive-last', 'exclusive'] as const) {
      const { vendor, source } = await start({ bounds, saysUpToDate });
      vendor.append(3);
      const { position } = await drain(source, { kind: 'oldest' }, 100);
      vendor.requests.length = 0;
      for (let read = 0; read < 20; read++) {
        expect(await drain(source, position, 100)).toMatchObject({ values: [], gaps: [] });
      }
      expect(new Set(vendor.requests.map(({ offset }) => offset)).size).toBe(1);
    }
  }
});

test('the reader gives up on a server that ignores the offset', async () => {
  const { vendor, source } = await start({ saysUpToDate: false, cursor: 'none' });
  vendor.append(5);
  const { position } = await drain(source, { kind: 'oldest' }, 100);
  vendor.requests.length = 0;
  vendor.expired = 'silent';
  // This server answers each request with all its messages.
  const ignoring = { fetch: () => source.fetch({ ask: { kind: 'oldest' } }) };
  const reading = readStream(ignoring, { from: position, waiting: patient, untilUpToDate: true }).next();
  await expect(reading).rejects.toMatchObject({ code: 'NoProgress' });
  expect(vendor.requests.length).toBeLessThan(10);
});

test('our own server uses the plain dialect', () => {
  expect(plainDialect).toMatchObject({
    encoding: 'cbor',
    list: 'messages',
    cursor: 'nextOffset',
    bounds: 'inclusive',
  });
});
