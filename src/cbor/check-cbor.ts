import { isUtf8 } from 'node:buffer';
import { cborLimits } from './cbor-limits.ts';
import { MalformedError } from './malformed-error.ts';

/**
 * Finds the end of CBOR items without building anything, so that no value is ever made of bytes that are not what
 * they claim to be. It never reads past the end, follows no declared length that the bytes cannot hold, and takes
 * time in proportion to the bytes.
 */
export interface CborBytes {
  bytes: Uint8Array;
  view: DataView;
  /** Arrays, maps and byte strings seen so far: what costs more memory than its bytes once it is decoded. */
  objects: number;
  /** Whether tags with a plain meaning (see cbor-codec.ts) may stand in the bytes; no others ever may. */
  knownTags: boolean;
}

/** Date text, epoch seconds, big integers, a UUID, and the tag that only says "this is CBOR". */
export const knownTags: readonly number[] = [0, 1, 2, 3, 37, 55799];

export const BREAK = 0xff;
const INDEFINITE = 31;

export function cborBytes(bytes: Uint8Array, options: { knownTags?: boolean } = {}): CborBytes {
  return {
    bytes,
    view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    objects: 0,
    knownTags: options.knownTags ?? false,
  };
}

/**
 * The end of the item at `at`, strictly: also text is UTF-8, map keys are text, simple values have a meaning, tags
 * are known ones where they are let in at all, and there are not absurdly many arrays, maps and byte strings.
 * @throws MalformedError
 */
export function checkItem(source: CborBytes, at: number): number {
  return walk(source, at, 0, true);
}

/**
 * The end of the item at `at` by structure alone, so that one bad message can be set aside and the next one read.
 * @throws MalformedError where even the structure is broken
 */
export function skipItem(source: CborBytes, at: number): number {
  return walk(source, at, 0, false);
}

/**
 * The length or value in an item's head, where it is known that the head is whole.
 * Beyond 2^53 it is rounded; -1 stands for "indefinite".
 */
export function headValue(source: CborBytes, at: number): number {
  const info = source.bytes[at]! & 31;
  if (info < 24) return info;
  if (info === 24) return source.bytes[at + 1]!;
  if (info === 25) return source.view.getUint16(at + 1);
  if (info === 26) return source.view.getUint32(at + 1);
  if (info === 27) return source.view.getUint32(at + 1) * 0x1_0000_0000 + source.view.getUint32(at + 5);
  return -1;
}

/** How many bytes the head at `at` takes. */
export function headLength(initial: number): number {
  const info = initial & 31;
  return info < 24 || info === INDEFINITE ? 1 : 1 + (1 << (info - 24));
}

function walk(source: CborBytes, start: number, depth: number, strict: boolean): number {
  const { bytes } = source;
  const end = bytes.length;
  if (start >= end) throw new MalformedError('the bytes end where an item should begin', start);
  const initial = bytes[start]!;
  const info = initial & 31;
  if (info > 27 && info < INDEFINITE) throw new MalformedError('a reserved length', start);
  const at = start + headLength(initial);
  if (at > end) throw new MalformedError('the bytes end within an item', start);
  const value = headValue(source, start);
  switch (initial >> 5) {
    case 0:
    case 1:
      if (value < 0) throw new MalformedError('an integer without a length', start);
      return at;
    case 2:
    case 3:
      if (value < 0) return chunks(source, start, strict);
      return string(source, start, at, value, strict);
    case 4:
    case 5:
      return container(source, start, at, value, depth, strict);
    case 6:
      if (value < 0) throw new MalformedError('a tag without a number', start);
      if (strict && !(source.knownTags && knownTags.includes(value))) {
        throw new MalformedError(`tag ${value} is not accepted`, start);
      }
      if (depth >= cborLimits.depthMax) throw new MalformedError(tooDeep, start);
      return walk(source, at, depth + 1, strict);
    default:
      return simple(initial, start, at, value, strict);
  }
}

const tooDeep = `nested more than ${cborLimits.depthMax} levels deep`;

function string(source: CborBytes, start: number, at: number, length: number, strict: boolean): number {
  if (length > source.bytes.length - at) throw new MalformedError('a string longer than the bytes', start);
  const end = at + length;
  if (!strict) return end;
  if (source.bytes[start]! >> 5 === 2) countObject(source, start);
  else if (!isText(source.bytes, at, end)) throw new MalformedError('text that is not UTF-8', start);
  return end;
}

function countObject(source: CborBytes, start: number): void {
  if (++source.objects <= cborLimits.decodedContainersMax) return;
  throw new MalformedError(
    `more than ${cborLimits.decodedContainersMax} arrays, maps and byte strings`,
    start,
  );
}

/** Text or bytes of indefinite length: definite strings of the same type up to a break. */
function chunks(source: CborBytes, start: number, strict: boolean): number {
  const { bytes } = source;
  const major = bytes[start]! >> 5;
  let at = start + 1;
  while (bytes[at] !== BREAK) {
    if (at >= bytes.length) throw new MalformedError('a string without an end', start);
    const initial = bytes[at]!;
    if (initial >> 5 !== major || (initial & 31) === INDEFINITE) {
      throw new MalformedError('a string with parts of another type', at);
    }
    at = walk(source, at, 0, strict);
  }
  return at + 1;
}

function container(
  source: CborBytes,
  start: number,
  first: number,
  count: number,
  depth: number,
  strict: boolean,
): number {
  const { bytes } = source;
  const map = bytes[start]! >> 5 === 5;
  if (depth >= cborLimits.depthMax) throw new MalformedError(tooDeep, start);
  if (strict) countObject(source, start);
  // Every item takes a byte at least, so a count that the bytes cannot hold is refused before anything is done.
  if (count * (map ? 2 : 1) > bytes.length - first) {
    throw new MalformedError('an array or map longer than the bytes', start);
  }
  let at = first;
  for (let index = 0; count < 0 ? bytes[at] !== BREAK : index < count; index++) {
    if (map) {
      if (strict && index >= cborLimits.mapMembersMax)
        throw new MalformedError(`more than ${cborLimits.mapMembersMax} members in a map`, start);
      if (strict && at < bytes.length && bytes[at]! >> 5 !== 3) {
        throw new MalformedError('a map key that is not text', at);
      }
      at = walk(source, at, depth + 1, strict);
    }
    at = walk(source, at, depth + 1, strict);
  }
  return count < 0 ? at + 1 : at;
}

function simple(initial: number, start: number, at: number, value: number, strict: boolean): number {
  if (initial === BREAK) throw new MalformedError('a break outside of an indefinite length', start);
  if (initial === 0xf8 && value < 32) throw new MalformedError('a simple value in two bytes', start);
  if (strict && (initial < 0xf4 || initial === 0xf8)) {
    throw new MalformedError(`simple value ${value} has no meaning`, start);
  }
  return at;
}

/** Whether the bytes are UTF-8. */
export function isText(bytes: Uint8Array, start: number, end: number): boolean {
  return isAscii(bytes, start, end) || isUtf8(bytes.subarray(start, end));
}

/** Whether the bytes are ASCII, which most text is. */
export function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at]! > 0x7f) return false;
  return true;
}
