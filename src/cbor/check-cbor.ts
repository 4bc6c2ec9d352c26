import { isUtf8 } from 'node:buffer';
import { cborInitial, cborMajor, headArgument, headLength, INDEFINITE, majorOf } from './cbor-head.ts';
import { cborLimits } from './cbor-limits.ts';
import { MalformedError } from './malformed-error.ts';

/**
 * Bytes that are checked before they are decoded. A check builds no values, never reads past the end, refuses
 * a length that the bytes cannot hold, and takes time in proportion to the bytes.
 */
export interface CborBytes {
  bytes: Uint8Array;
  view: DataView;
  /** Arrays, maps and byte strings so far. They take more memory than their bytes once they are decoded. */
  containers: number;
  /** True if the tags with a plain value are allowed. Other tags never are. */
  allowsPlainTags: boolean;
}

/** Tags that have a plain value: date text, epoch seconds, big integers, a UUID, and "this is CBOR". */
const tagsWithPlainValue: readonly number[] = [0, 1, 2, 3, 37, 55799];

const tooDeep = `nested more than ${cborLimits.depthMax} levels deep`;

export function cborBytes(bytes: Uint8Array, options: { plainTags?: boolean } = {}): CborBytes {
  return {
    bytes,
    view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    containers: 0,
    allowsPlainTags: options.plainTags ?? false,
  };
}

/**
 * Checks the item at `at` and returns its end. Beyond the structure it checks that text is UTF-8, that map
 * keys are text, that simple values have a meaning, that tags are allowed, and the limits of `cborLimits`.
 * @throws MalformedError
 */
export function checkItem(cbor: CborBytes, at: number): number {
  return walkItem(cbor, at, 0, EVERYTHING);
}

/**
 * Returns the end of the item at `at` and checks the structure alone. A reader can then reject one message
 * and read the next one.
 * @throws MalformedError if the structure is broken
 */
export function skipItem(cbor: CborBytes, at: number): number {
  return walkItem(cbor, at, 0, STRUCTURE_ALONE);
}

/**
 * Returns where the first item of the array or map at `start` stands.
 * @throws MalformedError if its head is broken, or if the bytes cannot hold its items
 */
export function firstItemOf(cbor: CborBytes, start: number): number {
  const first = contentStart(cbor, start);
  checkCount(cbor, start, first);
  return first;
}

/** The checks of an item, for `strict`. */
const EVERYTHING = true;
const STRUCTURE_ALONE = false;

function walkItem(cbor: CborBytes, start: number, depth: number, strict: boolean): number {
  const at = contentStart(cbor, start);
  const initial = cbor.bytes[start]!;
  const argument = headArgument(cbor.view, start);
  switch (majorOf(initial)) {
    case cborMajor.uint:
    case cborMajor.negative:
      if (argument === INDEFINITE) throw new MalformedError('an integer without a length', start);
      return at;
    case cborMajor.bytes:
    case cborMajor.text:
      if (argument === INDEFINITE) return walkParts(cbor, start, strict);
      return walkString(cbor, start, at, argument, strict);
    case cborMajor.array:
    case cborMajor.map:
      return walkContainer(cbor, start, at, depth, strict);
    case cborMajor.tag:
      if (argument === INDEFINITE) throw new MalformedError('a tag without a number', start);
      if (strict && !(cbor.allowsPlainTags && tagsWithPlainValue.includes(argument)))
        throw new MalformedError(`tag ${argument} is not accepted`, start);
      if (depth >= cborLimits.depthMax) throw new MalformedError(tooDeep, start);
      return walkItem(cbor, at, depth + 1, strict);
    default:
      checkSimple(initial, start, argument, strict);
      return at;
  }
}

/** The end of the head at `start`, once the head is known to be whole. */
function contentStart({ bytes }: CborBytes, start: number): number {
  if (start >= bytes.length) throw new MalformedError('the bytes end where an item should begin', start);
  const length = headLength(bytes[start]!);
  if (length === 0) throw new MalformedError('a reserved length', start);
  if (start + length > bytes.length) throw new MalformedError('the bytes end within an item', start);
  return start + length;
}

function walkString(cbor: CborBytes, start: number, at: number, length: number, strict: boolean): number {
  if (length > cbor.bytes.length - at) throw new MalformedError('a string longer than the bytes', start);
  const end = at + length;
  if (!strict) return end;
  if (majorOf(cbor.bytes[start]!) === cborMajor.bytes) countContainer(cbor, start);
  else if (!isText(cbor.bytes, at, end)) throw new MalformedError('text that is not UTF-8', start);
  return end;
}

/** A string of indefinite length consists of definite strings of its type, and a break. */
function walkParts(cbor: CborBytes, start: number, strict: boolean): number {
  const { bytes } = cbor;
  const major = majorOf(bytes[start]!);
  let at = start + 1;
  while (bytes[at] !== cborInitial.break) {
    if (at >= bytes.length) throw new MalformedError('a string without an end', start);
    if (majorOf(bytes[at]!) !== major || (bytes[at]! & 31) === 31)
      throw new MalformedError('a string with parts of another type', at);
    at = walkItem(cbor, at, 0, strict);
  }
  return at + 1;
}

function walkContainer(
  cbor: CborBytes,
  start: number,
  first: number,
  depth: number,
  strict: boolean,
): number {
  const { bytes, view } = cbor;
  const isMap = majorOf(bytes[start]!) === cborMajor.map;
  if (depth >= cborLimits.depthMax) throw new MalformedError(tooDeep, start);
  if (strict) countContainer(cbor, start);
  checkCount(cbor, start, first);
  const count = headArgument(view, start);
  let at = first;
  for (let index = 0; count === INDEFINITE ? bytes[at] !== cborInitial.break : index < count; index++) {
    if (isMap) {
      if (strict && index >= cborLimits.mapMembersMax)
        throw new MalformedError(`more than ${cborLimits.mapMembersMax} members in a map`, start);
      if (strict && at < bytes.length && majorOf(bytes[at]!) !== cborMajor.text)
        throw new MalformedError('a map key that is not text', at);
      at = walkItem(cbor, at, depth + 1, strict);
    }
    at = walkItem(cbor, at, depth + 1, strict);
  }
  return count === INDEFINITE ? at + 1 : at;
}

/** Each item takes at least one byte, so a count that the bytes cannot hold is refused at once. */
function checkCount({ bytes, view }: CborBytes, start: number, first: number): void {
  const itemsPerCount = majorOf(bytes[start]!) === cborMajor.map ? 2 : 1;
  if (headArgument(view, start) * itemsPerCount > bytes.length - first)
    throw new MalformedError('an array or map longer than the bytes', start);
}

function countContainer(cbor: CborBytes, start: number): void {
  if (++cbor.containers <= cborLimits.decodedContainersMax) return;
  throw new MalformedError(
    `more than ${cborLimits.decodedContainersMax} arrays, maps and byte strings`,
    start,
  );
}

function checkSimple(initial: number, start: number, value: number, strict: boolean): void {
  if (initial === cborInitial.break)
    throw new MalformedError('a break outside of an indefinite length', start);
  const inNextByte = initial === cborInitial.simpleInNextByte;
  if (inNextByte && value < 32) throw new MalformedError('a simple value in two bytes', start);
  if (strict && (initial < cborInitial.false || inNextByte))
    throw new MalformedError(`simple value ${value} has no meaning`, start);
}

export function isText(bytes: Uint8Array, start: number, end: number): boolean {
  return isAscii(bytes, start, end) || isUtf8(bytes.subarray(start, end));
}

export function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at]! > 0x7f) return false;
  return true;
}
