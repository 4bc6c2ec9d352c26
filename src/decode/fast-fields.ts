import {
  cborInitial,
  cborMajor,
  floatAt,
  headArgument,
  headBigint,
  headLength,
  majorOf,
} from '../cbor/cbor-head.ts';
import { isText } from '../cbor/check-cbor.ts';
import { withMember } from './append-message.ts';
import { reserveFields } from './columns-buffer.ts';
import { NONE } from './member-keys.ts';
import type { MessageColumns } from './message-columns.ts';
import { type Scan, type ScannedNames, scanName, scanUint, textAt } from './scan-bytes.ts';

/** State of the field reader from one message to the next. */
export interface FieldScan {
  names: ScannedNames;
  /** At index slot + 1: the slot of the field that followed last time. It usually follows again. */
  following: Int32Array;
  /** At index slot: the last message with this field. A field that comes twice in one message is an error. */
  seenIn: Uint32Array;
  message: number;
  /** The value that was read last, if it is numeric. */
  value: number;
  numeric: boolean;
  /** The fields of this message that are not numeric, as JSON members. */
  other: string;
}

const { uint64: UINT64, float32: FLOAT32, float64: FLOAT64 } = cborInitial;
const MAP_OF_TWO_BYTE_COUNT = cborMajor.map | 25;
const TEXT_OF_TWO_BYTE_LENGTH = cborMajor.text | 25;

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

export function beginFields(fields: FieldScan): void {
  fields.other = '';
  if (++fields.message <= 0xffff_ffff) return;
  fields.message = 1;
  fields.seenIn.fill(0);
}

/** Reads the map of fields at `start` into the numeric lists of message `index`. Returns its end, or -1. */
export function scanFields(
  scan: Scan,
  fields: FieldScan,
  start: number,
  columns: MessageColumns,
  index: number,
): number {
  const { bytes, view } = scan;
  let left = mapCountAt(scan, start);
  if (left < 0) return NONE;
  let at = start + headLength(bytes[start]!);
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
    const initial = bytes[at]!;
    if (initial === FLOAT64) {
      if (at + 9 > bytes.length) return NONE;
      number[fieldCount] = view.getFloat64(at + 1);
      at += 9;
    } else if (initial < UINT64) {
      at = scanUint(scan, at);
      number[fieldCount] = scan.words[0]!;
    } else if (initial === FLOAT32) {
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

/**
 * The members of the map at `at`, or -1 if it is not a map, is of indefinite length or has more than 65,535
 * members.
 */
export function mapCountAt({ bytes, view }: Scan, at: number): number {
  const initial = bytes[at]!;
  if (majorOf(initial) !== cborMajor.map || initial > MAP_OF_TWO_BYTE_COUNT) return NONE;
  return at + headLength(initial) > bytes.length ? NONE : headArgument(view, at);
}

/**
 * Reads the rarer values. Other numbers are numeric; text, booleans, null and integers beyond 2^53 go to
 * `other`.
 */
function scanRarer(scan: Scan, fields: FieldScan, at: number): number {
  const { bytes, view } = scan;
  const initial = bytes[at]!;
  const content = at + headLength(initial);
  if (content > bytes.length) return NONE;
  switch (majorOf(initial)) {
    case cborMajor.uint:
    case cborMajor.negative:
      return (initial & 31) > 27 ? NONE : scanInteger(scan, fields, at, content);
    case cborMajor.text:
      return initial > TEXT_OF_TWO_BYTE_LENGTH ? NONE : scanText(scan, fields, at, content);
    default:
      break;
  }
  switch (initial) {
    case cborInitial.float16:
      setNumber(fields, floatAt(view, at));
      return content;
    case cborInitial.false:
    case cborInitial.true:
      keepOther(scan, fields, String(initial === cborInitial.true));
      return content;
    case cborInitial.null:
    case cborInitial.undefined:
      keepOther(scan, fields, 'null');
      return content;
    default:
      return NONE;
  }
}

function scanInteger(scan: Scan, fields: FieldScan, at: number, end: number): number {
  const { bytes, view } = scan;
  const argument = headArgument(view, at);
  const isNegative = majorOf(bytes[at]!) === cborMajor.negative;
  if (isNegative ? argument < Number.MAX_SAFE_INTEGER : argument <= Number.MAX_SAFE_INTEGER)
    setNumber(fields, isNegative ? -1 - argument : argument);
  else {
    const exact = headBigint(view, at);
    keepOther(scan, fields, String(isNegative ? -1n - exact : exact));
  }
  return end;
}

function scanText(scan: Scan, fields: FieldScan, at: number, start: number): number {
  const { bytes, view } = scan;
  const end = start + headArgument(view, at);
  if (end > bytes.length || !isText(bytes, start, end)) return NONE;
  keepOther(scan, fields, JSON.stringify(textAt(scan, start, end)));
  return end;
}

function setNumber(fields: FieldScan, value: number): void {
  fields.numeric = true;
  fields.value = value;
}

function keepOther(scan: Scan, fields: FieldScan, json: string): void {
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
