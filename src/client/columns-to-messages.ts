import type { FieldValue, StreamMessage } from '../contract/messages.ts';
import { deviceText } from '../decode/device-words.ts';
import {
  instantAt,
  type MessageColumns,
  messageKinds,
  type NameTable,
  offsetAt,
} from '../decode/message-columns.ts';
import { EXTRA_MEMBER } from '../decode/parse-message.ts';
import { parseJsonExact } from '../lib/json-text.ts';

/**
 * The messages of a batch as objects of the contract. Members that the contract does not name are left out.
 * All fields of the data are kept.
 */
export function columnsToMessages(columns: MessageColumns, names: NameTable): StreamMessage[] {
  return Array.from({ length: columns.count }, (_, row) => messageAt(columns, names, row));
}

function messageAt(columns: MessageColumns, names: NameTable, row: number): StreamMessage {
  const common = {
    offset: offsetAt(columns, row),
    table: names.nameOf(columns.table[row]!),
    event_time: instantAt(columns.eventTime, row),
    store_time: instantAt(columns.storeTime, row),
  };
  const device = deviceText(columns.device, row * 4);
  const text = columns.other.get(row);
  const members = text === undefined ? {} : (parseJsonExact(text) as Record<string, unknown>);
  const kind = messageKinds[columns.kind[row]!]!;
  switch (kind) {
    case 'telemetry': {
      const source = columns.source[row]!;
      return {
        ...common,
        kind,
        device,
        source: source === -1 ? null : names.nameOf(source),
        ...(columns.messageIdValid[row] === 1 && { msg_id: instantAt(columns.messageId, row) }),
        data: dataAt(columns, names, row, members),
      };
    }
    case 'device_status':
      return {
        ...common,
        kind,
        device,
        state: members.state === 'online' ? 'online' : 'offline',
        ...(typeof members.reason === 'string' && { reason: members.reason }),
      };
    case 'audit':
      return {
        ...common,
        kind,
        actor: String(members.actor),
        action: String(members.action),
        ...(typeof members.target === 'string' && { target: members.target }),
        ...(typeof members.data === 'object' &&
          members.data !== null && { data: members.data as Record<string, FieldValue> }),
      };
    default:
      return kind satisfies never;
  }
}

function dataAt(
  columns: MessageColumns,
  names: NameTable,
  row: number,
  members: Record<string, unknown>,
): Record<string, FieldValue> {
  const data: Record<string, FieldValue> = {};
  for (let field = columns.fieldStart[row]!; field < columns.fieldStart[row + 1]!; field++) {
    setField(data, names.nameOf(columns.fieldId[field]!), columns.number[field]!);
  }
  for (const [name, value] of Object.entries(members)) {
    if (name !== EXTRA_MEMBER) setField(data, name, value as FieldValue);
  }
  return data;
}

/** Sets a field of any name, because an assignment to `__proto__` would set none. */
function setField(data: Record<string, FieldValue>, name: string, value: FieldValue): void {
  if (name !== '__proto__') data[name] = value;
  else Object.defineProperty(data, name, { value, enumerable: true, configurable: true, writable: true });
}
