import { expect, test } from 'vitest';
import type { EncodedBatch } from '../../../src/contract/encode-messages.ts';
import { type Offset, offsetOf } from '../../../src/contract/offset.ts';
import { TransientError } from '../../../src/lib/errors.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createAppendQueue, SEQUENCER_LEAD_MS } from '../../../src/stream/log/append-queue.ts';
import { createTestClock } from '../../support/test-clock.ts';

const MEBIBYTE = 2 ** 20;

/** A batch of this many messages and bytes. Its content does not matter here. */
function batchOf(count: number, bytes = count): EncodedBatch {
  const starts = new Uint32Array(count + 1);
  starts[count] = bytes;
  return { bytes: new Uint8Array(), starts, tables: [], devices: [], count };
}

/** A queue on a store that keeps the counts of each chunk. Its writes wait until they are allowed to end. */
function setUp(end: (first: Offset) => Offset | 'outdated' = (first) => first) {
  const chunks: number[][] = [];
  const warnings: object[] = [];
  const clock = createTestClock();
  const opened = Promise.withResolvers<void>();
  const queue = createAppendQueue({
    async store(batches) {
      chunks.push(batches.map(({ count }) => count));
      await opened.promise;
      return end(offsetOf(clock.now()));
    },
    clock,
    logger: { ...silentLogger, warn: (facts: object) => warnings.push(facts) } as typeof silentLogger,
  });
  return { queue, chunks, clock, warnings, open: opened.resolve };
}

test.each<[about: string, batches: EncodedBatch[], chunks: number[][]]>([
  ['20,000 messages', [batchOf(15_000), batchOf(5_000), batchOf(1)], [[15_000, 5_000], [1]]],
  ['8 MiB', [batchOf(1, 7 * MEBIBYTE), batchOf(2, MEBIBYTE), batchOf(3, 1)], [[1, 2], [3]]],
  ['more if the first append is larger', [batchOf(60_000), batchOf(1)], [[60_000], [1]]],
  ['more bytes if the first append is larger', [batchOf(1, 9 * MEBIBYTE), batchOf(2)], [[1], [2]]],
])('appends that wait share a chunk of %s', async (_, batches, chunks) => {
  const { queue, chunks: stored, open } = setUp();
  // While this one is stored, the others wait.
  const first = queue.append(batchOf(9));
  const appended = batches.map((batch) => queue.append(batch));
  open();
  await Promise.all([first, ...appended]);
  expect(stored).toEqual([[9], ...chunks]);
});

test('an announcement is a chunk of its own, and keeps its place', async () => {
  const { queue, chunks, open } = setUp();
  const all = [
    queue.append(batchOf(9)),
    queue.append(batchOf(1)),
    queue.announce(batchOf(2), 0n),
    queue.announce(batchOf(3), 0n),
    queue.append(batchOf(4)),
    queue.append(batchOf(5)),
  ];
  open();
  await Promise.all(all);
  expect(chunks).toEqual([[9], [1], [2], [3], [4, 5]]);
});

test('appends that share a chunk get consecutive offsets, and an outdated announcement gets none', async () => {
  const { queue, clock, open } = setUp();
  open();
  const first = offsetOf(clock.now());
  expect(
    await Promise.all([queue.append(batchOf(9)), queue.append(batchOf(2)), queue.append(batchOf(3))]),
  ).toEqual([
    { firstOffset: first, lastOffset: first + 8n, count: 9 },
    { firstOffset: first, lastOffset: first + 1n, count: 2 },
    { firstOffset: first + 2n, lastOffset: first + 4n, count: 3 },
  ]);
  const outdated = setUp(() => 'outdated');
  outdated.open();
  expect(await outdated.queue.announce(batchOf(1), 0n)).toBe('outdated');
});

test('at most 128 MiB wait, except for one append', async () => {
  const { queue, open } = setUp();
  const first = queue.append(batchOf(1, 200 * MEBIBYTE));
  const waiting = queue.append(batchOf(1, 128 * MEBIBYTE));
  await expect(queue.append(batchOf(1, 1))).rejects.toMatchObject({
    code: 'StorageUnavailable',
    message: expect.stringContaining('slower than the messages arrive'),
  });
  open();
  await Promise.all([first, waiting]);
  await queue.append(batchOf(1, 1));
});

test.each([
  [
    'a full disk is named',
    new TransientError('DiskFull', 'the disk is full'),
    'safely: the disk is full; send',
  ],
  ['another failure is not', new TransientError('Other', 'an inner detail'), 'safely; send'],
])('messages that could not be stored are refused: %s', async (_, failure, text) => {
  const { queue, open } = setUp(() => {
    throw failure;
  });
  open();
  await expect(queue.append(batchOf(1))).rejects.toMatchObject({
    code: 'StorageUnavailable',
    message: expect.stringContaining(text),
  });
});

test('an append has 1 to 65,535 messages, and a queue that is closed stores what it has and takes no more', async () => {
  const { queue, chunks, open } = setUp();
  for (const count of [0, 65_536]) await expect(queue.append(batchOf(count))).rejects.toThrow(RangeError);
  const accepted = queue.append(batchOf(65_535));
  const closed = queue.close();
  await expect(queue.append(batchOf(1))).rejects.toMatchObject({ message: 'the log is closed' });
  open();
  await Promise.all([accepted, closed]);
  expect(chunks).toEqual([[65_535]]);
});

test('offsets that are ahead of the clock by more than 5 s are a warning, once a minute', async () => {
  let leadMs = SEQUENCER_LEAD_MS;
  const { queue, clock, warnings, open } = setUp((first) => first + offsetOf(leadMs));
  open();
  await queue.append(batchOf(1));
  expect(warnings).toEqual([]);
  leadMs += 1;
  for (const minutes of [0, 0.9, 0.1]) {
    clock.leap(minutes * 60_000);
    await queue.append(batchOf(1));
  }
  expect(warnings).toEqual([{ leadMs: 5_001 }, { leadMs: 5_001 }]);
});
