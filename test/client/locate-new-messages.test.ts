import { expect, test } from 'vitest';
import { locateNewMessages } from '../../src/client/locate-new-messages.ts';
import type { RejectedMessage } from '../../src/decode/message-columns.ts';
import { columnsOf, startTimeMs } from './advance-batches.ts';

interface Known {
  last?: bigint;
  next?: bigint;
  asked?: bigint;
  /** The offsets of messages that could not be decoded. */
  rejected?: Array<bigint | undefined>;
}

/** Looks at a batch whose messages were stored as many seconds after the start as their offsets. */
function locate(offsets: bigint[], { last, next, asked, rejected = [] }: Known = {}) {
  const columns = columnsOf(offsets);
  columns.rejected = rejected.map(
    (offset): RejectedMessage => ({ offset, reason: '', detail: '', bytes: Uint8Array.of() }),
  );
  const { rows, ...located } = locateNewMessages(columns, { lastOffset: last, nextOffset: next, asked });
  return { ...located, rows: rows === 'all' ? rows : [...rows] };
}

const secondsAfterStart = (seconds: number) => startTimeMs + seconds * 1_000;

test('a message is new above the last offset, and due up to the next position inclusive', () => {
  expect(locate([4n, 5n, 6n, 7n, 8n], { last: 5n, next: 7n })).toMatchObject({
    rows: [2, 3],
    messages: 2,
    duplicates: 2,
    beyond: 1,
    firstOffset: 6n,
    lastOffset: 7n,
    throughOffset: 7n,
  });
  expect(locate([], { last: 5n, next: 7n, rejected: [5n, 6n, 7n, 8n, undefined] })).toMatchObject({
    messages: 3,
    unplaced: 1,
    duplicates: 1,
    beyond: 1,
    firstOffset: 6n,
    lastOffset: 7n,
  });
});

test('a batch in order is delivered as it is, unless its first message is known', () => {
  expect(locate([6n, 7n], { last: 5n })).toMatchObject({ rows: 'all', throughOffset: 7n });
  expect(locate([5n, 6n], { last: 5n })).toMatchObject({ rows: [1], duplicates: 1 });
  expect(locate([2n ** 32n, 2n ** 32n + 1n], { last: 2n ** 32n - 1n })).toMatchObject({ rows: 'all' });
  expect(locate([2n ** 32n], { last: 2n ** 32n })).toMatchObject({ rows: [], duplicates: 1 });
});

test('of two messages with one offset the first is delivered', () => {
  expect(locate([7n, 6n, 7n])).toMatchObject({ rows: [1, 0], duplicates: 1, outOfOrder: 1 });
  expect(locate([7n, 7n])).toMatchObject({ rows: [0], duplicates: 1, outOfOrder: 0 });
});

test('the first and the last offset are those of all messages that are delivered, decoded or not', () => {
  expect(locate([7n, 8n], { rejected: [6n, 9n] })).toMatchObject({ firstOffset: 6n, lastOffset: 9n });
  expect(locate([7n, 8n], { last: 6n, rejected: [5n] })).toMatchObject({ firstOffset: 7n, lastOffset: 8n });
});

test('without a next position, a batch has arrived up to the later one of its last messages', () => {
  expect(locate([7n], { rejected: [9n] })).toMatchObject({ arrivedLast: 9n, throughOffset: 9n });
  expect(locate([9n], { rejected: [7n] })).toMatchObject({ arrivedLast: 9n });
  expect(locate([9n, 8n])).toMatchObject({ arrivedLast: 8n, rows: [1], beyond: 1 });
});

test('a server includes the offset that it was asked for if any message has it', () => {
  const found = [
    locate([5n, 6n], { asked: 5n }),
    locate([6n, 5n], { asked: 5n }),
    locate([6n], { asked: 5n, rejected: [5n] }),
    locate([4n, 6n], { asked: 5n, last: 4n }),
    locate([6n, 7n], { asked: 5n }),
  ];
  expect(found.map(({ hasAsked }) => hasAsked)).toEqual([true, true, true, false, false]);
});

test('the times are those of the first and of the latest message', () => {
  // Its offset is the highest one, and it was stored a second after the start.
  const wild = 1_000_001n;
  expect(locate([7n, 9n, wild])).toMatchObject({
    firstStoreTimeMs: secondsAfterStart(7),
    lastStoreTimeMs: secondsAfterStart(9),
  });
  expect(locate([9n, 7n, wild], { next: wild })).toMatchObject({
    firstStoreTimeMs: secondsAfterStart(7),
    lastStoreTimeMs: secondsAfterStart(9),
  });
  expect(locate([3n, 5n, 4n, 6n], { last: 5n })).toMatchObject({
    duplicateStoreTimeMs: secondsAfterStart(5),
  });
});

test('positions that are no offsets hold no message back', () => {
  expect(locate([7n, 8n], { next: 3n })).toMatchObject({ messages: 2, beyond: 0, throughOffset: undefined });
  expect(locate([7n], { next: 3n, rejected: [3n] })).toMatchObject({
    rows: [],
    beyond: 1,
    throughOffset: 3n,
  });
});
