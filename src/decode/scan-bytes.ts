import { isAscii, isText } from '../cbor/check-cbor.ts';
import { limits } from '../contract/wire-limits.ts';
import { NONE } from './member-keys.ts';
import { addName, findName, isNameAt, type NameCache } from './name-cache.ts';

/**
 * Bytes that are being read item by item. Every read takes where an item stands and returns where it ends, or -1
 * where it is not what was asked for; what it read is left in the scan. Nothing is ever read past the end.
 */
export interface Scan {
  bytes: Uint8Array;
  view: DataView;
  /** The integer read last, low word first. */
  words: Uint32Array;
  /** The slot of the name read last. */
  slot: number;
}

const TWO_POW_32 = 0x1_0000_0000;

export function createScan(): Scan {
  const bytes = new Uint8Array(0);
  return { bytes, view: new DataView(bytes.buffer), words: new Uint32Array(2), slot: 0 };
}

/** An unsigned integer of any width. */
export function scanUint(scan: Scan, at: number): number {
  const { bytes, view, words } = scan;
  const head = bytes[at]!;
  const end = bytes.length;
  if (head === 0x1b && at + 9 <= end) {
    words[1] = view.getUint32(at + 1);
    words[0] = view.getUint32(at + 5);
    return at + 9;
  }
  words[1] = 0;
  if (head < 0x18) {
    words[0] = head;
    return at + 1;
  }
  if (head === 0x1a && at + 5 <= end) {
    words[0] = view.getUint32(at + 1);
    return at + 5;
  }
  if (head === 0x19 && at + 3 <= end) {
    words[0] = view.getUint16(at + 1);
    return at + 3;
  }
  if (head === 0x18 && at + 2 <= end) {
    words[0] = bytes[at + 1]!;
    return at + 2;
  }
  return NONE;
}

/** An instant as an integer, or as the float in which some encoders write integers beyond 2^32. */
export function scanInstant(scan: Scan, at: number): number {
  const { words } = scan;
  if (scan.bytes[at] === 0xfb && at + 9 <= scan.bytes.length) {
    const ms = scan.view.getFloat64(at + 1);
    if (!(ms >= 0 && ms <= limits.instantMsMax) || Math.floor(ms) !== ms) return NONE;
    words[1] = Math.floor(ms / TWO_POW_32);
    words[0] = ms % TWO_POW_32;
    return at + 9;
  }
  const end = scanUint(scan, at);
  return end >= 0 && words[1]! * TWO_POW_32 + words[0]! <= limits.instantMsMax ? end : NONE;
}

/** A name of fewer than 256 bytes, as a slot of its cache; most often it is the one that was expected. */
export function scanName(scan: Scan, at: number, names: ScannedNames, expected: number): number {
  const { bytes } = scan;
  const head = bytes[at]!;
  let start = at + 1;
  let length = head & 31;
  if (head === 0x78) length = bytes[start++]!;
  else if (head < 0x61 || head > 0x77) return NONE;
  const end = start + length;
  if (length === 0 || end > bytes.length) return NONE;
  if (isNameAt(names.cache, expected, bytes, start, end)) {
    scan.slot = expected;
    return end;
  }
  let slot = findName(names.cache, bytes, start, end);
  if (slot < 0) slot = learn(scan, names, start, end);
  scan.slot = slot;
  return slot < 0 ? NONE : end;
}

/** Names of one kind: what has been seen of them, which are valid, and where a new one gets its id. */
export interface ScannedNames {
  cache: NameCache;
  isValid: (name: string) => boolean;
  idOf: (name: string) => number;
}

function learn(scan: Scan, names: ScannedNames, start: number, end: number): number {
  if (!isText(scan.bytes, start, end)) return NONE;
  const name = textAt(scan, start, end);
  return names.isValid(name)
    ? addName(names.cache, scan.bytes, start, end, { id: names.idOf(name), name })
    : NONE;
}

/** The text in bytes that are known to be UTF-8. */
export function textAt(scan: Scan, start: number, end: number): string {
  const { buffer, byteOffset } = scan.bytes;
  const encoding = isAscii(scan.bytes, start, end) ? 'latin1' : 'utf8';
  return Buffer.from(buffer, byteOffset + start, end - start).toString(encoding);
}
