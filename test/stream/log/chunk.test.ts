import { describe, expect, test } from 'vitest';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { AUDIT_TABLE } from '../../../src/contract/messages.ts';
import { offsetOf } from '../../../src/contract/offset.ts';
import {
  type Chunk,
  indexFrom,
  joinChunk,
  MESSAGES_PER_CHUNK_MAX,
  openChunk,
  openSpan,
  ordinalFrom,
  packChunk,
} from '../../../src/stream/log/chunk.ts';
import { decodeParts, deviceId, telemetryBatch } from '../../support/messages.ts';
import { TEST_START_MS } from '../../support/test-clock.ts';

const FIRST = offsetOf(TEST_START_MS);
const audit = encodeMessages(
  [{ actor: 'it', action: 'start', target: 'x', event_time: 1, data: {} }],
  'solar',
);
const batches = [
  telemetryBatch(2, { device: 1 }),
  audit,
  telemetryBatch(1, { device: 2, table: 'wind', first: 2 }),
  telemetryBatch(1, { device: 1, first: 3 }),
];

const messagesOf = ({ bytes }: Chunk) => decodeParts([bytes]);
/** The table and device of each message. */
const namesOf = ({ tables, tableIds, devices, deviceIds }: Chunk) =>
  [...tableIds].map((table, index) => [tables[table], devices[deviceIds[index]!]]);

describe('a chunk', () => {
  test('has the messages of its batches with their offsets, store times, tables and devices', () => {
    const chunk = joinChunk(batches, FIRST, 7);
    expect(chunk).toMatchObject({ count: 5, firstOffset: FIRST, lastOffset: FIRST + 4n, firstOrdinal: 7 });
    expect(messagesOf(chunk)).toMatchObject(
      [0, 1, undefined, 2, 3].map((msg_id, index) => ({
        offset: FIRST + BigInt(index),
        store_time: TEST_START_MS,
        ...(msg_id === undefined ? { actor: 'it' } : { msg_id }),
      })),
    );
    expect(namesOf(chunk)).toEqual([
      ['solar', deviceId(1)],
      ['solar', deviceId(1)],
      [AUDIT_TABLE, null],
      ['wind', deviceId(2)],
      ['solar', deviceId(1)],
    ]);
    for (const [index, start] of [...chunk.starts].slice(0, -1).entries())
      expect(decodeParts([chunk.bytes.subarray(start, chunk.starts[index + 1])])).toHaveLength(1);
    expect(chunk.starts[5]).toBe(chunk.bytes.length);
  });

  test('takes a part of a batch', () => {
    const whole = telemetryBatch(4);
    const part = { ...whole, starts: whole.starts.subarray(1, 4), count: 2 };
    const names = { tables: whole.tables.slice(1, 3), devices: whole.devices.slice(1, 3) };
    const chunk = joinChunk([telemetryBatch(1, { first: 9 }), { ...part, ...names }], FIRST, 0);
    expect(messagesOf(chunk).map((message) => 'msg_id' in message && message.msg_id)).toEqual([9, 1, 2]);
  });

  test.each([0, 1, 4, 7, 8])('is read again from its value, at any place in memory: %d', (place) => {
    const chunk = joinChunk(batches, FIRST, 2 ** 40);
    const stored = Buffer.allocUnsafeSlow(chunk.value.length + place).fill(0xff);
    stored.set(chunk.value, place);
    const value = stored.subarray(place);
    const opened = openChunk(FIRST, value);
    expect(opened).toMatchObject({
      count: 5,
      firstOffset: FIRST,
      lastOffset: FIRST + 4n,
      firstOrdinal: 2 ** 40,
    });
    expect(messagesOf(opened)).toEqual(messagesOf(chunk));
    expect(namesOf(opened)).toEqual(namesOf(chunk));
    expect([...opened.starts]).toEqual([...chunk.starts]);
    const span = { firstOffset: FIRST, lastOffset: FIRST + 4n, firstOrdinal: 2 ** 40 };
    expect(openSpan(FIRST, value)).toEqual(span);
    expect(openSpan(FIRST, value.subarray(0, 24))).toEqual(span);
  });

  test('without a position is the first one of its log', () => {
    const { value } = packChunk(batches);
    expect(openSpan(0n, value)).toEqual({ firstOffset: 0n, lastOffset: 4n, firstOrdinal: 0 });
  });

  test('of a later version is not read', () => {
    const { value } = joinChunk(batches, FIRST, 0);
    new Uint32Array(value.buffer, value.byteOffset, 1)[0] = 2;
    for (const open of [openChunk, openSpan])
      expect(() => open(FIRST, value)).toThrow(expect.objectContaining({ code: 'UnknownFormat' }));
  });

  test('continues in the next millisecond when the offsets of one are used up', () => {
    const chunk = joinChunk([telemetryBatch(3)], offsetOf(TEST_START_MS) - 2n, 0);
    expect(messagesOf(chunk)).toMatchObject([
      { offset: FIRST - 2n, store_time: TEST_START_MS - 1 },
      { offset: FIRST - 1n, store_time: TEST_START_MS - 1 },
      { offset: FIRST, store_time: TEST_START_MS },
    ]);
  });

  test('has at most 65,535 messages, because their ids have 16 bits', () => {
    const empty = (count: number) => ({
      bytes: new Uint8Array(),
      starts: new Uint32Array(count + 1),
      tables: new Array(count).fill('solar'),
      devices: new Array(count).fill(null),
      count,
    });
    expect(packChunk([empty(65_000), empty(535)]).count).toBe(MESSAGES_PER_CHUNK_MAX);
    expect(() => packChunk([empty(65_000), empty(536)])).toThrow(RangeError);
  });
});

test('the position of a reader in a chunk is the first message at or after its offset', () => {
  const chunk = joinChunk([telemetryBatch(3)], FIRST, 10);
  const at = [-1n, 0n, 1n, 2n, 3n, 9n].map((more) => FIRST + more);
  expect(at.map((offset) => indexFrom(chunk, offset))).toEqual([0, 0, 1, 2, 3, 3]);
  expect(at.slice(0, 5).map((offset) => ordinalFrom(chunk, offset))).toEqual([10, 10, 11, 12, 13]);
});
