import { INPUT_REFUSED } from '../contract/messages.ts';
import { jsonText } from '../lib/json-text.ts';
import { reserveFields, reserveMessage } from './columns-buffer.ts';
import { readDevice } from './device-words.ts';
import { type MessageColumns, messageKinds, type NameTable } from './message-columns.ts';
import { TooManyNamesError } from './name-table.ts';
import { type PlainMessage, parseMessage } from './parse-message.ts';
import { EXTRA_MEMBER, isMap } from './parse-values.ts';

/**
 * Appends one decoded message of JSON or CBOR, in any spelling. It is slower than `readMessage` and accepts
 * more. A message that breaks the contract is added to `rejected` with a reason.
 * @param bytes what it was decoded from, which is kept if it is rejected; without them its JSON text is kept
 */
export function appendMessage(
  columns: MessageColumns,
  names: NameTable,
  value: unknown,
  bytes: Uint8Array | undefined,
  defaultTable: string | undefined,
): void {
  const message = parseMessage(value, defaultTable);
  const { offset, reason, detail } =
    message.kind === 'message' ? (refusedByInput(message) ?? tryAppend(columns, names, message)) : message;
  if (reason === undefined) return;
  columns.rejected.push({ offset, reason, detail, bytes: bytes?.slice() ?? Buffer.from(jsonText(value)) });
}

/** The refusal of a payload that an input could not read; undefined for other messages. */
function refusedByInput({ messageKind, offset, members }: PlainMessage) {
  if (messageKind !== 'audit' || members.action !== INPUT_REFUSED) return undefined;
  const { reason } = isMap(members.data) ? members.data : {};
  return { offset, reason: 'input_refused', detail: `${members.target}: ${reason}` };
}

/** Appends a message. Returns a reason if there is no room for its names. */
function tryAppend(
  columns: MessageColumns,
  names: NameTable,
  message: PlainMessage,
): { offset: bigint; reason: string | undefined; detail: string } {
  const { offset } = message;
  try {
    append(columns, names, message);
    return { offset, reason: undefined, detail: '' };
  } catch (error) {
    if (error instanceof TooManyNamesError) return { offset, reason: error.reason, detail: error.message };
    throw error;
  }
}

function append(columns: MessageColumns, names: NameTable, message: PlainMessage): void {
  reserveMessage(columns);
  const index = columns.count;
  columns.offset[index * 2] = Number(message.offset & 0xffff_ffffn);
  columns.offset[index * 2 + 1] = Number(message.offset >> 32n);
  columns.table[index] = names.tableIdOf(message.table);
  columns.source[index] = message.source === undefined ? -1 : names.idOf(message.source);
  columns.kind[index] = messageKinds.indexOf(message.messageKind);
  columns.deviceValid[index] = message.device === undefined ? 0 : 1;
  if (message.device !== undefined) readDevice(Buffer.from(message.device), 0, columns.device, index * 4);
  setWords(columns.eventTime, index, message.eventTimeMs);
  setWords(columns.storeTime, index, message.storeTimeMs);
  setWords(columns.messageId, index, message.messageId ?? 0);
  columns.messageIdValid[index] = message.messageId === undefined ? 0 : 1;
  const other = appendFields(columns, names, message);
  if (other !== '') columns.other.set(index, `{${other}}`);
  columns.count = index + 1;
}

/** Appends the numeric fields. Returns all other fields as members of a JSON text. */
function appendFields(columns: MessageColumns, names: NameTable, message: PlainMessage): string {
  const index = columns.count;
  let fieldCount = columns.fieldStart[index]!;
  let other = '';
  if (message.messageKind === 'telemetry') {
    const fields = Object.entries(message.data);
    reserveFields(columns, fieldCount + fields.length);
    for (const [name, value] of fields) {
      if (typeof value === 'number') {
        columns.fieldId[fieldCount] = names.idOf(name);
        columns.number[fieldCount++] = value;
      } else other = withMember(other, name, jsonText(value));
    }
    if (Object.keys(message.members).length > 0)
      other = withMember(other, EXTRA_MEMBER, jsonText(message.members));
  } else {
    other = jsonText(message.members).slice(1, -1);
  }
  columns.fieldStart[index + 1] = fieldCount;
  return other;
}

/** Adds one member to the members of a JSON object. */
export function withMember(members: string, name: string, json: string): string {
  return `${members}${members === '' ? '' : ','}${JSON.stringify(name)}:${json}`;
}

/** Writes a whole number from 0 to 2^53 as a pair of 32-bit words, the low word first. */
export function setWords(words: Uint32Array, index: number, value: number): void {
  words[index * 2] = value % 0x1_0000_0000;
  words[index * 2 + 1] = Math.floor(value / 0x1_0000_0000);
}
