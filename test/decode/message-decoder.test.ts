import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCbor, MalformedError } from '../../src/cbor/cbor-codec.ts';
import { encodeMessages, type IngestItem, stampMessages } from '../../src/contract/encode-messages.ts';
import { appendMessage } from '../../src/decode/append-message.ts';
import { clearColumns, createColumns } from '../../src/decode/columns-buffer.ts';
import { beginBody, createFastReader, readMessage } from '../../src/decode/fast-reader.ts';
import type { MessageColumns } from '../../src/decode/message-columns.ts';
import { createMessageDecoder, type DecodedBody } from '../../src/decode/message-decoder.ts';
import { createNameTable } from '../../src/decode/name-table.ts';
import { encodeReadHead } from '../../src/stream/encode-read-head.ts';
import { itemBytes, referenceDecode } from '../cbor/cbor-items.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { isFull } from '../support/rounds.ts';
import { columnMessages, expectSame } from './column-messages.ts';
import { oddMessages, regularMessages } from './message-items.ts';

const DEVICE = '0f8fad5b-d9cb-469f-a165-70867728950e';
const head = { nextOffset: 9n, upToDate: true, earliestOffset: 1n, epoch: 'e1' };

function bodyOf(messages: Uint8Array[]): Uint8Array {
  return Buffer.concat([encodeReadHead({ ...head, count: messages.length }), ...messages]);
}

function columnsOf(body: DecodedBody): MessageColumns {
  if (body.kind !== 'batch') throw new Error(`an error: ${body.error}`);
  return body.columns;
}

/** Random bodies. Each run has others. */
const RUNS = isFull ? 1_250 : 400;

describe('the message decoder', () => {
  it('gives the same columns as cbor-x and parseMessage, for all messages of our server', {
    tags: ['slow'],
  }, () => {
    const names = createNameTable();
    const decoder = createMessageDecoder(names);
    fc.assert(
      fc.property(fc.array(regularMessages, { maxLength: 6 }), (items) => {
        const messages = items.map(itemBytes);
        const columns = columnsOf(decoder.decode(bodyOf(messages)));
        // cbor-x renames this member.
        const expected = messages.map((bytes) => renamed(referenceDecode(bytes)));
        const reference = messagesToColumns(expected, names);
        expect(columns.rejected).toStrictEqual([]);
        expectSame(columnMessages(columns, names), columnMessages(reference, names));
        expect(columns.count).toBe(items.length);
      }),
      { numRuns: RUNS },
    );
  });

  it('needs parseMessage for few messages of our server', () => {
    const columns = createColumns();
    const reader = createFastReader(createNameTable(), columns);
    let slow = 0;
    fc.assert(
      fc.property(regularMessages, (item) => {
        const bytes = itemBytes(item);
        beginBody(reader, new Uint8Array(Buffer.concat([bytes, Buffer.alloc(16)])));
        clearColumns(columns);
        const end = readMessage(reader, 0);
        if (end < 0) slow++;
        expect(columns.count).toBe(end < 0 ? 0 : 1);
        if (end >= 0) expect(end).toBe(bytes.length);
      }),
      { numRuns: 500 },
    );
    expect(slow).toBeLessThan(250);
  });

  it('gives the same columns and rejections as parseMessage, for any messages', { tags: ['slow'] }, () => {
    const names = createNameTable();
    const decoder = createMessageDecoder(names);
    let rejected = 0;
    let accepted = 0;
    fc.assert(
      fc.property(fc.array(fc.oneof(regularMessages, oddMessages), { maxLength: 6 }), (items) => {
        const messages = items.map((item) => new Uint8Array(itemBytes(item)));
        const columns = columnsOf(decoder.decode(bodyOf(messages)));
        const reference = messages.map((bytes) => slowly(bytes, names));
        expectSame(
          columnMessages(columns, names),
          reference.flatMap(({ accepted }) => accepted),
        );
        expectSame(
          columns.rejected.map((each) => ({ ...each, bytes: Buffer.from(each.bytes) })),
          reference.flatMap(({ rejected }) => rejected),
        );
        accepted += columns.count;
        rejected += columns.rejected.length;
      }),
      { numRuns: 2 * RUNS },
    );
    expect(rejected).toBeGreaterThan(RUNS / 2);
    expect(accepted).toBeGreaterThan(RUNS / 2);
  });

  it('reads what encodeMessages has written', () => {
    const names = createNameTable();
    const items: IngestItem[] = [
      {
        device: DEVICE,
        source: 'grid',
        event_time: 5,
        msg_id: 3,
        data: { e: 1.1, n: -7, t: 'ü', big: 2n ** 60n, no: null },
      },
      { device: DEVICE.toUpperCase(), event_time: 6, data: {} },
      { device: DEVICE, state: 'offline', event_time: 7, reason: 'timeout' },
      { actor: 'ann', action: 'token.issue', target: 't1', event_time: 8, data: { scope: 'data:read' } },
    ];
    const batch = encodeMessages(items, 'solar');
    stampMessages(batch, 2n ** 60n, 1_000_000_000_000);
    const body = Buffer.concat([encodeReadHead({ ...head, count: 4, clamped: 'future' }), batch.bytes]);
    const decoded = createMessageDecoder(names).decode(body);
    expect(decoded).toMatchObject({ kind: 'batch', ...head, clamped: 'future', requestId: undefined });
    const common = {
      storeTimeMs: 1_000_000_000_000,
      source: null,
      messageId: null,
      fields: [],
      device: DEVICE,
    };
    expect(columnMessages(columnsOf(decoded), names)).toStrictEqual([
      {
        ...common,
        offset: 2n ** 60n,
        table: 'solar',
        kind: 'telemetry',
        source: 'grid',
        eventTimeMs: 5,
        messageId: 3,
        fields: [
          ['e', 1.1],
          ['n', -7],
        ],
        other: { t: 'ü', big: 2n ** 60n, no: null },
      },
      {
        ...common,
        offset: 2n ** 60n + 1n,
        table: 'solar',
        kind: 'telemetry',
        eventTimeMs: 6,
        other: undefined,
      },
      {
        ...common,
        offset: 2n ** 60n + 2n,
        table: 'devices',
        kind: 'device_status',
        eventTimeMs: 7,
        other: { state: 'offline', reason: 'timeout' },
      },
      {
        ...common,
        offset: 2n ** 60n + 3n,
        table: 'audit_logs',
        kind: 'audit',
        device: null,
        eventTimeMs: 8,
        other: { actor: 'ann', action: 'token.issue', target: 't1', data: { scope: 'data:read' } },
      },
    ]);
  });

  it('grows its columns for a batch and empties them for the next one', () => {
    const names = createNameTable();
    const decoder = createMessageDecoder(names);
    const items: IngestItem[] = Array.from({ length: 5_000 }, (_, index) => ({
      device: DEVICE,
      source: 'grid',
      event_time: index,
      msg_id: index,
      data: Object.fromEntries(Array.from({ length: 30 }, (_, field) => [`f${field}`, index * field])),
    }));
    const batch = encodeMessages(items, 'solar');
    const large = Buffer.concat([encodeReadHead({ ...head, count: items.length }), batch.bytes]);
    const columns = columnsOf(decoder.decode(large));
    expect(columns.count).toBe(5_000);
    expect(columns.fieldStart[5_000]).toBe(150_000);
    expect(columnMessages(columns, names)[4_999]).toMatchObject({
      table: 'solar',
      kind: 'telemetry',
      device: DEVICE,
      source: 'grid',
      eventTimeMs: 4_999,
      messageId: 4_999,
      fields: expect.arrayContaining([['f29', 4_999 * 29]]),
    });
    const small = columnsOf(decoder.decode(bodyOf([batch.bytes.subarray(0, batch.starts[1])])));
    expect(small.count).toBe(1);
    expect(small.fieldStart[1]).toBe(30);
    expect(columnsOf(decoder.decode(bodyOf([]))).count).toBe(0);
  });

  it('grows its columns in the middle of messages and loses no value, on the fast path and the plain one', () => {
    const names = createNameTable();
    const dataOf = (index: number) =>
      Object.fromEntries(Array.from({ length: 11 }, (_, field) => [`f${field}`, index * 11 + field + 0.5]));
    // The first room is for 10,240 fields. Message 931 needs one more.
    const items = Array.from({ length: 1_100 }, (_, index) => ({
      device: DEVICE,
      event_time: index,
      data: dataOf(index),
    }));
    const { bytes } = encodeMessages(items, 'solar');
    const body = Buffer.concat([encodeReadHead({ ...head, count: items.length }), bytes]);
    const fast = columnsOf(createMessageDecoder(names).decode(body));
    const plain = createColumns();
    const envelope = { table: 'solar', offset: 0n, store_time: 0 };
    for (const item of items) appendMessage(plain, names, { ...item, ...envelope }, undefined, undefined);
    const expected = items.flatMap(({ data }) => Object.values(data));
    for (const columns of [fast, plain]) {
      expect(columns.count).toBe(items.length);
      const fieldCount = columns.fieldStart[items.length];
      expectSame([...columns.number.subarray(0, fieldCount)], expected);
      const fields = [...columns.fieldId.subarray(0, fieldCount)].map((id) => names.nameOf(id));
      expectSame(
        fields,
        items.flatMap(({ data }) => Object.keys(data)),
      );
      expectSame(
        [...columns.fieldStart.subarray(0, items.length + 1)],
        Array.from({ length: items.length + 1 }, (_, index) => index * 11),
      );
    }
  });

  it('keeps a batch with a bad message, and the bytes of the bad one', () => {
    const names = createNameTable();
    const batch = encodeMessages([{ device: DEVICE, event_time: 5, data: { p: 1 } }], 'solar');
    const bad = Buffer.from('a2616101616102', 'hex');
    const body = Buffer.concat([encodeReadHead({ ...head, count: 3 }), batch.bytes, bad, batch.bytes]);
    const kept = Buffer.from(body);
    const columns = columnsOf(createMessageDecoder(names).decode(body));
    expect(columns.count).toBe(2);
    body.fill(0);
    expect(columns.rejected).toHaveLength(1);
    expect(columns.rejected[0]).toMatchObject({ offset: undefined, reason: 'malformed' });
    expect(Buffer.from(columns.rejected[0]!.bytes)).toStrictEqual(bad);
    expect(kept.includes(bad)).toBe(true);
  });

  it.each(['solar', 'grid', 'power', 'fine'])('rejects a message if its %s is not UTF-8', (text) => {
    const item = { device: DEVICE, source: 'grid', event_time: 5, data: { power: 'fine' } };
    const { bytes } = encodeMessages([item], 'solar');
    const bad = Buffer.from(bytes);
    bad[bad.indexOf(text)] = 0xff;
    const columns = columnsOf(createMessageDecoder(createNameTable()).decode(bodyOf([bytes, bad])));
    expect(columns.count).toBe(1);
    expect(columns.rejected).toHaveLength(1);
    expect(columns.rejected[0]!.detail).toContain('UTF-8');
  });

  it('refuses a body that breaks off anywhere', () => {
    const batch = encodeMessages(
      [{ device: DEVICE, source: 'grid', event_time: 5, data: { p: 1.1, q: 'x' } }],
      'solar',
    );
    const body = bodyOf([batch.bytes]);
    const decoder = createMessageDecoder(createNameTable());
    for (let length = 1; length < body.length; length++) {
      expect(() => decoder.decode(body.subarray(0, length)), `${length} bytes`).toThrow(MalformedError);
    }
    expect(columnsOf(decoder.decode(body)).count).toBe(1);
  });

  it('reads a part of a larger buffer', () => {
    const batch = encodeMessages([{ device: DEVICE, event_time: 5, data: { p: 1.1 } }], 'solar');
    const body = bodyOf([batch.bytes]);
    const larger = Buffer.concat([Buffer.alloc(13, 0xff), body, Buffer.alloc(50, 0xff)]);
    const names = createNameTable();
    const columns = columnsOf(createMessageDecoder(names).decode(larger.subarray(13, 13 + body.length)));
    expect(columnMessages(columns, names)[0]!.fields).toStrictEqual([['p', 1.1]]);
  });
});

/** Decodes one message without the fast reader. */
function slowly(bytes: Uint8Array, names: ReturnType<typeof createNameTable>) {
  let value: unknown;
  try {
    value = decodeCbor(bytes, { plainTags: true });
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    const { message: detail } = error;
    return {
      accepted: [],
      rejected: [{ offset: undefined, reason: 'malformed', detail, bytes: Buffer.from(bytes) }],
    };
  }
  const columns = messagesToColumns([value], names);
  return {
    accepted: columnMessages(columns, names),
    rejected: columns.rejected.map((each) => ({ ...each, bytes: Buffer.from(bytes) })),
  };
}

function renamed(value: unknown): unknown {
  const message = value as { data: Record<string, unknown> };
  const fields = Object.entries(message.data).map(([name, field]) => [
    name === '__proto_' ? '__proto__' : name,
    field,
  ]);
  return { ...message, data: Object.fromEntries(fields) };
}
