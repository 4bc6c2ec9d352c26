import { cborInitial, headLength } from '../cbor/cbor-head.ts';
import { reserveMessage } from './columns-buffer.ts';
import { DEVICE_TEXT_BYTES, readDevice } from './device-words.ts';
import { beginFields, createFieldScan, type FieldScan, mapCountAt, scanFields } from './fast-fields.ts';
import { KEY_BYTES_MAX, member, memberKeyAt, NONE } from './member-keys.ts';
import { type MessageColumns, messageKinds, type NameTable } from './message-columns.ts';
import { createNameCache } from './name-cache.ts';
import { isFieldName, isName, isTableName } from './parse-values.ts';
import { createScan, type Scan, type ScannedNames, scanInstant, scanName, scanUint } from './scan-bytes.ts';

/**
 * Reads telemetry of our own server from bytes into columns and builds no objects. A library would build an
 * object for each message, which takes longer than all of this. Members may come in any order, each once,
 * with integers and floats of any width. For all other messages it returns -1 and leaves
 * the columns unchanged; the message decoder then reads the message by `parseMessage`.
 */
export interface FastReader {
  scan: Scan;
  columns: MessageColumns;
  tables: ScannedNames;
  sources: ScannedNames;
  fields: FieldScan;
  /** The slots that were used last. They are usually used again. */
  tableSlot: number;
  sourceSlot: number;
}

const REQUIRED =
  member.offset |
  member.table |
  member.kind |
  member.device |
  member.eventTime |
  member.storeTime |
  member.data;
const MEMBERS_MAX = 9;
const TELEMETRY = messageKinds.indexOf('telemetry');
/** The text "telemetry" as CBOR: its initial byte and its nine characters, in numbers of 4, 4 and 2 bytes. */
const TELEMETRY_BYTES = 10;
const TELEMETRY_WORDS = [0x69_74_65_6c, 0x65_6d_65_74, 0x72_79] as const;
/** The upper word of 2^53 - 1. */
const SAFE_HIGH_MAX = 0x1f_ffff;

export function createFastReader(names: NameTable, columns: MessageColumns): FastReader {
  const named = (isValid: (name: string) => boolean): ScannedNames => ({
    cache: createNameCache(),
    isValid: (name) => isValid(name) && names.takes(name),
    idOf: (name) => names.idOf(name),
  });
  return {
    scan: createScan(),
    columns,
    tables: {
      cache: createNameCache(),
      isValid: (name) => isTableName(name) && names.takesTable(name),
      idOf: (name) => names.tableIdOf(name),
    },
    sources: named(isName),
    fields: createFieldScan(named(isFieldName)),
    tableSlot: 0,
    sourceSlot: 0,
  };
}

export function beginBody(reader: FastReader, bytes: Uint8Array): void {
  reader.scan.bytes = bytes;
  reader.scan.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Appends the message at `start`. Returns its end, or -1 if the message needs the slower reader. */
export function readMessage(reader: FastReader, start: number): number {
  const { columns, scan, fields } = reader;
  const { bytes, view } = scan;
  let left = mapCountAt(scan, start);
  if (left < 0 || left > MEMBERS_MAX) return NONE;
  let at = start + headLength(bytes[start]!);
  reserveMessage(columns);
  const index = columns.count;
  columns.source[index] = -1;
  columns.messageIdValid[index] = 0;
  beginFields(fields);
  let seen = 0;
  for (; left > 0; left--) {
    if (at + KEY_BYTES_MAX > bytes.length) return NONE;
    const which = memberKeyAt(view, at);
    if (which < 0 || (seen & which) !== 0) return NONE;
    seen |= which;
    at = readMember(reader, which, index, at + 1 + (bytes[at]! & 31));
    if (at < 0) return NONE;
  }
  if ((seen & REQUIRED) !== REQUIRED) return NONE;
  columns.kind[index] = TELEMETRY;
  columns.deviceValid[index] = 1;
  if (fields.other !== '') columns.other.set(index, `{${fields.other}}`);
  columns.count = index + 1;
  return at;
}

/** Reads the value of one member. Returns its end, or -1. */
function readMember(reader: FastReader, which: number, index: number, at: number): number {
  const { scan, columns, tables, sources } = reader;
  const { bytes } = scan;
  let end: number;
  switch (which) {
    case member.offset:
      end = scanUint(scan, at);
      setPair(columns.offset, index, scan.words);
      return end;
    case member.table:
      end = scanName(scan, at, tables, reader.tableSlot);
      if (end < 0) return NONE;
      reader.tableSlot = scan.slot;
      columns.table[index] = tables.cache.ids[scan.slot]!;
      return end;
    case member.kind:
      return isTelemetry(scan, at) ? at + TELEMETRY_BYTES : NONE;
    case member.device:
      return bytes[at] === cborInitial.text8 &&
        bytes[at + 1] === DEVICE_TEXT_BYTES &&
        readDevice(bytes, at + 2, columns.device, index * 4)
        ? at + 2 + DEVICE_TEXT_BYTES
        : NONE;
    case member.source:
      if (bytes[at] === cborInitial.null) return at + 1;
      end = scanName(scan, at, sources, reader.sourceSlot);
      if (end < 0) return NONE;
      reader.sourceSlot = scan.slot;
      columns.source[index] = sources.cache.ids[scan.slot]!;
      return end;
    case member.eventTime:
      end = scanInstant(scan, at);
      setPair(columns.eventTime, index, scan.words);
      return end;
    case member.storeTime:
      end = scanInstant(scan, at);
      setPair(columns.storeTime, index, scan.words);
      return end;
    case member.messageId:
      end = scanUint(scan, at);
      setPair(columns.messageId, index, scan.words);
      columns.messageIdValid[index] = 1;
      return scan.words[1]! > SAFE_HIGH_MAX ? NONE : end;
    default:
      return scanFields(scan, reader.fields, at, columns, index);
  }
}

/** True if the text at `at` is "telemetry". */
function isTelemetry({ bytes, view }: Scan, at: number): boolean {
  return (
    at + TELEMETRY_BYTES <= bytes.length &&
    view.getUint32(at) === TELEMETRY_WORDS[0] &&
    view.getUint32(at + 4) === TELEMETRY_WORDS[1] &&
    view.getUint16(at + 8) === TELEMETRY_WORDS[2]
  );
}

function setPair(column: Uint32Array, index: number, words: Uint32Array): void {
  column[index * 2] = words[0]!;
  column[index * 2 + 1] = words[1]!;
}
