import { cborLimits } from './cbor-limits.ts';
import {
  type CborWriter,
  cborMajor,
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
import { cursorAt, decodeCheckedItem, decodeItem } from './decode-item.ts';
import { MalformedError } from './malformed-error.ts';

export { MalformedError } from './malformed-error.ts';

export interface DecodeOptions {
  /**
   * Lets in the tags that have a plain value: date text and epoch seconds become ISO 8601 text, big integers of up
   * to 64 bits integers, a UUID its text, and the tag "this is CBOR" vanishes. Without it every tag is malformed.
   */
  knownTags?: boolean;
}

/**
 * Encodes plain data as RFC 8949 that any decoder reads: definite lengths, maps with text keys, integers as integers
 * (bigints up to 64 bits too), Uint8Array as an untagged byte string. Members that are undefined are left out.
 * @throws TypeError for what is not plain data, and beyond `cborLimits.depthMax` levels
 */
export function encodeCbor(value: unknown): Uint8Array {
  const writer = createWriter(256);
  encodeItem(writer, value, 0);
  return written(writer);
}

/**
 * Decodes exactly one item: integers beyond 2^53 are bigints and smaller ones numbers, maps are plain objects in
 * which even `__proto__` is an ordinary member. The bytes are checked as a whole before a value is made of them.
 * @throws MalformedError with the position, for anything else than one well-formed item of plain data
 */
export function decodeCbor(bytes: Uint8Array, options: DecodeOptions = {}): unknown {
  const source = cborBytes(bytes, options);
  const end = checkItem(source, 0);
  if (end !== bytes.length) throw new MalformedError('bytes after the end of the item', end);
  return decodeCheckedItem(source, 0);
}

/**
 * Decodes a CBOR sequence (RFC 8742): items one after another, none at all in no bytes.
 * @throws MalformedError like `decodeCbor`; a sequence that breaks off yields nothing
 */
export function decodeCborSequence(bytes: Uint8Array, options: DecodeOptions = {}): unknown[] {
  const source = cborBytes(bytes, options);
  for (let at = 0; at < bytes.length; ) at = checkItem(source, at);
  const cursor = cursorAt(source, 0);
  const items: unknown[] = [];
  while (cursor.at < bytes.length) items.push(decodeItem(cursor));
  return items;
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
