import { isText } from '../cbor/check-cbor.ts';
import { halfFloat } from '../cbor/decode-item.ts';
import { reserveFields } from './columns-buffer.ts';
import { NONE } from './member-keys.ts';
import type { MessageColumns } from './message-columns.ts';
import { withMember } from './messages-to-columns.ts';
import { type Scan, type ScannedNames, scanName, scanUint, textAt } from './scan-bytes.ts';

/** What is known of fields from one message to the next, and what became of the one read last. */
export interface FieldScan {
  names: ScannedNames;
  /** By the slot of a field, plus one: the slot of the field that came after it last time. It mostly does again. */
  following: Int32Array;
  /** By the slot of a field: the message it was last seen in, because a field that comes twice is an error. */
  seenIn: Uint32Array;
  message: number;
  /** The value read last, where it is for the numeric list. */
  value: number;
  numeric: boolean;
  /** JSON members of the fields of this message that are not. */
  other: string;
}

const TWO_POW_32 = 0x1_0000_0000;
/** The upper word of 2^53 - 1. */
const SAFE_HIGH_MAX = 0x1f_ffff;

export function createFieldScan(names: ScannedNames): FieldScan {
  return {
    names,
    following: new Int32Array(128),
    seenIn: new Uint32Array(128),
    message: 0,
    value: 0,
    numeric: false,
    other: '',
  };
}

/** Begins a new message. */
export function beginFields(fields: FieldScan): void {
  fields.other = '';
  if (++fields.message <= 0xffff_ffff) return;
  fields.message = 1;
  fields.seenIn.fill(0);
}

/** Reads the map of fields at `start` into the numeric lists of message `index`. @returns its end, or -1 */
export function scanFields(
  scan: Scan,
  fields: FieldScan,
  start: number,
  columns: MessageColumns,
  index: number,
): number {
  const { bytes, view } = scan;
  const head = bytes[start]!;
  let at = start + 1;
  let left = head & 31;
  if (head === 0xb8) left = bytes[at++]!;
  else if (head === 0xb9 && at + 2 <= bytes.length) {
    left = view.getUint16(at);
    at += 2;
  } else if (head < 0xa0 || head > 0xb7) return NONE;
  if (left * 2 > bytes.length - at) return NONE;
  let fieldCount = columns.fieldStart[index]!;
  reserveFields(columns, fieldCount + left);
  const { fieldId, number } = columns;
  const { names, message } = fields;
  let { following, seenIn } = fields;
  let previous = -1;
  for (; left > 0; left--) {
    at = scanName(scan, at, names, following[previous + 1]!);
    if (at < 0 || at >= bytes.length) return NONE;
    const { slot } = scan;
    if (slot + 1 >= following.length) {
      growFields(fields, slot + 2);
      ({ following, seenIn } = fields);
    }
    if (seenIn[slot] === message) return NONE;
    seenIn[slot] = message;
    following[previous + 1] = slot;
    previous = slot;
    const type = bytes[at]!;
    if (type === 0xfb) {
      if (at + 9 > bytes.length) return NONE;
      number[fieldCount] = view.getFloat64(at + 1);
      at += 9;
    } else if (type < 0x1b) {
      at = scanUint(scan, at);
      number[fieldCount] = scan.words[0]!;
    } else if (type === 0xfa) {
      if (at + 5 > bytes.length) return NONE;
      number[fieldCount] = view.getFloat32(at + 1);
      at += 5;
    } else {
      at = scanRarer(scan, fields, at);
      if (at < 0) return NONE;
      if (!fields.numeric) continue;
      number[fieldCount] = fields.value;
    }
    if (at < 0) return NONE;
    fieldId[fieldCount++] = names.cache.ids[slot]!;
  }
  columns.fieldStart[index + 1] = fieldCount;
  return at;
}

/** The rarer values: negative and large integers and half floats are numbers, the rest goes to `other`. */
function scanRarer(scan: Scan, fields: FieldScan, at: number): number {
  const { bytes, view } = scan;
  const type = bytes[at]!;
  if (type === 0x1b) {
    const end = scanUint(scan, at);
    if (end < 0) return NONE;
    if (scan.words[1]! > SAFE_HIGH_MAX) keep(scan, fields, String(view.getBigUint64(at + 1)));
    else setNumber(fields, scan.words[1]! * TWO_POW_32 + scan.words[0]!);
    return end;
  }
  if (type >= 0x20 && type < 0x3c) return scanNegative(scan, fields, at);
  if (type === 0xf9 && at + 3 <= bytes.length) {
    setNumber(fields, halfFloat(view.getUint16(at + 1)));
    return at + 3;
  }
  if (type >= 0xf4 && type <= 0xf7) {
    keep(scan, fields, type > 0xf5 ? 'null' : String(type === 0xf5));
    return at + 1;
  }
  return type >= 0x60 && type < 0x7a ? scanText(scan, fields, at) : NONE;
}

function scanNegative(scan: Scan, fields: FieldScan, at: number): number {
  const { bytes, view } = scan;
  const info = bytes[at]! & 31;
  const end = at + (info < 24 ? 1 : 1 + (1 << (info - 24)));
  if (end > bytes.length) return NONE;
  if (info < 24) setNumber(fields, -1 - info);
  else if (info === 24) setNumber(fields, -1 - bytes[at + 1]!);
  else if (info === 25) setNumber(fields, -1 - view.getUint16(at + 1));
  else if (info === 26) setNumber(fields, -1 - view.getUint32(at + 1));
  else {
    const magnitude = view.getUint32(at + 1) * TWO_POW_32 + view.getUint32(at + 5);
    if (magnitude < Number.MAX_SAFE_INTEGER) setNumber(fields, -1 - magnitude);
    else keep(scan, fields, String(-1n - view.getBigUint64(at + 1)));
  }
  return end;
}

function scanText(scan: Scan, fields: FieldScan, at: number): number {
  const { bytes, view } = scan;
  let length = bytes[at]! & 31;
  let start = at + 1;
  if (length === 24) length = bytes[start++]!;
  else if (length === 25) {
    if (start + 2 > bytes.length) return NONE;
    length = view.getUint16(start);
    start += 2;
  }
  const end = start + length;
  if (end > bytes.length || !isText(bytes, start, end)) return NONE;
  keep(scan, fields, JSON.stringify(textAt(scan, start, end)));
  return end;
}

function setNumber(fields: FieldScan, value: number): void {
  fields.numeric = true;
  fields.value = value;
}

function keep(scan: Scan, fields: FieldScan, json: string): void {
  fields.numeric = false;
  fields.other = withMember(fields.other, fields.names.cache.names[scan.slot]!, json);
}

function growFields(fields: FieldScan, slots: number): void {
  const length = Math.max(slots, fields.following.length * 2);
  const following = new Int32Array(length);
  following.set(fields.following);
  fields.following = following;
  const seenIn = new Uint32Array(length);
  seenIn.set(fields.seenIn);
  fields.seenIn = seenIn;
}
