import { halfFloat } from './codec.ts';
import { type MessageColumns, messageKinds, type NameTable } from './columns.ts';
import { reserveFields, reserveMessage } from './columns-buffer.ts';
import { withMember } from './columns-from.ts';
import { DEVICE_TEXT_BYTES, readDevice } from './device-words.ts';
import { limits } from './limits.ts';
import { isFieldName, isName, isTableName } from './message-from.ts';
import { addName, createNameCache, findName, isNameAt, type NameCache } from './name-cache.ts';
import { isAscii, isText } from './well-formed.ts';

/**
 * Reads telemetry of our own shape from bytes into columns, without an object, and only that: members in any order,
 * each once, integers and floats of any width. At anything else it gives up without a trace, and the slow road decides.
 */
export interface FastReader {
  begin(bytes: Uint8Array): void;
  /** Appends the message at `at`. @returns its end, or -1 where it is not of this shape */
  read(at: number): number;
}

const member = {
  offset: 1,
  table: 2,
  kind: 4,
  device: 8,
  source: 16,
  eventTime: 32,
  storeTime: 64,
  messageId: 128,
  data: 256,
} as const;
const REQUIRED = 1 | 2 | 4 | 8 | 32 | 64 | 256;
const NONE = -1;
const TWO_POW_32 = 0x1_0000_0000;
/** The upper word of 2^53 - 1. */
const SAFE_HIGH_MAX = 0x1f_ffff;
const TELEMETRY = messageKinds.indexOf('telemetry');
/** The longest key of ours with its head. */
const KEY_BYTES_MAX = 11;

/** Whether the text head and key at `at` is one of ours: by its first four characters, then the rest of it. */
function memberAt(view: DataView, at: number): number {
  const head = view.getUint8(at);
  switch (view.getUint32(at + 1)) {
    case 0x6f666673: // offs|et
      return head === 0x66 && view.getUint16(at + 5) === 0x6574 ? member.offset : NONE;
    case 0x7461626c: // tabl|e
      return head === 0x65 && view.getUint8(at + 5) === 0x65 ? member.table : NONE;
    case 0x6b696e64: // kind
      return head === 0x64 ? member.kind : NONE;
    case 0x64657669: // devi|ce
      return head === 0x66 && view.getUint16(at + 5) === 0x6365 ? member.device : NONE;
    case 0x736f7572: // sour|ce
      return head === 0x66 && view.getUint16(at + 5) === 0x6365 ? member.source : NONE;
    case 0x6576656e: // even|t_ti|me
      return head === 0x6a && view.getUint32(at + 5) === 0x745f7469 && view.getUint16(at + 9) === 0x6d65
        ? member.eventTime
        : NONE;
    case 0x73746f72: // stor|e_ti|me
      return head === 0x6a && view.getUint32(at + 5) === 0x655f7469 && view.getUint16(at + 9) === 0x6d65
        ? member.storeTime
        : NONE;
    case 0x6d73675f: // msg_|id
      return head === 0x66 && view.getUint16(at + 5) === 0x6964 ? member.messageId : NONE;
    case 0x64617461: // data
      return head === 0x64 ? member.data : NONE;
    default:
      return NONE;
  }
}

export function createFastReader(names: NameTable, columns: MessageColumns): FastReader {
  const tables = createNameCache();
  const sources = createNameCache();
  const fields = createNameCache();
  let bytes: Uint8Array = new Uint8Array(0);
  let view: DataView = new DataView(bytes.buffer);
  let end = 0;
  /** The words of the integer read last, and the slot of the name read last. */
  let high = 0;
  let low = 0;
  let slot = 0;
  let tableSlot = 0;
  let sourceSlot = 0;
  /** By the slot of a field, plus one: the slot of the field that came after it last time. It mostly does again. */
  let following = new Int32Array(128);
  /** By the slot of a field: the message it was last seen in, because a field that comes twice is an error. */
  let seenIn = new Uint32Array(128);
  let serial = 0;
  let other = '';

  function begin(body: Uint8Array): void {
    bytes = body;
    view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    end = body.length;
    if (serial > 0x7fff_ffff) {
      serial = 0;
      seenIn.fill(0);
    }
  }

  function read(start: number): number {
    let at = start;
    const head = bytes[at++]!;
    let left: number;
    if (head >= 0xa0 && head < 0xb8) left = head & 31;
    else if (head === 0xb8) left = bytes[at++]!;
    else if (head === 0xb9 && at + 2 <= end) {
      left = view.getUint16(at);
      at += 2;
    } else return NONE;
    if (left > 9) return NONE;
    reserveMessage(columns);
    const index = columns.count;
    columns.source[index] = -1;
    columns.messageIdValid[index] = 0;
    other = '';
    let seen = 0;
    for (; left > 0; left--) {
      if (at + KEY_BYTES_MAX > end) return NONE;
      const which = memberAt(view, at);
      if (which < 0 || (seen & which) !== 0) return NONE;
      seen |= which;
      at += 1 + (bytes[at]! & 31);
      at = readMember(which, index, at);
      if (at < 0) return NONE;
    }
    if ((seen & REQUIRED) !== REQUIRED) return NONE;
    columns.kind[index] = TELEMETRY;
    columns.deviceValid[index] = 1;
    if (other !== '') columns.other.set(index, `{${other}}`);
    columns.count = index + 1;
    return at;
  }

  /** Reads one member's value. @returns its end, or -1 */
  function readMember(which: number, index: number, at: number): number {
    switch (which) {
      case member.offset:
        at = readUint(at);
        columns.offset[index * 2] = low;
        columns.offset[index * 2 + 1] = high;
        return at;
      case member.table:
        at = readName(tables, tableSlot, isTableName, at);
        if (at < 0) return NONE;
        tableSlot = slot;
        columns.table[index] = tables.ids[slot]!;
        return at;
      case member.kind: // text(9) "telemetry"
        return at + 10 <= end &&
          bytes[at] === 0x69 &&
          view.getUint32(at + 1) === 0x74656c65 &&
          view.getUint32(at + 5) === 0x6d657472 &&
          bytes[at + 9] === 0x79
          ? at + 10
          : NONE;
      case member.device:
        return bytes[at] === 0x78 &&
          bytes[at + 1] === DEVICE_TEXT_BYTES &&
          readDevice(bytes, at + 2, columns.device, index * 4)
          ? at + 2 + DEVICE_TEXT_BYTES
          : NONE;
      case member.source:
        if (bytes[at] === 0xf6) return at + 1;
        at = readName(sources, sourceSlot, isName, at);
        if (at < 0) return NONE;
        sourceSlot = slot;
        columns.source[index] = sources.ids[slot]!;
        return at;
      case member.eventTime:
        at = readInstant(at);
        columns.eventTime[index * 2] = low;
        columns.eventTime[index * 2 + 1] = high;
        return at;
      case member.storeTime:
        at = readInstant(at);
        columns.storeTime[index * 2] = low;
        columns.storeTime[index * 2 + 1] = high;
        return at;
      case member.messageId:
        at = readUint(at);
        columns.messageId[index * 2] = low;
        columns.messageId[index * 2 + 1] = high;
        columns.messageIdValid[index] = 1;
        return high > SAFE_HIGH_MAX ? NONE : at;
      default:
        return readData(index, at);
    }
  }

  /** An unsigned integer of any width into `high` and `low`. */
  function readUint(at: number): number {
    const head = bytes[at]!;
    if (head === 0x1b && at + 9 <= end) {
      high = view.getUint32(at + 1);
      low = view.getUint32(at + 5);
      return at + 9;
    }
    high = 0;
    if (head < 0x18) {
      low = head;
      return at + 1;
    }
    if (head === 0x1a && at + 5 <= end) {
      low = view.getUint32(at + 1);
      return at + 5;
    }
    if (head === 0x19 && at + 3 <= end) {
      low = view.getUint16(at + 1);
      return at + 3;
    }
    if (head === 0x18 && at + 2 <= end) {
      low = bytes[at + 1]!;
      return at + 2;
    }
    return NONE;
  }

  /** An instant as an integer, or as the float in which some encoders write integers beyond 2^32. */
  function readInstant(at: number): number {
    if (bytes[at] === 0xfb && at + 9 <= end) {
      const ms = view.getFloat64(at + 1);
      if (!(ms >= 0 && ms <= limits.instantMsMax) || Math.floor(ms) !== ms) return NONE;
      high = Math.floor(ms / TWO_POW_32);
      low = ms % TWO_POW_32;
      return at + 9;
    }
    const after = readUint(at);
    return high * TWO_POW_32 + low <= limits.instantMsMax ? after : NONE;
  }

  /** The name at `at`, as a slot of the cache; most often it is the one that was expected. */
  function readName(
    cache: NameCache,
    expected: number,
    isValid: (name: string) => boolean,
    at: number,
  ): number {
    const head = bytes[at]!;
    let start = at + 1;
    let length = head & 31;
    if (head === 0x78) length = bytes[start++]!;
    else if (head < 0x61 || head > 0x77) return NONE;
    const nameEnd = start + length;
    if (length === 0 || nameEnd > end) return NONE;
    if (isNameAt(cache, expected, bytes, start, nameEnd)) {
      slot = expected;
      return nameEnd;
    }
    slot = findName(cache, bytes, start, nameEnd);
    if (slot < 0) slot = learn(cache, isValid, start, nameEnd);
    return slot < 0 ? NONE : nameEnd;
  }

  function learn(
    cache: NameCache,
    isValid: (name: string) => boolean,
    start: number,
    nameEnd: number,
  ): number {
    if (!isText(bytes, start, nameEnd)) return NONE;
    const name = text(start, nameEnd);
    if (!isValid(name)) return NONE;
    return addName(cache, bytes, start, nameEnd, { id: names.idOf(name), name });
  }

  function readData(index: number, start: number): number {
    const head = bytes[start]!;
    let at = start + 1;
    let left = head & 31;
    if (head === 0xb8) left = bytes[at++]!;
    else if (head === 0xb9 && at + 2 <= end) {
      left = view.getUint16(at);
      at += 2;
    } else if (head < 0xa0 || head > 0xb7) return NONE;
    if (left * 2 > end - at) return NONE;
    let fieldCount = columns.fieldStart[index]!;
    reserveFields(columns, fieldCount + left);
    const { fieldId, number } = columns;
    serial++;
    let previous = -1;
    for (; left > 0; left--) {
      at = readName(fields, following[previous + 1]!, isFieldName, at);
      if (at < 0 || at >= end) return NONE;
      while (slot + 1 >= following.length) growFields();
      if (seenIn[slot] === serial) return NONE;
      seenIn[slot] = serial;
      following[previous + 1] = slot;
      previous = slot;
      const type = bytes[at]!;
      if (type === 0xfb) {
        if (at + 9 > end) return NONE;
        number[fieldCount] = view.getFloat64(at + 1);
        at += 9;
      } else if (type < 0x1b) {
        at = readUint(at);
        if (at < 0) return NONE;
        number[fieldCount] = low;
      } else if (type === 0xfa) {
        if (at + 5 > end) return NONE;
        number[fieldCount] = view.getFloat32(at + 1);
        at += 5;
      } else {
        at = readOther(at, fieldCount, number);
        if (at < 0) return NONE;
        if (!numeric) continue;
      }
      fieldId[fieldCount++] = fields.ids[slot]!;
    }
    columns.fieldStart[index + 1] = fieldCount;
    return at;
  }

  /** Whether the value read last by `readOther` is a number of the numeric list. */
  let numeric = false;

  /** The rarer values: negative and large integers and half floats into `number`, what is not numeric into `other`. */
  function readOther(at: number, fieldCount: number, number: Float64Array): number {
    const type = bytes[at]!;
    const name = fields.names[slot]!;
    numeric = true;
    if (type === 0x1b) {
      at = readUint(at);
      if (at < 0) return NONE;
      if (high <= SAFE_HIGH_MAX) number[fieldCount] = high * TWO_POW_32 + low;
      else keep(name, String(view.getBigUint64(at - 8)));
      return at;
    }
    if (type >= 0x20 && type < 0x3c) {
      // The argument of a negative integer is written like an unsigned one.
      const info = type & 31;
      const length = info < 24 ? 0 : 1 << (info - 24);
      if (at + 1 + length > end) return NONE;
      if (info < 24) number[fieldCount] = -1 - info;
      else if (info === 24) number[fieldCount] = -1 - bytes[at + 1]!;
      else if (info === 25) number[fieldCount] = -1 - view.getUint16(at + 1);
      else if (info === 26) number[fieldCount] = -1 - view.getUint32(at + 1);
      else {
        const magnitude = view.getUint32(at + 1) * TWO_POW_32 + view.getUint32(at + 5);
        if (magnitude < Number.MAX_SAFE_INTEGER) number[fieldCount] = -1 - magnitude;
        else keep(name, String(-1n - view.getBigUint64(at + 1)));
      }
      return at + 1 + length;
    }
    if (type === 0xf9) {
      if (at + 3 > end) return NONE;
      number[fieldCount] = halfFloat(view.getUint16(at + 1));
      return at + 3;
    }
    if (type >= 0xf4 && type <= 0xf7) {
      keep(name, type > 0xf5 ? 'null' : String(type === 0xf5));
      return at + 1;
    }
    if (type >= 0x60 && type <= 0x79) return readText(name, at);
    return NONE;
  }

  function readText(name: string, at: number): number {
    const info = bytes[at]! & 31;
    let start = at + 1;
    let length = info;
    if (info === 24) length = bytes[start++]!;
    else if (info === 25) {
      if (start + 2 > end) return NONE;
      length = view.getUint16(start);
      start += 2;
    }
    const textEnd = start + length;
    if (textEnd > end || !isText(bytes, start, textEnd)) return NONE;
    keep(name, JSON.stringify(text(start, textEnd)));
    return textEnd;
  }

  function keep(name: string, json: string): void {
    numeric = false;
    other = withMember(other, name, json);
  }

  function text(start: number, textEnd: number): string {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset + start, textEnd - start);
    return buffer.toString(isAscii(bytes, start, textEnd) ? 'latin1' : 'utf8');
  }

  function growFields(): void {
    const wider = new Int32Array(following.length * 2);
    wider.set(following);
    following = wider;
    const longer = new Uint32Array(wider.length);
    longer.set(seenIn);
    seenIn = longer;
  }

  return { begin, read };
}
