import { describe, expect, test } from 'vitest';
import type { RejectedMessage } from '../../src/decode/message-columns.ts';
import { createNameTable } from '../../src/decode/name-table.ts';
import { selectNewMessages } from '../../src/warehouse/select-new-messages.ts';
import { columnMessages } from '../decode/column-messages.ts';
import { deviceId } from '../support/messages.ts';
import { columnsOf, type PlainMessage } from './batches.ts';

const WORD = 2n ** 32n;

const rejected = (offset: bigint | undefined): RejectedMessage => ({
  offset,
  reason: 'malformed',
  detail: '',
  bytes: Uint8Array.of(1),
});

/** Selects from a batch with these offsets, of messages and of messages that could not be read. */
function select(
  offsets: bigint[],
  {
    last,
    next = 1_000n * WORD,
    unread = [],
  }: { last?: bigint; next?: bigint; unread?: Array<bigint | undefined> } = {},
) {
  const batch = columnsOf(
    offsets.map((offset) => ({ offset })),
    unread.map(rejected),
  );
  const { columns, start, end, ...facts } = selectNewMessages(batch, { lastOffset: last, nextOffset: next });
  const landing = columnMessages(columns, namesOf()).slice(start, end);
  return { ...facts, landing: landing.map(({ offset }) => offset), rejected: facts.rejected.map(offsetOf) };
}

const offsetOf = ({ offset }: { offset: bigint | undefined }) => offset;

function namesOf() {
  const names = createNameTable();
  for (const name of ['solar', 'wind', 'power']) names.idOf(name);
  return names;
}

describe('a message lands', () => {
  test('after the last offset that has landed, and up to the next position inclusive', () => {
    expect(select([9n, 10n, 11n, 12n, 13n], { last: 10n, next: 12n })).toMatchObject({
      landing: [11n, 12n],
      landedBefore: 2,
      beyond: 1,
      lastOffset: 12n,
    });
  });

  test('if it is after the last offset that has landed, also where the next position is before that', () => {
    expect(select([3n, 5n, 11n], { last: 10n, next: 4n })).toMatchObject({
      landing: [],
      landedBefore: 2,
      beyond: 1,
      lastOffset: undefined,
    });
  });

  test('by the same bounds if it could not be read, and always if it has no offset', () => {
    const bounds = { last: 10n, next: 12n, unread: [10n, 11n, 12n, 13n, undefined] };
    expect(select([], bounds)).toMatchObject({
      rejected: [11n, 12n, undefined],
      landedBefore: 1,
      beyond: 1,
      lastOffset: 12n,
    });
  });

  test('beyond the next position if no message of the batch is at or before it, read or not', () => {
    expect(select([20n], { next: 12n, unread: [21n] })).toMatchObject({
      landing: [20n],
      rejected: [21n],
      beyond: 0,
      lastOffset: 21n,
    });
    expect(select([20n], { next: 12n, unread: [12n] })).toMatchObject({
      landing: [],
      rejected: [12n],
      beyond: 1,
      lastOffset: 12n,
    });
  });

  test('with the highest offset of all that land as the last one', () => {
    expect(select([5n, 7n], { unread: [6n, 4n] }).lastOffset).toBe(7n);
    expect(select([5n, 7n], { unread: [9n, 8n] }).lastOffset).toBe(9n);
    expect(select([])).toMatchObject({ lastOffset: undefined, firstStoreTimeMs: undefined });
  });
});

test.each<[order: string, offsets: bigint[], landing: bigint[], outOfOrder: number, repeated: number]>([
  [
    'rising beyond 32 bits',
    [WORD - 1n, WORD, WORD + 1n, 2n * WORD],
    [WORD - 1n, WORD, WORD + 1n, 2n * WORD],
    0,
    0,
  ],
  ['falling only in the upper half', [2n * WORD, WORD + 5n], [WORD + 5n, 2n * WORD], 1, 0],
  ['falling only in the lower half', [WORD + 5n, WORD + 4n], [WORD + 4n, WORD + 5n], 1, 0],
  ['equal', [WORD, WORD], [WORD], 0, 1],
  ['falling twice below the highest', [3n, 1n, 2n, 4n], [1n, 2n, 3n, 4n], 2, 0],
])('offsets that are %s land in order', (_, offsets, landing, outOfOrder, repeated) => {
  expect(select(offsets)).toMatchObject({ landing, outOfOrder, repeated });
});

test('messages that are sorted keep all their members, and of two with one offset the first stays', () => {
  const [late, early, again]: PlainMessage[] = [
    { offset: 8n, table: 1, source: 0, kind: 1, device: deviceId(8), messageId: 2n ** 33n, other: '{"a":8}' },
    {
      offset: 3n,
      eventTimeMs: 5n,
      storeTimeMs: 6n,
      fields: [
        [2, 1.5],
        [0, -2],
      ],
    },
    { offset: 8n, table: 0, fields: [[1, 9]], other: '{"a":9}' },
  ];
  const bounds = { lastOffset: undefined, nextOffset: 100n };
  const sorted = selectNewMessages(columnsOf([late!, early!, again!]), bounds);
  const names = namesOf();
  expect(columnMessages(sorted.columns, names)).toEqual(columnMessages(columnsOf([early!, late!]), names));
});

test('the store times are the first and the last of the messages that land, in any order', () => {
  const times = [1n, 50n, 20n, 40n, 99n];
  const batch = columnsOf(times.map((storeTimeMs, index) => ({ offset: BigInt(index), storeTimeMs })));
  expect(selectNewMessages(batch, { lastOffset: 0n, nextOffset: 3n })).toMatchObject({
    firstStoreTimeMs: 20,
    lastStoreTimeMs: 50,
  });
});
