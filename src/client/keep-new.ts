import type { MessageColumns } from '../decode/message-columns.ts';
import type { DeliverStep } from './position.ts';

/** Removes all rows that a step does not keep, in place. Rejected messages without an offset stay. */
export function keepNew(columns: MessageColumns, keep: DeliverStep['keep']): void {
  const { rows, afterOffset, throughOffset } = keep;
  columns.rejected = columns.rejected.filter(
    ({ offset }) =>
      offset === undefined ||
      ((afterOffset === undefined || offset > afterOffset) &&
        (throughOffset === undefined || offset <= throughOffset)),
  );
  if (rows !== 'all') keepRows(columns, rows);
}

function keepRows(columns: MessageColumns, rows: Uint32Array): void {
  keepWords(columns.offset, rows, 2);
  keepWords(columns.table, rows, 1);
  keepWords(columns.source, rows, 1);
  keepWords(columns.kind, rows, 1);
  keepWords(columns.device, rows, 4);
  keepWords(columns.deviceValid, rows, 1);
  keepWords(columns.eventTime, rows, 2);
  keepWords(columns.storeTime, rows, 2);
  keepWords(columns.messageId, rows, 2);
  keepWords(columns.messageIdValid, rows, 1);
  keepFields(columns, rows);
  columns.other = new Map(
    Array.from(rows, (from, to) => [to, columns.other.get(from)] as const).filter(
      (entry): entry is readonly [number, string] => entry[1] !== undefined,
    ),
  );
  columns.count = rows.length;
}

function keepWords(
  column: Uint32Array | Int32Array | Uint8Array,
  rows: Uint32Array,
  wordsPerRow: number,
): void {
  // The values are copied first, because rows may also change places.
  const before = column.slice(0, (maximum(rows) + 1) * wordsPerRow);
  for (const [to, from] of rows.entries()) {
    for (let word = 0; word < wordsPerRow; word++) {
      column[to * wordsPerRow + word] = before[from * wordsPerRow + word]!;
    }
  }
}

function keepFields(columns: MessageColumns, rows: Uint32Array): void {
  const starts = columns.fieldStart.slice(0, columns.count + 1);
  const ids = columns.fieldId.slice(0, starts[columns.count]!);
  const numbers = columns.number.slice(0, starts[columns.count]!);
  let at = starts[0]!;
  for (const [to, from] of rows.entries()) {
    columns.fieldStart[to] = at;
    for (let field = starts[from]!; field < starts[from + 1]!; field++, at++) {
      columns.fieldId[at] = ids[field]!;
      columns.number[at] = numbers[field]!;
    }
  }
  columns.fieldStart[rows.length] = at;
}

function maximum(rows: Uint32Array): number {
  let highest = -1;
  for (const row of rows) if (row > highest) highest = row;
  return highest;
}
