import type { Offset } from '../contract/offset.ts';
import { instantAt, type MessageColumns, offsetAt } from '../decode/message-columns.ts';
import type { UtcMs } from '../lib/time.ts';

/** The part of a batch that its positions depend on. */
type Positions = Pick<MessageColumns, 'count' | 'offset' | 'storeTime' | 'rejected'>;

/** The messages of a batch that were not delivered before. */
export interface LocatedMessages {
  /** The rows to deliver, by offset; `all` if the batch can be delivered as it is. */
  rows: 'all' | Uint32Array;
  /** The number of messages to deliver, including rejected ones, which have no row. */
  messages: number;
  /** Rejected messages without an offset. They may have been delivered before. */
  unplaced: number;
  /** Messages that were delivered before or are twice in the batch. */
  duplicates: number;
  /** Messages beyond `throughOffset`. They are not delivered, because the server will send them again. */
  beyond: number;
  /** Messages after one with a higher offset. */
  outOfOrder: number;
  firstOffset: Offset | undefined;
  /** The newest delivered offset, this batch included. */
  lastOffset: Offset | undefined;
  /** The last offset to deliver; undefined if the server's positions are not offsets. */
  throughOffset: Offset | undefined;
  firstStoreTimeMs: UtcMs | undefined;
  lastStoreTimeMs: UtcMs | undefined;
  /** The offset of the last message in the batch. A server that names no position has read up to here. */
  arrivedLast: Offset | undefined;
  /** The latest store time of the messages that count as duplicates. */
  duplicateStoreTimeMs: UtcMs | undefined;
  hasAsked: boolean;
}

/**
 * Finds the new messages of a batch. A message is new if its offset is above `lastOffset`. New messages are
 * delivered in the order of their offsets. A message beyond the server's next position is left out, because
 * the server will send it again, and because later messages would otherwise count as old.
 */
export function locateNewMessages(
  batch: Positions,
  known: { lastOffset: Offset | undefined; nextOffset: Offset | undefined; asked: Offset | undefined },
): LocatedMessages {
  const { lastOffset, asked } = known;
  const end = batch.count - 1;
  const arrivedLast = newest(end >= 0 ? offsetAt(batch, end) : undefined, batch.rejected.at(-1)?.offset);
  const reached = known.nextOffset ?? arrivedLast;
  const rejected = batch.rejected.flatMap(({ offset }) => (offset === undefined ? [] : [offset]));
  const isReached = (offset: Offset) => reached !== undefined && offset <= reached;
  const isPlain =
    isRising(batch, lastOffset) && (end < 0 || isReached(offsetAt(batch, end))) && rejected.every(isReached);
  const located = isPlain
    ? locateInOrder(batch, asked)
    : surveyRows(batch, lastOffset, reached, rejected, asked);
  const { throughOffset = isPlain ? reached : undefined } = located;
  const isNew = (offset: Offset) => lastOffset === undefined || offset > lastOffset;
  const isDue = (offset: Offset) => throughOffset === undefined || offset <= throughOffset;
  const newRejected = rejected.filter(isNew);
  const dueRejected = newRejected.filter(isDue);
  const unplaced = batch.rejected.length - rejected.length;
  return {
    ...located,
    throughOffset,
    messages: located.messages + dueRejected.length + unplaced,
    unplaced,
    duplicates: located.duplicates + rejected.length - newRejected.length,
    beyond: located.beyond + newRejected.length - dueRejected.length,
    firstOffset: dueRejected.reduce(older, located.firstOffset),
    lastOffset: dueRejected.reduce(newest, newest(lastOffset, located.lastOffset)),
    arrivedLast,
    hasAsked: located.hasAsked || (asked !== undefined && rejected.includes(asked)),
  };
}

/** The part of the result that the rows alone decide. */
type LocatedRows = Omit<LocatedMessages, 'unplaced' | 'arrivedLast'>;

/** The usual case: all rows are new and in order. */
function locateInOrder(batch: Positions, asked: Offset | undefined): LocatedRows {
  const { count } = batch;
  const firstOffset = count > 0 ? offsetAt(batch, 0) : undefined;
  return {
    rows: 'all',
    messages: count,
    duplicates: 0,
    beyond: 0,
    outOfOrder: 0,
    firstOffset,
    lastOffset: count > 0 ? offsetAt(batch, count - 1) : undefined,
    throughOffset: undefined,
    firstStoreTimeMs: count > 0 ? instantAt(batch.storeTime, 0) : undefined,
    lastStoreTimeMs: lastStoreTime(batch),
    duplicateStoreTimeMs: undefined,
    hasAsked: asked !== undefined && firstOffset === asked,
  };
}

function surveyRows(
  batch: Positions,
  lastOffset: Offset | undefined,
  reached: Offset | undefined,
  rejected: Offset[],
  asked: Offset | undefined,
): LocatedRows {
  const rowOf = new Map<Offset, number>();
  let highest: Offset | undefined;
  let outOfOrder = 0;
  let duplicateStoreTimeMs: UtcMs | undefined;
  let hasAsked = false;
  let isComparable = rejected.some((offset) => reached !== undefined && offset <= reached);
  for (let row = 0; row < batch.count; row++) {
    const offset = offsetAt(batch, row);
    if (highest !== undefined && offset < highest) outOfOrder++;
    highest = newest(highest, offset);
    if (offset === asked) hasAsked = true;
    if (reached !== undefined && offset <= reached) isComparable = true;
    if (lastOffset !== undefined && offset <= lastOffset) {
      duplicateStoreTimeMs = Math.max(duplicateStoreTimeMs ?? 0, instantAt(batch.storeTime, row));
    } else if (!rowOf.has(offset)) rowOf.set(offset, row);
  }
  const throughOffset = isComparable ? reached : undefined;
  const offsets = [...rowOf.keys()]
    .filter((offset) => throughOffset === undefined || offset <= throughOffset)
    .sort((left, right) => (left < right ? -1 : 1));
  const rows = Uint32Array.from(offsets, (offset) => rowOf.get(offset)!);
  const storeTimes = Array.from(rows, (row) => instantAt(batch.storeTime, row));
  const beyond = rowOf.size - rows.length;
  return {
    rows,
    messages: rows.length,
    duplicates: batch.count - rows.length - beyond,
    beyond,
    outOfOrder,
    firstOffset: offsets[0],
    lastOffset: offsets.at(-1),
    throughOffset,
    firstStoreTimeMs: storeTimes[0],
    lastStoreTimeMs: storeTimes.length > 0 ? storeTimes.reduce((a, b) => Math.max(a, b)) : undefined,
    duplicateStoreTimeMs,
    hasAsked,
  };
}

/** True if the offsets rise, and the first one is above `floor`. */
function isRising({ count, offset }: Positions, floor: Offset | undefined): boolean {
  let high = floor === undefined ? -1 : Number(floor >> 32n);
  let low = floor === undefined ? -1 : Number(floor & 0xffff_ffffn);
  for (let row = 0; row < count; row++) {
    const nextLow = offset[2 * row]!;
    const nextHigh = offset[2 * row + 1]!;
    if (nextHigh < high || (nextHigh === high && nextLow <= low)) return false;
    high = nextHigh;
    low = nextLow;
  }
  return true;
}

function lastStoreTime(batch: Positions): UtcMs | undefined {
  let lastMs: UtcMs | undefined;
  for (let row = 0; row < batch.count; row++) {
    const ms = instantAt(batch.storeTime, row);
    if (lastMs === undefined || ms > lastMs) lastMs = ms;
  }
  return lastMs;
}

function newest(left: Offset | undefined, right: Offset | undefined): Offset | undefined {
  return left === undefined || (right !== undefined && right > left) ? right : left;
}
function older(left: Offset | undefined, right: Offset | undefined): Offset | undefined {
  return left === undefined || (right !== undefined && right < left) ? right : left;
}
