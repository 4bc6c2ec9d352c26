import type { MessageColumns } from './message-columns.ts';

const FIELDS_PER_MESSAGE_EXPECTED = 10;

/** Creates empty columns with room for `messages` messages. They grow by doubling. */
export function createColumns(messages = 1024): MessageColumns {
  const fields = messages * FIELDS_PER_MESSAGE_EXPECTED;
  return {
    count: 0,
    offset: new Uint32Array(messages * 2),
    table: new Int32Array(messages),
    source: new Int32Array(messages),
    kind: new Uint8Array(messages),
    device: new Uint32Array(messages * 4),
    deviceValid: new Uint8Array(messages),
    eventTime: new Uint32Array(messages * 2),
    storeTime: new Uint32Array(messages * 2),
    messageId: new Uint32Array(messages * 2),
    messageIdValid: new Uint8Array(messages),
    fieldStart: new Uint32Array(messages + 1),
    fieldId: new Int32Array(fields),
    number: new Float64Array(fields),
    other: new Map(),
    rejected: [],
  };
}

/** Empties the columns and keeps their buffers. */
export function clearColumns(columns: MessageColumns): void {
  columns.count = 0;
  columns.fieldStart[0] = 0;
  columns.other = new Map();
  columns.rejected = [];
}

/** Makes room for one more message. */
export function reserveMessage(columns: MessageColumns): void {
  if (columns.count < columns.table.length) return;
  columns.offset = doubled(columns.offset);
  columns.table = doubled(columns.table);
  columns.source = doubled(columns.source);
  columns.kind = doubled(columns.kind);
  columns.device = doubled(columns.device);
  columns.deviceValid = doubled(columns.deviceValid);
  columns.eventTime = doubled(columns.eventTime);
  columns.storeTime = doubled(columns.storeTime);
  columns.messageId = doubled(columns.messageId);
  columns.messageIdValid = doubled(columns.messageIdValid);
  columns.fieldStart = doubled(columns.fieldStart, columns.table.length + 1);
}

/** Makes room for `fields` numeric fields in total. */
export function reserveFields(columns: MessageColumns, fields: number): void {
  const room = columns.fieldId.length;
  if (fields <= room) return;
  columns.fieldId = doubled(columns.fieldId, Math.max(fields, room * 2));
  columns.number = doubled(columns.number, Math.max(fields, room * 2));
}

type TypedColumn = Uint8Array | Uint32Array | Int32Array | Float64Array;

function doubled<Column extends TypedColumn>(column: Column, length = column.length * 2): Column {
  const larger = new (column.constructor as new (length: number) => Column)(length);
  larger.set(column);
  return larger;
}

/**
 * One past the highest offset of a batch, rejected messages included. A client reads on from here if the
 * answer names no next position. Undefined if no message has an offset.
 */
export function offsetAfter(columns: MessageColumns): bigint | undefined {
  let high = -1;
  let low = 0;
  for (let index = 0; index < columns.count; index++) {
    const lowWord = columns.offset[index * 2]!;
    const highWord = columns.offset[index * 2 + 1]!;
    if (highWord > high || (highWord === high && lowWord > low)) {
      high = highWord;
      low = lowWord;
    }
  }
  let last = high < 0 ? undefined : (BigInt(high) << 32n) | BigInt(low);
  for (const { offset } of columns.rejected) {
    if (offset !== undefined && (last === undefined || offset > last)) last = offset;
  }
  return last === undefined ? undefined : last + 1n;
}
