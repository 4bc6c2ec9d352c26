import type { MessageColumns } from '../contract/columns.ts';
import type { Offset } from '../contract/offset.ts';
import type { UtcMs } from '../time.ts';

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
  /** Messages that came after one with a higher offset. */
  outOfOrder: number;
  firstOffset: Offset | undefined;
  /** The newest offset that all readers of this position have seen; what lies beyond the position does not count. */
  lastOffset: Offset | undefined;
  /** Offsets of delivered messages that lie beyond the position, and so will come again. */
  aheadOffsets: Offset[];
  firstStoreTimeMs: UtcMs | undefined;
  lastStoreTimeMs: UtcMs | undefined;
  /** The offset of the message that came last, which is where a server that names no position has got to. */
  arrivedLast: Offset | undefined;
  /** The latest append time among messages that were taken for delivered ones. */
  duplicateStoreTimeMs: UtcMs | undefined;
  hasAsked: boolean;
}

/**
 * Sorts a batch into new and old. A message is old when its offset is not above `lastOffset`, or among `ahead`.
 * New messages are delivered by offset whatever order they came in; one that lies beyond the position the server names
 * (or has got to) is delivered too, but does not move `lastOffset`: a single wild offset must not hide all that follows.
 */
export function survey(
  batch: Positions,
  known: {
    lastOffset: Offset | undefined;
    ahead: ReadonlySet<Offset>;
    nextOffset: Offset | undefined;
    asked: Offset | undefined;
  },
): Survey {
  const arrivedLast = newest(
    batch.count > 0 ? offsetAt(batch, batch.count - 1) : undefined,
    batch.rejected.at(-1)?.offset,
  );
  const reached = known.nextOffset ?? arrivedLast;
  const newRejected = batch.rejected.filter(
    ({ offset }) => offset === undefined || known.lastOffset === undefined || offset > known.lastOffset,
  );
  const rejectedOffsets = newRejected.flatMap(({ offset }) => (offset === undefined ? [] : [offset]));

  if (
    known.ahead.size === 0 &&
    isRising(batch, known.lastOffset) &&
    (batch.count === 0 || reached === undefined || offsetAt(batch, batch.count - 1) <= reached)
  ) {
    const first = batch.count > 0 ? offsetAt(batch, 0) : undefined;
    const last = batch.count > 0 ? offsetAt(batch, batch.count - 1) : undefined;
    return {
      rows: 'all',
      messages: batch.count + newRejected.length,
      unplaced: newRejected.length - rejectedOffsets.length,
      duplicates: batch.rejected.length - newRejected.length,
      outOfOrder: 0,
      firstOffset: rejectedOffsets.reduce(older, first),
      lastOffset: rejectedOffsets.reduce(newest, newest(known.lastOffset, last)),
      aheadOffsets: [],
      firstStoreTimeMs: batch.count > 0 ? instantAt(batch.storeTime, 0) : undefined,
      lastStoreTimeMs: lastStoreTime(batch),
      arrivedLast,
      duplicateStoreTimeMs: undefined,
      hasAsked: known.asked !== undefined && (first === known.asked || rejectedOffsets.includes(known.asked)),
    };
  }
  return surveySlowly(batch, known, reached, arrivedLast, newRejected.length, rejectedOffsets);
}

function surveySlowly(
  batch: Positions,
  known: { lastOffset: Offset | undefined; ahead: ReadonlySet<Offset>; asked: Offset | undefined },
  reached: Offset | undefined,
  arrivedLast: Offset | undefined,
  newRejected: number,
  rejectedOffsets: Offset[],
): Survey {
  const rowOf = new Map<Offset, number>();
  let outOfOrder = 0;
  let highest: Offset | undefined;
  let duplicateStoreTimeMs: UtcMs | undefined;
  let hasAsked = false;
  for (let row = 0; row < batch.count; row++) {
    const offset = offsetAt(batch, row);
    if (highest !== undefined && offset < highest) outOfOrder++;
    highest = newest(highest, offset);
    if (offset === known.asked) hasAsked = true;
    if ((known.lastOffset !== undefined && offset <= known.lastOffset) || known.ahead.has(offset)) {
      duplicateStoreTimeMs = Math.max(duplicateStoreTimeMs ?? 0, instantAt(batch.storeTime, row));
    } else rowOf.set(offset, row);
  }
  const offsets = [...rowOf.keys()].sort((left, right) => (left < right ? -1 : 1));
  const isReached = (offset: Offset) => reached === undefined || offset <= reached;
  // A server whose positions are numbers of another kind: then nothing is beyond.
  const counting = offsets.some(isReached) || offsets.length === 0 ? offsets.filter(isReached) : offsets;
  const rows = Uint32Array.from(offsets, (offset) => rowOf.get(offset)!);
  const storeTimes = counting.map((offset) => instantAt(batch.storeTime, rowOf.get(offset)!));
  return {
    rows,
    messages: rows.length + newRejected,
    unplaced: newRejected - rejectedOffsets.length,
    duplicates: batch.count - rows.length + batch.rejected.length - newRejected,
    outOfOrder,
    firstOffset: rejectedOffsets.reduce(older, offsets[0]),
    lastOffset: rejectedOffsets.reduce(newest, newest(known.lastOffset, counting.at(-1))),
    aheadOffsets: offsets.slice(counting.length),
    firstStoreTimeMs: rows.length > 0 ? instantAt(batch.storeTime, rows[0]!) : undefined,
    lastStoreTimeMs: storeTimes.length > 0 ? storeTimes.reduce((a, b) => Math.max(a, b)) : undefined,
    arrivedLast,
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
