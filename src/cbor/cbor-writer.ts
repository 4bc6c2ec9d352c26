/**
 * Writes CBOR (RFC 8949) into one growing buffer: definite lengths, the shortest head for every length and integer,
 * floats in 32 bits where that is exact, else in 64. Everything that leaves this project as CBOR is written here.
 */
export interface CborWriter {
  bytes: Uint8Array;
  view: DataView;
  /** Bytes written so far. */
  length: number;
}

export const cborMajor = {
  uint: 0x00,
  negative: 0x20,
  bytes: 0x40,
  text: 0x60,
  array: 0x80,
  map: 0xa0,
} as const;

const TWO_POW_32 = 0x1_0000_0000;
const INTEGER_MIN = -(2n ** 64n);
const INTEGER_MAX = 2n ** 64n - 1n;
/** Up to here a loop over the characters is faster than a call into the platform's encoder. */
const SHORT_TEXT_CHARACTERS = 64;

export function createWriter(bytesExpected: number): CborWriter {
  const bytes = allocate(bytesExpected);
  return { bytes, view: viewOf(bytes), length: 0 };
}

/** What has been written. The bytes belong to the writer until it is dropped. */
export function written(writer: CborWriter): Uint8Array {
  return writer.bytes.subarray(0, writer.length);
}

/** Makes room for that many bytes more. Every writing function calls it for what it writes itself. */
export function reserve(writer: CborWriter, bytesMore: number): void {
  const needed = writer.length + bytesMore;
  if (needed <= writer.bytes.length) return;
  const bytes = allocate(Math.max(needed, writer.bytes.length * 2));
  bytes.set(writer.bytes.subarray(0, writer.length));
  writer.bytes = bytes;
  writer.view = viewOf(bytes);
}

/** The head of an item: its major type with a length or value from 0 to 2^53. */
export function writeHead(writer: CborWriter, major: number, value: number): void {
  reserve(writer, 9);
  const { bytes } = writer;
  if (value < 24) {
    bytes[writer.length++] = major | value;
  } else if (value < 0x100) {
    bytes[writer.length++] = major | 24;
    bytes[writer.length++] = value;
  } else if (value < 0x1_0000) {
    bytes[writer.length++] = major | 25;
    writer.view.setUint16(writer.length, value);
    writer.length += 2;
  } else if (value < TWO_POW_32) {
    bytes[writer.length++] = major | 26;
    writer.view.setUint32(writer.length, value);
    writer.length += 4;
  } else {
    bytes[writer.length++] = major | 27;
    writer.view.setUint32(writer.length, Math.floor(value / TWO_POW_32));
    writer.view.setUint32(writer.length + 4, value % TWO_POW_32);
    writer.length += 8;
  }
}

/** A number: an integer where it is one that a double holds safely, else a float. */
export function writeNumber(writer: CborWriter, value: number): void {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
    if (value >= 0) writeHead(writer, cborMajor.uint, value);
    else writeHead(writer, cborMajor.negative, -1 - value);
    return;
  }
  reserve(writer, 9);
  if (Number.isNaN(value)) {
    writer.bytes[writer.length++] = 0xf9;
    writer.view.setUint16(writer.length, 0x7e00);
    writer.length += 2;
  } else if (Math.fround(value) === value) {
    writer.bytes[writer.length++] = 0xfa;
    writer.view.setFloat32(writer.length, value);
    writer.length += 4;
  } else {
    writer.bytes[writer.length++] = 0xfb;
    writer.view.setFloat64(writer.length, value);
    writer.length += 8;
  }
}

/**
 * An integer of up to 64 bits and a sign, whatever its size.
 * @throws RangeError beyond that: CBOR has no plain integers there
 */
export function writeBigint(writer: CborWriter, value: bigint): void {
  if (value < INTEGER_MIN || value > INTEGER_MAX) throw new RangeError('an integer of more than 64 bits');
  const major = value >= 0n ? cborMajor.uint : cborMajor.negative;
  const magnitude = value >= 0n ? value : -1n - value;
  if (magnitude <= BigInt(Number.MAX_SAFE_INTEGER)) {
    writeHead(writer, major, Number(magnitude));
    return;
  }
  reserve(writer, 9);
  writer.bytes[writer.length++] = major | 27;
  writer.view.setBigUint64(writer.length, magnitude);
  writer.length += 8;
}

/** Text as UTF-8. A lone surrogate, which UTF-8 cannot hold, becomes U+FFFD. */
export function writeText(writer: CborWriter, text: string): void {
  const { length } = text;
  reserve(writer, 9 + length * 3);
  if (length < SHORT_TEXT_CHARACTERS && writeShortAscii(writer, text)) return;
  const encoded = encodedLength(text);
  writeHead(writer, cborMajor.text, encoded);
  encodeInto(text, writer.bytes.subarray(writer.length));
  writer.length += encoded;
}

/** Bytes that are CBOR already, or the content of a byte string after its head. */
export function writeRaw(writer: CborWriter, raw: Uint8Array): void {
  reserve(writer, raw.length);
  writer.bytes.set(raw, writer.length);
  writer.length += raw.length;
}

/** True, false, null or undefined. */
export function writeSimple(writer: CborWriter, value: boolean | null | undefined): void {
  reserve(writer, 1);
  writer.bytes[writer.length++] = value === undefined ? 0xf7 : value === null ? 0xf6 : value ? 0xf5 : 0xf4;
}

/** Writes text of fewer than 64 ASCII characters; leaves no trace and says false where it is not ASCII. */
function writeShortAscii(writer: CborWriter, text: string): boolean {
  const { bytes } = writer;
  const { length } = text;
  let at = writer.length;
  if (length < 24) bytes[at++] = cborMajor.text | length;
  else {
    bytes[at++] = cborMajor.text | 24;
    bytes[at++] = length;
  }
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

/** Not zeroed: only what has been written is ever handed out. */
function allocate(size: number): Uint8Array {
  const buffer = Buffer.allocUnsafeSlow(Math.max(size, 64));
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
