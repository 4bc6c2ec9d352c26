import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { columnsToMessages } from '../../src/client/columns-to-messages.ts';
import { createInterpreter } from '../../src/client/interpret.ts';
import type { RawAnswer } from '../../src/client/rest-source.ts';
import { WILDCARD_TABLE } from '../../src/contract/messages.ts';
import { StreamError, type StreamErrorCode, streamErrors } from '../../src/contract/stream-errors.ts';
import { createNameTable } from '../../src/decode/name-table.ts';
import { rounds } from '../support/rounds.ts';
import { vendorDevice } from '../support/vendor-server.ts';

function answer(body: unknown, said: Partial<RawAnswer> = {}): RawAnswer {
  const bytes =
    body instanceof Uint8Array ? body : typeof body === 'string' ? Buffer.from(body) : encodeCbor(body);
  return {
    status: 200,
    contentType: 'application/cbor',
    contentEncoding: '',
    bytes: new Uint8Array(bytes),
    nextOffset: undefined,
    upToDate: undefined,
    retryAfterMs: undefined,
    lagMessages: undefined,
    durationMs: 1,
    ...said,
  };
}

const message = {
  offset: 5n,
  table: 'solar',
  device: vendorDevice,
  source: 'east',
  event_time: 1_760_000_000_000,
  store_time: 1_760_000_000_500,
  msg_id: 9,
  data: { power_w: 12.5, note: 'fine', ok: true, huge: 2n ** 60n },
};

function interpret(body: unknown, said: Partial<RawAnswer> = {}) {
  return createInterpreter(createNameTable())(answer(body, said));
}

describe('batches', () => {
  test('the body counts more than the headers', () => {
    const headers = { nextOffset: '7', upToDate: true };
    expect(
      interpret(
        { messages: [message], nextOffset: 6n, upToDate: false, epoch: 'e', clamped: 'retention' },
        headers,
      ),
    ).toMatchObject({ kind: 'batch', nextOffset: 6n, upToDate: false, epoch: 'e', clamped: 'retention' });
    expect(interpret([message], headers)).toMatchObject({ kind: 'batch', nextOffset: 7n, upToDate: true });
    expect(interpret([message])).toMatchObject({ kind: 'batch', nextOffset: undefined, upToDate: undefined });
    expect(interpret([message], { nextOffset: 'abc' })).toMatchObject({
      kind: 'batch',
      nextOffset: undefined,
    });
  });

  test('messages become objects with all their fields', () => {
    const names = createNameTable();
    const outcome = createInterpreter(names)(
      answer([
        message,
        {
          offset: 6n,
          kind: 'device_status',
          table: 'devices',
          device: vendorDevice,
          state: 'offline',
          reason: 'night',
          event_time: 1,
          store_time: 2,
        },
        {
          offset: 7n,
          kind: 'audit',
          table: 'audit_logs',
          actor: 'me',
          action: 'look',
          event_time: 1,
          store_time: 2,
        },
      ]),
    );
    if (outcome.kind !== 'batch') throw new Error(outcome.code);
    expect(columnsToMessages(outcome.columns, names)).toEqual([
      { ...message, kind: 'telemetry' },
      {
        offset: 6n,
        kind: 'device_status',
        table: 'devices',
        device: vendorDevice,
        state: 'offline',
        reason: 'night',
        event_time: 1,
        store_time: 2,
      },
      {
        offset: 7n,
        kind: 'audit',
        table: 'audit_logs',
        actor: 'me',
        action: 'look',
        event_time: 1,
        store_time: 2,
      },
    ]);
  });

  test('a field called __proto__ is an ordinary field with any value', () => {
    for (const value of [7, 'text', null]) {
      const data = JSON.parse(`{"__proto__":${JSON.stringify(value)},"power":1}`);
      const names = createNameTable();
      const outcome = createInterpreter(names)(answer([{ ...message, data }]));
      if (outcome.kind !== 'batch') throw new Error(outcome.code);
      const [read] = columnsToMessages(outcome.columns, names);
      const fields = Object.entries((read as { data: object }).data).sort();
      expect(fields).toEqual([
        ['__proto__', value],
        ['power', 1],
      ]);
    }
  });

  test('messages without a table belong to the table that is read, and to none if all tables are read', () => {
    const { table: _, ...bare } = message;
    const tablesOf = (defaultTable: string | undefined) => {
      const names = createNameTable();
      const outcome = createInterpreter(names, { defaultTable })(answer([bare, message]));
      if (outcome.kind !== 'batch') throw new Error(outcome.code);
      return columnsToMessages(outcome.columns, names).map(({ table }) => table);
    };
    expect(tablesOf('grid')).toEqual(['grid', 'solar']);
    expect(tablesOf(WILDCARD_TABLE)).toEqual(['solar']);
    expect(tablesOf(undefined)).toEqual(['solar']);
  });

  test('one bad message does not affect the others', () => {
    const outcome = interpret({
      messages: [message, { offset: 6n, data: 1 }, 'what', { ...message, offset: 8n }],
    });
    if (outcome.kind !== 'batch') throw new Error(outcome.code);
    expect([outcome.columns.count, outcome.columns.rejected.map(({ offset }) => offset)]).toEqual([
      2,
      [6n, undefined],
    ]);
  });

  test('compressed bytes are read up to a limit', () => {
    const plain = Buffer.from(encodeCbor([message]));
    for (const [contentEncoding, bytes] of [
      ['gzip', gzipSync(plain)],
      ['x-gzip', gzipSync(plain)],
      ['deflate', deflateSync(plain)],
      ['br', brotliCompressSync(plain)],
      ['zstd', zstdCompressSync(plain)],
      ['identity', plain],
    ] as const) {
      expect(interpret(bytes, { contentEncoding })).toMatchObject({ kind: 'batch' });
    }
    const bomb = gzipSync(Buffer.from(encodeCbor([message, ' '.repeat(5_000_000)])));
    expect(interpret(bomb, { contentEncoding: 'gzip' })).toMatchObject({ kind: 'batch' });
    const bounded = createInterpreter(createNameTable(), { bytesMax: 1_000_000 });
    expect(bounded(answer(bomb, { contentEncoding: 'gzip' }))).toMatchObject({
      kind: 'error',
      code: 'MalformedAnswer',
    });
    expect(interpret(plain, { contentEncoding: 'snappy' })).toMatchObject({
      kind: 'error',
      code: 'UnknownEncoding',
      retryable: false,
    });
    expect(interpret(plain, { contentEncoding: 'constructor' })).toMatchObject({
      kind: 'error',
      code: 'UnknownEncoding',
    });
  });

  test('no bytes are an empty sequence, but no map or array', () => {
    const none = new Uint8Array();
    for (const contentType of ['', 'application/json'])
      expect(interpret(none, { status: 204, contentType })).toMatchObject({ kind: 'batch' });
    expect(interpret(none, { contentType: 'application/cbor-seq' })).toMatchObject({ kind: 'batch' });
    expect(interpret(none)).toMatchObject({ kind: 'error', retryable: true });
  });
});

describe('errors', () => {
  const about: Partial<Record<StreamErrorCode, string>> = {
    InvalidOffset: 'yes',
    InvalidTimestamp: 'yes',
    OffsetExpired: 'yes',
    OffsetAhead: 'yes',
    InvalidRequest: 'maybe',
    DuplicateRequest: 'maybe',
    NotFound: 'maybe',
  };

  test.each(Object.keys(streamErrors) as StreamErrorCode[])(
    '%s of the contract, under its own status and under 200',
    (code) => {
      const { status, retryable } = streamErrors[code];
      const body = new StreamError(code, 'so it is', {
        nextOffset: 9n,
        earliestOffset: 3n,
        epoch: 'e',
      }).body();
      for (const received of [status, 200]) {
        expect(interpret(body, { status: received })).toMatchObject({
          kind: 'error',
          code,
          status,
          retryable,
          aboutPosition: about[code] ?? 'no',
          nextOffset: 9n,
          earliestOffset: 3n,
          epoch: 'e',
        });
      }
    },
  );

  test('the parameter shows what an invalid request is about', () => {
    const body = (parameter: string) => new StreamError('InvalidRequest', 'no', { parameter }).body();
    expect(interpret(body('offset'), { status: 400 })).toMatchObject({ aboutPosition: 'yes' });
    expect(interpret(body('limit'), { status: 400 })).toMatchObject({ aboutPosition: 'no' });
  });

  test.each([
    [
      { error: { code: 'E1', message: 'offset too old' } },
      400,
      { code: 'E1', aboutPosition: 'yes', retryable: false },
    ],
    [{ error: { message: 'no such cursor' } }, 404, { aboutPosition: 'yes' }],
    [{ error: 'backend down' }, 200, { code: 'backend down', aboutPosition: 'no', retryable: true }],
    [{ error: 'offset expired' }, 200, { aboutPosition: 'yes' }],
    [{ error: true, message: 'broken' }, 500, { message: 'broken', retryable: true }],
    ['{"message":"Not Found"}', 404, { code: 'Http404', aboutPosition: 'maybe', retryable: false }],
    ['{"detail":"unknown table"}', 404, { aboutPosition: 'no', retryable: false }],
    ['slow down', 429, { retryable: true, retryAfterMs: 5_000 }],
    ['', 503, { code: 'Http503', retryable: true }],
    ['', 425, { retryable: true }],
    ['', 408, { retryable: true }],
    ['the offset of this table is unknown', 400, { aboutPosition: 'yes' }],
    [{ error: 'InvalidOffset', status: 200 }, 200, { status: 400, retryable: false }],
    [{ error: 'Moved', status: 503 }, 302, { status: 503, retryable: true }],
    [
      { error: 'e'.repeat(101), message: 'm'.repeat(501) },
      500,
      { code: 'e'.repeat(100), message: 'm'.repeat(500) },
    ],
    ['', 403, { retryable: false, aboutPosition: 'no' }],
    ['', 304, { kind: 'error', retryable: false }],
  ])('%j under %i', (body, status, expected) => {
    expect(interpret(body, { status, retryAfterMs: 5_000 })).toMatchObject({ kind: 'error', ...expected });
  });

  test('a web page is a failure that may pass, with any status and content type', () => {
    const page = '\ufeff\n <!doctype HTML><html><body>the offset of the proxy</body></html>';
    for (const [status, contentType] of [
      [200, 'application/cbor'],
      [404, 'text/html'],
      [502, 'text/html'],
      [200, ''],
    ] as const) {
      expect(interpret(page, { status, contentType, retryAfterMs: 5_000 })).toMatchObject({
        kind: 'error',
        retryAfterMs: 5_000,
        code: 'UnexpectedPage',
        retryable: true,
        aboutPosition: 'no',
      });
    }
    for (const contentType of ['text/html', 'application/xhtml+xml'])
      expect(interpret('Bad gateway', { status: 502, contentType })).toMatchObject({
        code: 'UnexpectedPage',
      });
  });

  test('no bytes cause a crash', () => {
    const interpreter = createInterpreter(createNameTable());
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom(200, 204, 400, 410, 500),
        fc.constantFrom('', 'gzip', 'zstd'),
        (bytes, status, contentEncoding) => {
          expect(['batch', 'error']).toContain(interpreter(answer(bytes, { status, contentEncoding })).kind);
        },
      ),
      { numRuns: rounds(600, 3_000) },
    );
  });

  test('an answer that was cut anywhere is never taken for a whole one', { tags: ['slow'] }, () => {
    const whole = encodeCbor({
      messages: [message, { ...message, offset: 6n }],
      nextOffset: 7n,
      upToDate: true,
    });
    for (let length = 0; length < whole.length; length++) {
      expect(interpret(whole.slice(0, length))).toMatchObject({ kind: 'error', retryable: true });
    }
  });
});
