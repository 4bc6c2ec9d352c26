import type { Offset } from '../contract/offset.ts';
import type { MessageColumns } from '../decode/message-columns.ts';
import type { UtcMs } from '../lib/time.ts';

/** The part of a batch that its position depends on. */
export type Positions = Pick<MessageColumns, 'count' | 'offset' | 'storeTime' | 'rejected'>;

/** What of a batch is new, seen from what has been delivered. */
export interface Survey {
  /** The rows to deliver, by offset; `all` where that is every row as it stands. */
  rows: 'all' | Uint32Array;
  /** Messages to deliver, rejected ones (which have no row) included. */
  messages: number;
  /** Rejected messages that have no offset: nothing tells whether they came before. */
  unplaced: number;
  /** Messages that had been delivered before, or stand in the batch twice. */
  duplicates: number;
  /** Messages that are not due: they lie beyond `throughOffset` and will come again. */
  beyond: number;
  /** Messages that came after one with a higher offset. */
  outOfOrder: number;
  firstOffset: Offset | undefined;
  /** The newest offset that is delivered, before this batch or with it. */
  lastOffset: Offset | undefined;
  /** What is due ends here; undefined where the server's positions are numbers of another kind. */
  throughOffset: Offset | undefined;
  firstStoreTimeMs: UtcMs | undefined;
  lastStoreTimeMs: UtcMs | undefined;
  /** The offset of the message that came last, which is where a server that names no position has got to. */
  arrivedLast: Offset | undefined;
  /** The latest append time among messages that were taken for delivered ones. */
  duplicateStoreTimeMs: UtcMs | undefined;
  hasAsked: boolean;
}

/**
 * Sorts a batch into old and new. A message is old when its offset is not above `lastOffset`. New ones are delivered by
 * offset, whatever order they came in. One that lies beyond the position that the server names (or has got to) is left
 * for its turn: delivered now it would be delivered again, and as the newest one it would hide all that follows.
 */
export function survey(
  batch: Positions,
  known: { lastOffset: Offset | undefined; nextOffset: Offset | undefined; asked: Offset | undefined },
): Survey {
  const { lastOffset, asked } = known;
  const end = batch.count - 1;
  const arrivedLast = newest(end >= 0 ? offsetAt(batch, end) : undefined, batch.rejected.at(-1)?.offset);
  const reached = known.nextOffset ?? arrivedLast;
  const rejected = batch.rejected.flatMap(({ offset }) => (offset === undefined ? [] : [offset]));
  const isReached = (offset: Offset) => reached !== undefined && offset <= reached;
  const isPlain =
    isRising(batch, lastOffset) && (end < 0 || isReached(offsetAt(batch, end))) && rejected.every(isReached);
  const found = isPlain ? surveyPlain(batch, asked) : surveyRows(batch, lastOffset, reached, rejected, asked);
  const { throughOffset = isPlain ? reached : undefined } = found;
  const isNew = (offset: Offset) => lastOffset === undefined || offset > lastOffset;
  const isDue = (offset: Offset) => throughOffset === undefined || offset <= throughOffset;
  const newRejected = rejected.filter(isNew);
  const dueRejected = newRejected.filter(isDue);
  const unplaced = batch.rejected.length - rejected.length;
  return {
    ...found,
    throughOffset,
    messages: found.messages + dueRejected.length + unplaced,
    unplaced,
    duplicates: found.duplicates + rejected.length - newRejected.length,
    beyond: found.beyond + newRejected.length - dueRejected.length,
    firstOffset: dueRejected.reduce(older, found.firstOffset),
    lastOffset: dueRejected.reduce(newest, newest(lastOffset, found.lastOffset)),
    arrivedLast,
    hasAsked: found.hasAsked || (asked !== undefined && rejected.includes(asked)),
  };
}

/** What a survey finds in the rows alone. */
type RowSurvey = Omit<Survey, 'unplaced' | 'arrivedLast'>;

/** Rows in order, all of them new and due: the common case, in one look. */
function surveyPlain(batch: Positions, asked: Offset | undefined): RowSurvey {
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
): RowSurvey {
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

/** Whether every offset is above the one before, and the first above `floor`. */
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

export function offsetAt({ offset }: Pick<MessageColumns, 'offset'>, row: number): Offset {
  return (BigInt(offset[2 * row + 1]!) << 32n) | BigInt(offset[2 * row]!);
}

/** The instant (or other whole number up to 2^53) that a pair of words of a signed 64-bit column holds. */
export function instantAt(words: Uint32Array, row: number): UtcMs {
  return (words[2 * row + 1]! | 0) * 0x1_0000_0000 + words[2 * row]!;
}

function newest(left: Offset | undefined, right: Offset | undefined): Offset | undefined {
  return left === undefined || (right !== undefined && right > left) ? right : left;
}
function older(left: Offset | undefined, right: Offset | undefined): Offset | undefined {
  return left === undefined || (right !== undefined && right < left) ? right : left;
}
