import { inspect, isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { deviceText } from '../../src/decode/device-words.ts';
import { type MessageColumns, messageKinds, type NameTable } from '../../src/decode/message-columns.ts';
import { parseJsonExact } from '../../src/lib/json-text.ts';

export interface ColumnMessage {
  offset: bigint;
  table: string;
  kind: string;
  device: string | null;
  source: string | null;
  eventTimeMs: number;
  storeTimeMs: number;
  messageId: number | null;
  /** Numeric fields by name, because their order in the message has no meaning. */
  fields: Array<[name: string, value: number]>;
  other: unknown;
}

/** Columns as messages that can be compared, with names instead of ids. */
export function columnMessages(columns: MessageColumns, names: NameTable): ColumnMessage[] {
  return Array.from({ length: columns.count }, (_, index) => {
    const fields: Array<[string, number]> = [];
    for (let field = columns.fieldStart[index]!; field < columns.fieldStart[index + 1]!; field++) {
      fields.push([names.nameOf(columns.fieldId[field]!), columns.number[field]!]);
    }
    const other = columns.other.get(index);
    return {
      offset: (BigInt(columns.offset[index * 2 + 1]!) << 32n) | BigInt(columns.offset[index * 2]!),
      table: names.nameOf(columns.table[index]!),
      kind: messageKinds[columns.kind[index]!]!,
      device: columns.deviceValid[index] ? deviceText(columns.device, index * 4) : null,
      source: columns.source[index] === -1 ? null : names.nameOf(columns.source[index]!),
      eventTimeMs: pair(columns.eventTime, index),
      storeTimeMs: pair(columns.storeTime, index),
      messageId: columns.messageIdValid[index] ? pair(columns.messageId, index) : null,
      fields: fields.sort(([a], [b]) => (a < b ? -1 : 1)),
      other: other === undefined ? undefined : parseJsonExact(other),
    };
  });
}

function pair(words: Uint32Array, index: number): number {
  return words[index * 2 + 1]! * 0x1_0000_0000 + words[index * 2]!;
}

/**
 * Strict equality. It also works for objects with a member "constructor", which toStrictEqual takes for their
 * type.
 */
export function expectSame(actual: unknown, expected: unknown, about = ''): void {
  if (isDeepStrictEqual(actual, expected)) return;
  const text = (value: unknown) => inspect(value, { depth: 20, maxArrayLength: null, sorted: true });
  expect(text(actual), about).toBe(text(expected));
  expect.unreachable(`two values differ that look alike ${about}`);
}
