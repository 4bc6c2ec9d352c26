import type { Offset } from '../contract/offset.ts';
import { instantAt, type MessageColumns, offsetAt, type RejectedMessage } from '../decode/message-columns.ts';
import type { UtcMs } from '../lib/time.ts';

/** The messages of a batch that land: rows `start` to `end` of `columns`, with strictly rising offsets. */
export interface NewMessages {
  columns: MessageColumns;
  start: number;
  end: number;
  rejected: RejectedMessage[];
  /**
   * The numbers of dropped messages: those that have landed before, those that are twice in the batch, and
   * those beyond the position, which come again.
   */
  landedBefore: number;
  repeated: number;
  beyond: number;
  /** Number of messages that came after one with a higher offset. */
  outOfOrder: number;
  /** The highest offset that lands, rejected messages included. */
  lastOffset: Offset | undefined;
  firstStoreTimeMs: UtcMs | undefined;
  lastStoreTimeMs: UtcMs | undefined;
}

/**
 * Selects the messages of a batch that are new and due, by offset. A message with an offset of at most
 * `lastOffset` has landed before. A message beyond `nextOffset` is not due, because it comes again later. It
 * must not move the checkpoint, because a single wrong offset would hide all following messages. If all
 * offsets of the batch are beyond `nextOffset`, the server uses different numbers for positions and for
 * offsets. Then all messages are due.
 */
export function selectNewMessages(
  batch: MessageColumns,
  bounds: { lastOffset: Offset | undefined; nextOffset: Offset },
): NewMessages {
  const columns = isRising(batch) ? batch : undefined;
  const sorted = columns ? { columns, repeated: 0, outOfOrder: 0 } : sortByOffset(batch);
  const { count } = sorted.columns;
  const start = bounds.lastOffset === undefined ? 0 : rowsUpTo(sorted.columns, bounds.lastOffset);
  const due = rowsUpTo(sorted.columns, bounds.nextOffset);
  const isBeyond = ({ offset }: RejectedMessage) => offset !== undefined && offset > bounds.nextOffset;
  const isComparable =
    due > 0 || batch.rejected.some((message) => message.offset !== undefined && !isBeyond(message));
  const end = Math.max(start, isComparable ? due : count);
  const fresh = batch.rejected.filter(
    ({ offset }) => offset === undefined || bounds.lastOffset === undefined || offset > bounds.lastOffset,
  );
  const rejected = isComparable ? fresh.filter((message) => !isBeyond(message)) : fresh;
  return {
    columns: sorted.columns,
    start,
    end,
    rejected,
    landedBefore: start + batch.rejected.length - fresh.length,
    repeated: sorted.repeated,
    beyond: count - end + fresh.length - rejected.length,
    outOfOrder: sorted.outOfOrder,
    lastOffset: rejected.reduce<Offset | undefined>(
      (last, { offset }) => (offset !== undefined && (last === undefined || offset > last) ? offset : last),
      end > start ? offsetAt(sorted.columns, end - 1) : undefined,
    ),
    ...storeTimes(sorted.columns, start, end),
  };
}

function isRising({ count, offset }: MessageColumns): boolean {
  for (let row = 1; row < count; row++) {
    const high = offset[2 * row + 1]!;
    const highBefore = offset[2 * row - 1]!;
    if (high < highBefore || (high === highBefore && offset[2 * row]! <= offset[2 * row - 2]!)) return false;
  }
  return true;
}

/** Number of rows with an offset of at most `offset`. The rows must be in order. */
function rowsUpTo(columns: MessageColumns, offset: Offset): number {
  let low = 0;
  let high = columns.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (offsetAt(columns, middle) <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

function storeTimes({ storeTime }: MessageColumns, start: number, end: number) {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (let row = start; row < end; row++) {
    const ms = instantAt(storeTime, row);
    if (ms < first) first = ms;
    if (ms > last) last = ms;
  }
  return end > start
    ? { firstStoreTimeMs: first, lastStoreTimeMs: last }
    : { firstStoreTimeMs: undefined, lastStoreTimeMs: undefined };
}

/**
 * Sorts the rows, if a server sent them out of order. Of two messages with the same offset the first is kept.
 */
function sortByOffset(batch: MessageColumns) {
  const offsets = Array.from({ length: batch.count }, (_, row) => offsetAt(batch, row));
  let outOfOrder = 0;
  let highest = -1n;
  for (const offset of offsets) {
    if (offset < highest) outOfOrder++;
    else highest = offset;
  }
  const rows = offsets.map((_, row) => row);
  // The sort is stable, so the first of equal offsets stays first.
  rows.sort((left, right) =>
    offsets[left]! < offsets[right]! ? -1 : offsets[left]! > offsets[right]! ? 1 : 0,
  );
  const rowsWithoutRepeats = rows.filter(
    (row, index) => index === 0 || offsets[row] !== offsets[rows[index - 1]!],
  );
  return {
    columns: selectRows(batch, rowsWithoutRepeats),
    repeated: rows.length - rowsWithoutRepeats.length,
    outOfOrder,
  };
}

function selectRows(from: MessageColumns, rows: number[]): MessageColumns {
  const fieldStart = new Uint32Array(rows.length + 1);
  for (const [to, row] of rows.entries()) {
    fieldStart[to + 1] = fieldStart[to]! + from.fieldStart[row + 1]! - from.fieldStart[row]!;
  }
  const to: MessageColumns = {
    count: rows.length,
    offset: pick(from.offset, rows, 2),
    table: pick(from.table, rows, 1),
    source: pick(from.source, rows, 1),
    kind: pick(from.kind, rows, 1),
    device: pick(from.device, rows, 4),
    deviceValid: pick(from.deviceValid, rows, 1),
    eventTime: pick(from.eventTime, rows, 2),
    storeTime: pick(from.storeTime, rows, 2),
    messageId: pick(from.messageId, rows, 2),
    messageIdValid: pick(from.messageIdValid, rows, 1),
    fieldStart,
    fieldId: new Int32Array(fieldStart[rows.length]!),
    number: new Float64Array(fieldStart[rows.length]!),
    other: new Map(),
    rejected: from.rejected,
  };
  for (const [index, row] of rows.entries()) {
    const first = from.fieldStart[row]!;
    const end = from.fieldStart[row + 1]!;
    to.fieldId.set(from.fieldId.subarray(first, end), fieldStart[index]!);
    to.number.set(from.number.subarray(first, end), fieldStart[index]!);
    const other = from.other.get(row);
    if (other !== undefined) to.other.set(index, other);
  }
  return to;
}

function pick<Column extends Uint32Array | Int32Array | Uint8Array>(
  column: Column,
  rows: number[],
  wordsPerRow: number,
): Column {
  const picked = new (column.constructor as new (length: number) => Column)(rows.length * wordsPerRow);
  for (const [to, row] of rows.entries()) {
    picked.set(column.subarray(row * wordsPerRow, (row + 1) * wordsPerRow), to * wordsPerRow);
  }
  return picked;
}
