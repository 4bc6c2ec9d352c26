import { cborMajor } from './cbor-head.ts';
import { cborLimits } from './cbor-limits.ts';
import {
  type CborWriter,
  createWriter,
  writeBigint,
  writeHead,
  writeNumber,
  writeRaw,
  writeSimple,
  writeText,
  written,
} from './cbor-writer.ts';
import { cborBytes, checkItem } from './check-cbor.ts';
import { decodeCheckedItem } from './decode-item.ts';
import { MalformedError } from './malformed-error.ts';

export { MalformedError } from './malformed-error.ts';

export interface DecodeOptions {
  /**
   * Accepts the tags that have a plain value. Date text and epoch seconds become ISO 8601 text, big integers
   * of up to 64 bits become integers, a UUID becomes text, and the tag "this is CBOR" is dropped. If false,
   * every tag is malformed.
   */
  plainTags?: boolean;
}

/**
 * Encodes plain data as CBOR that any decoder reads. Lengths are definite, and keys of maps are texts.
 * Integers, and bigints of up to 64 bits, become integers. A Uint8Array becomes a byte string without a tag.
 * Members that are undefined are left out.
 * @throws TypeError for data that is not plain, or nested more than `cborLimits.depthMax` levels deep
 */
export function encodeCbor(value: unknown): Uint8Array {
  const writer = createWriter(256);
  encodeItem(writer, value, 0);
  return written(writer);
}

/**
 * Decodes exactly one item. Integers beyond 2^53 become bigints, smaller ones numbers. Maps become plain
 * objects, in which `__proto__` is an ordinary member. All bytes are checked before the first value is built.
 * @throws MalformedError with the position, unless the bytes are one well-formed item of plain data
 */
export function decodeCbor(bytes: Uint8Array, options: DecodeOptions = {}): unknown {
  const cbor = cborBytes(bytes, options);
  const end = checkItem(cbor, 0);
  if (end !== bytes.length) throw new MalformedError('bytes after the end of the item', end);
  return decodeCheckedItem(cbor, 0);
}

function encodeItem(writer: CborWriter, value: unknown, depth: number): void {
  if (typeof value === 'string') writeText(writer, value);
  else if (typeof value === 'number') writeNumber(writer, value);
  else if (typeof value === 'bigint') writeBigint(writer, value);
  else if (typeof value === 'boolean' || value === null || value === undefined) writeSimple(writer, value);
  else if (value instanceof Uint8Array) {
    writeHead(writer, cborMajor.bytes, value.length);
    writeRaw(writer, value);
  } else if (depth >= cborLimits.depthMax) {
    throw new TypeError(`nested more than ${cborLimits.depthMax} levels deep`);
  } else if (Array.isArray(value)) {
    writeHead(writer, cborMajor.array, value.length);
    for (const item of value) encodeItem(writer, item, depth + 1);
  } else if (isPlain(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    writeHead(writer, cborMajor.map, members.length);
    for (const [key, member] of members) {
      writeText(writer, key);
      encodeItem(writer, member, depth + 1);
    }
  } else throw new TypeError('only plain data can be encoded as CBOR');
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
