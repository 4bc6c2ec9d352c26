import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/lib/logger.ts';
import { openLmdbLog } from '../../../src/stream/log/lmdb-log.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import { readInPieces } from '../../../src/stream/log/read-in-pieces.ts';
import { createReadTurns, type ReadTurns } from '../../../src/stream/log/read-turns.ts';
import type { LogReadOutcome, LogReadRequest, StreamLog } from '../../../src/stream/log/stream-log.ts';
import { appendMixedBatches, decodeParts, deviceId, telemetryBatch } from '../../support/messages.ts';
import { rounds } from '../../support/rounds.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { type Batch, tinyBatch } from './log-under-test.ts';

const options = { retentionMs: 3_600_000, cacheBytesMax: 4_000, logger: silentLogger };
const everything: LogReadRequest = { from: 'oldest', limit: 10_000, bytesMax: 8e6, oneAtLeast: true };

function setUp(): StreamLog {
  const log = openLmdbLog({ ...options, clock: createTestClock(), path: tempDir() });
  onTestFinished(() => log.close());
  return log;
}

/** Turns that pause a read after each number of chunks, one number after another. */
function pausingAfter(sizes: readonly number[]): ReadTurns & { pauses: number } {
  let chunksLeft = sizes[0]!;
  return {
    pauses: 0,
    async run(_reader, isBegun, piece) {
      if (isBegun) this.pauses++;
      return piece();
    },
    isOver() {
      if (--chunksLeft > 0) return false;
      chunksLeft = sizes[this.pauses % sizes.length]!;
      return true;
    },
  };
}

function batchOf(outcome: LogReadOutcome): Batch {
  if (outcome.kind !== 'batch') throw new Error(`a batch was expected, not ${outcome.kind}`);
  return outcome;
}

/** An outcome with its bytes in one piece, because pieces of bytes are not part of an answer. */
function answerOf(outcome: LogReadOutcome) {
  return outcome.kind === 'batch' ? { ...outcome, parts: Buffer.concat(outcome.parts) } : outcome;
}

test('an answer is the same, whatever the size of the pieces is', async () => {
  const log = setUp();
  await appendMixedBatches(log);
  const { earliest, next } = await log.bounds();
  let pauses = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        from: fc.oneof(fc.constant('oldest' as const), fc.bigInt({ min: earliest, max: next })),
        limit: fc.integer({ min: 1, max: 80 }),
        bytesMax: fc.integer({ min: 1, max: 3_000 }),
        oneAtLeast: fc.boolean(),
        table: fc.option(fc.constantFrom('solar', 'wind', 'hydro', 'other'), { nil: undefined }),
        devices: fc.option(fc.subarray([0, 1, 2, 3, 4].map(deviceId)), { nil: undefined }),
        sizes: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
      }),
      async ({ table, devices, sizes, ...rest }) => {
        const filter = { ...(table && { table }), ...(devices && { devices: new Set(devices) }) };
        const request = { ...rest, filter };
        const turns = pausingAfter(sizes);
        const inPieces = await readInPieces(request, turns, log.read);
        pauses += turns.pauses;
        expect(answerOf(inPieces)).toEqual(answerOf(await log.read(request)));
      },
    ),
    { numRuns: rounds(200, 2_000) },
  );
  expect(pauses).toBeGreaterThan(200);
});

test('a read in pieces looks through as many messages as a read in one piece', {
  tags: ['slow'],
}, async () => {
  const log = setUp();
  const batch = tinyBatch(20_000);
  for (let round = 0; round < 12; round++) await log.append(batch);
  const request = { ...everything, filter: { table: 'nobody' } };
  const turns = pausingAfter([1]);
  const inPieces = await readInPieces(request, turns, log.read);
  expect(answerOf(inPieces)).toEqual(answerOf(await log.read(request)));
  expect(inPieces).toMatchObject({ count: 0, upToDate: false });
  // The bytes end it after seven chunks.
  expect(turns.pauses).toBe(6);
});

test('messages that are stored between two pieces are read too', async () => {
  const log = setUp();
  for (let round = 0; round < 3; round++) await log.append(telemetryBatch(2, { first: round * 2 }));
  const turns = pausingAfter([1]);
  const read = batchOf(
    await readInPieces(everything, turns, async (piece) => {
      if (turns.pauses === 2) await log.append(telemetryBatch(2, { first: 6 }));
      return log.read(piece);
    }),
  );
  expect(decodeParts(read.parts)).toMatchObject([0, 1, 2, 3, 4, 5, 6, 7].map((msg_id) => ({ msg_id })));
  expect(read).toMatchObject({ upToDate: true, nextOffset: (await log.bounds()).next });
});

test('a read never jumps over messages that the log loses between two pieces', async () => {
  const log = createMemoryLog({ ...options, clock: createTestClock(), bytesMax: 30_000 });
  onTestFinished(() => log.close());
  const { lastOffset } = await log.append(telemetryBatch(10));
  await log.append(telemetryBatch(10));
  const turns = pausingAfter([1]);
  const read = await readInPieces(everything, turns, async (piece) => {
    if (turns.pauses === 1) for (let round = 0; round < 20; round++) await log.append(telemetryBatch(10));
    return log.read(piece);
  });
  expect(read).toMatchObject({ kind: 'batch', count: 10, nextOffset: lastOffset + 1n, upToDate: false });
  expect(await log.read({ ...everything, from: lastOffset + 1n })).toMatchObject({ kind: 'expired' });
});

test('no message of a read is older than its bounds', async () => {
  const log = createMemoryLog({ ...options, clock: createTestClock(), bytesMax: 30_000 });
  onTestFinished(() => log.close());
  for (let round = 0; round < 6; round++) await log.append(telemetryBatch(10));
  const { earliest } = await log.bounds();
  const turns = pausingAfter([4]);
  const read = await readInPieces(everything, turns, async (piece) => {
    if (turns.pauses === 1) for (let round = 0; round < 3; round++) await log.append(telemetryBatch(10));
    return log.read(piece);
  });
  expect((await log.bounds()).earliest).toBeGreaterThan(earliest);
  expect(read).toMatchObject({ kind: 'batch', count: 90, bounds: { earliest } });
});

test('all messages of a read come from one log', async () => {
  const [before, after] = [setUp(), setUp()];
  for (const log of [before, after])
    for (let round = 0; round < 2; round++) await log.append(telemetryBatch(3));
  const turns = pausingAfter([1]);
  const read = await readInPieces(everything, turns, (piece) =>
    (turns.pauses === 0 ? before : after).read(piece),
  );
  const { epoch } = await before.bounds();
  expect(read).toMatchObject({ kind: 'batch', count: 3, upToDate: false, bounds: { epoch } });
});

test('a read returns its messages so far if its caller has gone', async () => {
  const log = setUp();
  for (let round = 0; round < 5; round++) await log.append(telemetryBatch(2));
  const gone = new AbortController();
  let pieces = 0;
  const request = { ...everything, signal: gone.signal };
  const read = await readInPieces(request, createReadTurns(0), async (piece) => {
    if (++pieces === 2) gone.abort();
    return log.read(piece);
  });
  expect(read).toMatchObject({ count: 4, upToDate: false });
});
