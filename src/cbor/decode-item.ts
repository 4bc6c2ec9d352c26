import { BREAK, type CborBytes, headLength, headValue, isAscii } from './check-cbor.ts';
import { MalformedError } from './malformed-error.ts';

/** Decodes the item at `at`, which `checkItem` must have passed. */
export function decodeCheckedItem(source: CborBytes, at: number): unknown {
  return decodeItem(cursorAt(source, at));
}

/** A place in bytes that have been checked. Keys repeat from map to map, so their text is kept. */
export interface Cursor {
  source: CborBytes;
  buffer: Buffer;
  at: number;
  keys: Array<string | undefined>;
}

const KEY_SLOTS = 256;
const KEY_BYTES_MAX = 40;

export function cursorAt(source: CborBytes, at: number): Cursor {
  const { bytes } = source;
  return { source, buffer: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), at, keys: [] };
}

/** Decodes the next item and moves past it. */
export function decodeItem(cursor: Cursor): unknown {
  const { source } = cursor;
  const start = cursor.at;
  const initial = source.bytes[start]!;
  const value = headValue(source, start);
  cursor.at = start + headLength(initial);
  switch (initial >> 5) {
    case 0:
      return value <= Number.MAX_SAFE_INTEGER ? value : source.view.getBigUint64(start + 1);
    case 1:
      return value < Number.MAX_SAFE_INTEGER ? -1 - value : -1n - source.view.getBigUint64(start + 1);
    case 2:
      return decodeBytes(cursor, value);
    case 3:
      return decodeText(cursor, value);
    case 4:
      return decodeArray(cursor, value);
    case 5:
      return decodeMap(cursor, value);
    case 6:
      return decodeTagged(cursor, value, start);
    default:
      return decodeSimple(source, initial, start);
  }
}

function decodeBytes(cursor: Cursor, length: number): Uint8Array {
  if (length >= 0) {
    cursor.at += length;
    return cursor.source.bytes.slice(cursor.at - length, cursor.at);
  }
  const parts: Uint8Array[] = [];
  while (!atBreak(cursor)) parts.push(decodeItem(cursor) as Uint8Array);
  return new Uint8Array(Buffer.concat(parts));
}

function decodeText(cursor: Cursor, length: number): string {
  if (length >= 0) {
    const start = cursor.at;
    cursor.at += length;
    return textOf(cursor, start, cursor.at);
  }
  let text = '';
  while (!atBreak(cursor)) text += decodeItem(cursor) as string;
  return text;
}

function textOf(cursor: Cursor, start: number, end: number): string {
  // Latin-1 is the quicker way to ASCII.
  return cursor.buffer.toString(isAscii(cursor.source.bytes, start, end) ? 'latin1' : 'utf8', start, end);
}

function decodeArray(cursor: Cursor, count: number): unknown[] {
  const items: unknown[] = [];
  for (let index = 0; count < 0 ? !atBreak(cursor) : index < count; index++) items.push(decodeItem(cursor));
  return items;
}

function decodeMap(cursor: Cursor, count: number): Record<string, unknown> {
  const map: Record<string, unknown> = {};
  for (let index = 0; count < 0 ? !atBreak(cursor) : index < count; index++) {
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
  const { source, keys } = cursor;
  const { bytes } = source;
  const length = headValue(source, cursor.at);
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

/** Whether ASCII text is what these bytes say. */
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
  throw new MalformedError(`tag ${tag} around something it cannot mean`, start);
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

function decodeSimple(source: CborBytes, initial: number, start: number): unknown {
  if (initial === 0xf9) return halfFloat(source.view.getUint16(start + 1));
  if (initial === 0xfa) return source.view.getFloat32(start + 1);
  if (initial === 0xfb) return source.view.getFloat64(start + 1);
  if (initial === 0xf6) return null;
  return initial === 0xf7 ? undefined : initial === 0xf5;
}

/** The number in 16 bits of IEEE 754, after RFC 8949 appendix D. */
export function halfFloat(bits: number): number {
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (fraction + 1024) * 2 ** (exponent - 25);
}

function atBreak(cursor: Cursor): boolean {
  if (cursor.source.bytes[cursor.at] !== BREAK) return false;
  cursor.at++;
  return true;
}
