import { createColumns, reserveFields, reserveMessage } from '../../src/decode/columns-buffer.ts';
import { readDevice } from '../../src/decode/device-words.ts';
import type { MessageColumns, RejectedMessage } from '../../src/decode/message-columns.ts';
import type { LandInput } from '../../src/warehouse/plan-landing.ts';

export const NOW_MS = Date.UTC(2026, 10, 20, 12);

/** A message as a test writes it. */
export interface PlainMessage {
  offset: bigint;
  table?: number;
  source?: number;
  kind?: number;
  device?: string;
  eventTimeMs?: bigint;
  storeTimeMs?: bigint;
  messageId?: bigint;
  fields?: ReadonlyArray<readonly [fieldId: number, value: number]>;
  other?: string;
}

/** Columns filled one message after another, as slowly and plainly as can be. */
export function columnsOf(
  messages: readonly PlainMessage[],
  rejected: RejectedMessage[] = [],
): MessageColumns {
  const columns = createColumns(16);
  for (const message of messages) {
    reserveMessage(columns);
    const row = columns.count;
    const fields = message.fields ?? [];
    const first = columns.fieldStart[row]!;
    reserveFields(columns, first + fields.length);
    putWords(columns.offset, row, message.offset);
    columns.table[row] = message.table ?? 0;
    columns.source[row] = message.source ?? -1;
    columns.kind[row] = message.kind ?? 0;
    columns.deviceValid[row] = message.device === undefined ? 0 : 1;
    if (
      message.device !== undefined &&
      !readDevice(Buffer.from(message.device), 0, columns.device, row * 4)
    ) {
      throw new Error(`${message.device} is no UUID`);
    }
    putWords(columns.eventTime, row, message.eventTimeMs ?? BigInt(NOW_MS));
    putWords(columns.storeTime, row, message.storeTimeMs ?? BigInt(NOW_MS) + message.offset);
    columns.messageIdValid[row] = message.messageId === undefined ? 0 : 1;
    putWords(columns.messageId, row, message.messageId ?? 0n);
    for (const [index, [fieldId, value]] of fields.entries()) {
      columns.fieldId[first + index] = fieldId;
      columns.number[first + index] = value;
    }
    columns.fieldStart[row + 1] = first + fields.length;
    if (message.other !== undefined) columns.other.set(row, message.other);
    columns.count++;
  }
  columns.rejected = rejected;
  return columns;
}

function putWords(words: Uint32Array, row: number, value: bigint): void {
  words[row * 2] = Number(BigInt.asUintN(32, value));
  words[row * 2 + 1] = Number(BigInt.asUintN(32, value >> 32n));
}

/** Messages with the offsets from `first` up, each with one field that has its offset. */
export function messagesFrom(first: number | bigint, count: number): PlainMessage[] {
  return Array.from({ length: count }, (_, index) => ({
    offset: BigInt(first) + BigInt(index),
    fields: [[1, Number(first) + index]],
  }));
}

/** A batch of consecutive offsets, read from where it begins. */
export function batchOf(first: number, count: number, more: Partial<LandInput> = {}): LandInput {
  return {
    origin: 'stream',
    columns: columnsOf(messagesFrom(first, count)),
    fromOffset: BigInt(first),
    nextOffset: BigInt(first + count),
    logEpoch: 'log-1',
    ...more,
  };
}
