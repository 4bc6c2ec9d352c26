import { expect, test } from 'vitest';
import { type Chunk, joinChunk } from '../../../src/stream/log/chunk.ts';
import { createScanBound, readChunks } from '../../../src/stream/log/read-chunks.ts';
import type { LogReadRequest } from '../../../src/stream/log/stream-log.ts';
import { decodeParts, deviceId, telemetryBatch } from '../../support/messages.ts';

const MEBIBYTE = 2 ** 20;
/**
 * Messages 0 to 5. The offsets 100 to 102 are of device 1 in the table "south". 200 to 202 are of device 2 in
 * "north", "south" and "north". All have one size.
 */
const log: Chunk[] = [
  joinChunk([telemetryBatch(3, { table: 'south' })], 100n, 0),
  joinChunk(
    ['north', 'south', 'north'].map((table, index) =>
      telemetryBatch(1, { device: 2, table, first: 3 + index }),
    ),
    200n,
    3,
  ),
];
const OFFSETS = [100, 101, 102, 200, 201, 202];
const SIZE = log[0]!.starts[1]!;
const bounds = { earliest: 100n, next: 203n, epoch: 'e' };

/** Reads the log. `read` has the numbers of the messages. */
async function read(request: Partial<LogReadRequest>, readableFrom = 0n) {
  const outcome = await readChunks(
    { from: 'oldest', limit: 100, bytesMax: 1e6, oneAtLeast: false, ...request },
    bounds,
    readableFrom,
    (position) => log.find(({ lastOffset }) => lastOffset >= position),
  );
  if (outcome.kind !== 'batch') return outcome.kind;
  const { parts, count, bytes, nextOffset, upToDate, full } = outcome;
  const numbers = decodeParts(parts).map(({ offset }) => OFFSETS.indexOf(Number(offset)));
  expect([count, bytes]).toEqual([numbers.length, parts.reduce((sum, { length }) => sum + length, 0)]);
  return { read: numbers, next: Number(nextOffset), upToDate, full };
}

test.each<[what: string, request: Partial<LogReadRequest>, outcome: object]>([
  ['everything', {}, { read: [0, 1, 2, 3, 4, 5], next: 203, upToDate: true, full: false }],
  ['from an offset', { from: 201n }, { read: [4, 5], next: 203, upToDate: true, full: false }],
  [
    'from a gap between offsets',
    { from: 150n, limit: 1 },
    { read: [3], next: 201, upToDate: false, full: true },
  ],
  ['from the end', { from: 203n }, { read: [], next: 203, upToDate: true, full: false }],
  ['a number of messages', { limit: 2 }, { read: [0, 1], next: 102, upToDate: false, full: true }],
  [
    'a number of messages of several chunks',
    { limit: 4 },
    { read: [0, 1, 2, 3], next: 201, upToDate: false, full: true },
  ],
  [
    'all messages, as many as the limit',
    { limit: 6 },
    { read: [0, 1, 2, 3, 4, 5], next: 203, upToDate: true, full: true },
  ],
  [
    'messages that fit exactly',
    { bytesMax: 2 * SIZE },
    { read: [0, 1], next: 102, upToDate: false, full: true },
  ],
  ['messages that fit', { bytesMax: 2 * SIZE - 1 }, { read: [0], next: 101, upToDate: false, full: true }],
  [
    'messages of several chunks that fit',
    { bytesMax: 5 * SIZE - 1 },
    { read: [0, 1, 2, 3], next: 201, upToDate: false, full: true },
  ],
  ['none, because none fits', { bytesMax: SIZE - 1 }, { read: [], next: 100, upToDate: false, full: true }],
  ['one at least', { bytesMax: 1, oneAtLeast: true }, { read: [0], next: 101, upToDate: false, full: true }],
  [
    'the first messages, because the next one of another chunk does not fit',
    { bytesMax: 3 * SIZE + 1, oneAtLeast: true },
    { read: [0, 1, 2], next: 103, upToDate: false, full: true },
  ],
  [
    'the first messages of some tables, because the next one of another chunk does not fit',
    { bytesMax: 3 * SIZE + 1, oneAtLeast: true, filter: { exceptTable: 'north' } },
    { read: [0, 1, 2], next: 201, upToDate: false, full: true },
  ],
  ['a table', { filter: { table: 'north' } }, { read: [3, 5], next: 203, upToDate: true, full: false }],
  [
    'all but a table',
    { filter: { exceptTable: 'north' } },
    { read: [0, 1, 2, 4], next: 203, upToDate: true, full: false },
  ],
  [
    'no table, because the only one is left out',
    { filter: { table: 'north', exceptTable: 'north' } },
    { read: [], next: 203, upToDate: true, full: false },
  ],
  [
    'devices',
    { filter: { devices: new Set([deviceId(1), deviceId(9)]) } },
    { read: [0, 1, 2], next: 203, upToDate: true, full: false },
  ],
  ['no device', { filter: { devices: new Set() } }, { read: [], next: 203, upToDate: true, full: false }],
  [
    'a device in a table',
    { filter: { table: 'south', devices: new Set([deviceId(2)]) } },
    { read: [4], next: 203, upToDate: true, full: false },
  ],
  [
    'a number of messages of a table',
    { limit: 1, filter: { table: 'north' } },
    { read: [3], next: 201, upToDate: false, full: true },
  ],
  [
    'messages of a table that fit exactly',
    { bytesMax: SIZE, filter: { table: 'north' } },
    { read: [3], next: 202, upToDate: false, full: true },
  ],
  [
    'none of a table, because none fits',
    { bytesMax: 1, filter: { table: 'north' } },
    { read: [], next: 103, upToDate: false, full: true },
  ],
  [
    'one of a table at least',
    { bytesMax: 1, oneAtLeast: true, filter: { table: 'north' } },
    { read: [3], next: 202, upToDate: false, full: true },
  ],
  [
    'one chunk, because then others have a turn',
    { mayContinue: () => false },
    { read: [0, 1, 2], next: 103, upToDate: false, full: false },
  ],
])('a read of %s', async (_, request, outcome) => {
  expect(await read(request)).toEqual(outcome);
});

test('a position is ahead after the end, and expired if messages at it or after it are gone', async () => {
  expect(await read({ from: 204n })).toBe('ahead');
  expect(await read({ from: 99n }, 100n)).toBe('expired');
  expect(await read({ from: 100n, limit: 1 }, 100n)).toMatchObject({ read: [0] });
  expect(await read({ from: 'oldest', limit: 1 }, 200n)).toMatchObject({ read: [0] });
  // Before the first message nothing is gone.
  expect(await read({ from: 50n, limit: 1 })).toMatchObject({ read: [0], next: 101 });
});

test('a read looks through 200,000 messages or 16 MiB, over all its chunks', () => {
  const ofMessages = createScanBound();
  expect([ofMessages(150_000, 0), ofMessages(49_999, 0), ofMessages(1, 0)]).toEqual([true, true, false]);
  const ofBytes = createScanBound();
  expect([ofBytes(1, 16 * MEBIBYTE - 1), ofBytes(1, 1)]).toEqual([true, false]);
});
