import {
  cborInitial,
  cborMajor,
  floatAt,
  headArgument,
  headBigint,
  headLength,
  INDEFINITE,
  majorOf,
} from './cbor-head.ts';
import { type CborBytes, isAscii } from './check-cbor.ts';
import { MalformedError } from './malformed-error.ts';

/** Decodes the item at `at`. `checkItem` must have accepted it. */
export function decodeCheckedItem(cbor: CborBytes, at: number): unknown {
  return decodeItem(cursorAt(cbor, at));
}

/** A position in checked bytes. */
export interface Cursor {
  cbor: CborBytes;
  buffer: Buffer;
  at: number;
  /** The texts of keys, because keys repeat from map to map. */
  keys: Array<string | undefined>;
}

const KEY_SLOTS = 256;
const KEY_BYTES_MAX = 40;

function cursorAt(cbor: CborBytes, at: number): Cursor {
  const { bytes } = cbor;
  return { cbor, buffer: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), at, keys: [] };
}

/** Decodes the next item and moves the cursor past it. */
function decodeItem(cursor: Cursor): unknown {
  const { bytes, view } = cursor.cbor;
  const start = cursor.at;
  const initial = bytes[start]!;
  const argument = headArgument(view, start);
  cursor.at = start + headLength(initial);
  switch (majorOf(initial)) {
    case cborMajor.uint:
      return argument <= Number.MAX_SAFE_INTEGER ? argument : headBigint(view, start);
    case cborMajor.negative:
      return argument < Number.MAX_SAFE_INTEGER ? -1 - argument : -1n - headBigint(view, start);
    case cborMajor.bytes:
      return decodeBytes(cursor, argument);
    case cborMajor.text:
      return decodeText(cursor, argument);
    case cborMajor.array:
      return decodeArray(cursor, argument);
    case cborMajor.map:
      return decodeMap(cursor, argument);
    case cborMajor.tag:
      return decodeTagged(cursor, argument, start);
    default:
      return decodeSimple(view, start);
  }
}

function decodeBytes(cursor: Cursor, length: number): Uint8Array {
  if (length !== INDEFINITE) {
    cursor.at += length;
    return cursor.cbor.bytes.slice(cursor.at - length, cursor.at);
  }
  const parts: Uint8Array[] = [];
  while (!atBreak(cursor)) parts.push(decodeItem(cursor) as Uint8Array);
  return new Uint8Array(Buffer.concat(parts));
}

function decodeText(cursor: Cursor, length: number): string {
  if (length !== INDEFINITE) {
    const start = cursor.at;
    cursor.at += length;
    return textOf(cursor, start, cursor.at);
  }
  let text = '';
  while (!atBreak(cursor)) text += decodeItem(cursor) as string;
  return text;
}

function textOf(cursor: Cursor, start: number, end: number): string {
  // Node decodes ASCII faster as Latin-1.
  return cursor.buffer.toString(isAscii(cursor.cbor.bytes, start, end) ? 'latin1' : 'utf8', start, end);
}

function decodeArray(cursor: Cursor, count: number): unknown[] {
  const items: unknown[] = [];
  for (let index = 0; count === INDEFINITE ? !atBreak(cursor) : index < count; index++)
    items.push(decodeItem(cursor));
  return items;
}

function decodeMap(cursor: Cursor, count: number): Record<string, unknown> {
  const map: Record<string, unknown> = {};
  for (let index = 0; count === INDEFINITE ? !atBreak(cursor) : index < count; index++) {
    const start = cursor.at;
    const key = decodeKey(cursor);
    if (Object.hasOwn(map, key)) throw new MalformedError('the same key twice in a map', start);
    const value = decodeItem(cursor);
    if (key === '__proto__') {
      Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
    } else map[key] = value;
  }
  return map;
}

function decodeKey(cursor: Cursor): string {
  const { cbor, keys } = cursor;
  const { bytes, view } = cbor;
  const length = headArgument(view, cursor.at);
  if (length < 1 || length > KEY_BYTES_MAX) return decodeItem(cursor) as string;
  const start = cursor.at + headLength(bytes[cursor.at]!);
  const end = start + length;
  const slot =
    (length * 31 + bytes[start]! * 7 + bytes[end - 1]! * 13 + bytes[start + (length >> 1)]!) % KEY_SLOTS;
  const known = keys[slot];
  if (known === undefined || !isSame(known, bytes, start, end)) {
    const key = textOf(cursor, start, end);
    cursor.at = end;
    if (key.length === length) keys[slot] = key;
    return key;
  }
  cursor.at = end;
  return known;
}

/** True if the bytes are this text, which must be ASCII. */
function isSame(text: string, bytes: Uint8Array, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) !== bytes[start + index]) return false;
  }
  return true;
}

function decodeTagged(cursor: Cursor, tag: number, start: number): unknown {
  const value = decodeItem(cursor);
  switch (tag) {
    case 0:
      if (typeof value === 'string') return value;
      break;
    case 1: {
      const instant = typeof value === 'number' ? new Date(Math.round(value * 1000)) : undefined;
      if (instant && !Number.isNaN(instant.getTime())) return instant.toISOString();
      break;
    }
    case 2:
    case 3:
      if (value instanceof Uint8Array && value.length <= 8) return bigInteger(value, tag === 3);
      break;
    case 37:
      if (value instanceof Uint8Array && value.length === 16) return uuidText(value);
      break;
    default:
      return value;
  }
  throw new MalformedError(`tag ${tag} with a value that this tag cannot have`, start);
}

function bigInteger(bytes: Uint8Array, negative: boolean): number | bigint {
  const magnitude = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const value = negative ? -1n - magnitude : magnitude;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function uuidText(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function decodeSimple(view: DataView, start: number): unknown {
  switch (view.getUint8(start)) {
    case cborInitial.false:
      return false;
    case cborInitial.true:
      return true;
    case cborInitial.null:
      return null;
    case cborInitial.undefined:
      return undefined;
    default:
      return floatAt(view, start);
  }
}

function atBreak(cursor: Cursor): boolean {
  if (cursor.cbor.bytes[cursor.at] !== cborInitial.break) return false;
  cursor.at++;
  return true;
}
