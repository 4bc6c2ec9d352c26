import { cborInitial, cborMajor } from './cbor-head.ts';
import { integerRange } from './integer-range.ts';

/**
 * Writes CBOR (RFC 8949) into one buffer that grows. Lengths are definite, and each length and integer has
 * the shortest head. A float has 32 bits if they are exact, otherwise 64 bits; NaN has 16. All CBOR of this
 * project is written here.
 */
export interface CborWriter {
  bytes: Uint8Array;
  view: DataView;
  /** Bytes written so far. */
  length: number;
}

const HEAD_BYTES_MAX = 9;
const TWO_POW_32 = 0x1_0000_0000;
/** For shorter text a loop over the characters is faster than a call of Node's encoder. */
const SHORT_TEXT_CHARACTERS = 64;

export function createWriter(bytesExpected: number): CborWriter {
  const bytes = allocate(bytesExpected);
  return { bytes, view: viewOf(bytes), length: 0 };
}

/** The bytes written so far. They share the writer's memory. */
export function written(writer: CborWriter): Uint8Array {
  return writer.bytes.subarray(0, writer.length);
}

/** Makes room for more bytes. Each writing function calls it for its own bytes. */
export function reserve(writer: CborWriter, bytesMore: number): void {
  const needed = writer.length + bytesMore;
  if (needed <= writer.bytes.length) return;
  const bytes = allocate(Math.max(needed, writer.bytes.length * 2));
  bytes.set(writer.bytes.subarray(0, writer.length));
  writer.bytes = bytes;
  writer.view = viewOf(bytes);
}

/** Writes the head of an item: its major type, and a length or value from 0 to 2^53. */
export function writeHead(writer: CborWriter, major: number, argument: number): void {
  reserve(writer, HEAD_BYTES_MAX);
  writer.length = putHead(writer.bytes, writer.length, major, argument);
}

/** Writes a head into bytes that have room for it, and returns its end. */
export function putHead(bytes: Uint8Array, at: number, major: number, argument: number): number {
  if (argument < 24) {
    bytes[at] = major | argument;
    return at + 1;
  }
  if (argument < 0x100) {
    bytes[at] = major | 24;
    bytes[at + 1] = argument;
    return at + 2;
  }
  if (argument < 0x1_0000) {
    bytes[at] = major | 25;
    bytes[at + 1] = argument >> 8;
    bytes[at + 2] = argument;
    return at + 3;
  }
  if (argument < TWO_POW_32) {
    bytes[at] = major | 26;
    return putUint32(bytes, at + 1, argument);
  }
  bytes[at] = major | 27;
  return putUint32(bytes, putUint32(bytes, at + 1, Math.floor(argument / TWO_POW_32)), argument % TWO_POW_32);
}

function putUint32(bytes: Uint8Array, at: number, value: number): number {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
  return at + 4;
}

/** Writes a number: a safe integer as an integer, any other number as a float. */
export function writeNumber(writer: CborWriter, value: number): void {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
    if (value >= 0) writeHead(writer, cborMajor.uint, value);
    else writeHead(writer, cborMajor.negative, -1 - value);
    return;
  }
  reserve(writer, HEAD_BYTES_MAX);
  if (Number.isNaN(value)) {
    writer.bytes[writer.length++] = cborInitial.float16;
    writer.view.setUint16(writer.length, 0x7e00);
    writer.length += 2;
  } else if (Math.fround(value) === value) {
    writer.bytes[writer.length++] = cborInitial.float32;
    writer.view.setFloat32(writer.length, value);
    writer.length += 4;
  } else {
    writer.bytes[writer.length++] = cborInitial.float64;
    writer.view.setFloat64(writer.length, value);
    writer.length += 8;
  }
}

/**
 * Writes an integer from -2^64 to 2^64 - 1.
 * @throws RangeError for other integers, because CBOR has no plain form for them
 */
export function writeBigint(writer: CborWriter, value: bigint): void {
  if (value < integerRange.least || value > integerRange.greatest)
    throw new RangeError('an integer of more than 64 bits');
  const major = value >= 0n ? cborMajor.uint : cborMajor.negative;
  const magnitude = value >= 0n ? value : -1n - value;
  if (magnitude <= BigInt(Number.MAX_SAFE_INTEGER)) {
    writeHead(writer, major, Number(magnitude));
    return;
  }
  reserve(writer, HEAD_BYTES_MAX);
  writer.bytes[writer.length++] = major | 27;
  writer.view.setBigUint64(writer.length, magnitude);
  writer.length += 8;
}

/** Writes text as UTF-8. A lone surrogate becomes U+FFFD, because UTF-8 cannot hold it. */
export function writeText(writer: CborWriter, text: string): void {
  const { length } = text;
  reserve(writer, HEAD_BYTES_MAX + length * 3);
  if (length < SHORT_TEXT_CHARACTERS && writeShortAscii(writer, text)) return;
  const encoded = encodedLength(text);
  writeHead(writer, cborMajor.text, encoded);
  encodeInto(text, writer.bytes.subarray(writer.length));
  writer.length += encoded;
}

/** Writes bytes as they are: encoded CBOR, or the content of a byte string. */
export function writeRaw(writer: CborWriter, raw: Uint8Array): void {
  reserve(writer, raw.length);
  writer.bytes.set(raw, writer.length);
  writer.length += raw.length;
}

/** Writes true, false, null or undefined. */
export function writeSimple(writer: CborWriter, value: boolean | null | undefined): void {
  reserve(writer, 1);
  writer.bytes[writer.length++] = simpleByte(value);
}

function simpleByte(value: boolean | null | undefined): number {
  if (value === undefined) return cborInitial.undefined;
  if (value === null) return cborInitial.null;
  return value ? cborInitial.true : cborInitial.false;
}

/**
 * Writes text of fewer than 64 ASCII characters. Writes nothing and returns false if the text is not ASCII.
 */
function writeShortAscii(writer: CborWriter, text: string): boolean {
  const { bytes } = writer;
  const { length } = text;
  let at = putHead(bytes, writer.length, cborMajor.text, length);
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return false;
    bytes[at++] = code;
  }
  writer.length = at;
  return true;
}

function encodedLength(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

function encodeInto(text: string, target: Uint8Array): void {
  Buffer.from(target.buffer, target.byteOffset, target.byteLength).write(text, 'utf8');
}

/** The memory is not zeroed, because callers get only the bytes that were written. */
function allocate(size: number): Uint8Array {
  const buffer = Buffer.allocUnsafeSlow(Math.max(size, 64));
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
