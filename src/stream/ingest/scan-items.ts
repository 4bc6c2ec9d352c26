import { cborInitial, cborMajor, headArgument, headLength, majorOf } from '../../cbor/cbor-head.ts';
import { limits } from '../../contract/wire-limits.ts';

/**
 * A scan of telemetry items in CBOR. It finds their members and checks them. It knows only the usual forms:
 * definite lengths, ASCII text, no tags. The decoder reads all other items.
 */
export interface ItemScan {
  bytes: Uint8Array;
  view: DataView;
  at: number;
  /** The position of the 36 characters of the device id. */
  deviceAt: number;
  /** The position of the source with its head; -1 if the source is null or absent. */
  sourceAt: number;
  sourceEnd: number;
  eventTime: number;
  /** -1 if it is null or absent. */
  messageId: number;
  /** The position of the map of fields with its head. */
  dataAt: number;
  dataEnd: number;
  /** Hashes of the field names of one item, to find a repeated name. */
  hashes: Uint32Array;
}

const FIELDS_MAX = 64;
// Constants of this module, because V8 does not inline functions that read members of an imported object.
const { uint64: UINT64, float16: FLOAT16, float32: FLOAT32, float64: FLOAT64 } = cborInitial;
const { false: FALSE, true: TRUE, null: NULL, break: BREAK } = cborInitial;
const { text: TEXT, array: ARRAY, map: MAP } = cborMajor;
const INTEGER_MAX = cborMajor.negative | 31;

export function createItemScan(bytes: Uint8Array): ItemScan {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const hashes = new Uint32Array(FIELDS_MAX);
  const positions = {
    deviceAt: -1,
    sourceAt: -1,
    sourceEnd: -1,
    eventTime: -1,
    messageId: -1,
    dataAt: -1,
    dataEnd: -1,
  };
  return { bytes, view, at: 0, hashes, ...positions };
}

/**
 * Moves past the head of an array. Returns the number of items, or -1 if it is not an array of definite
 * length.
 */
export function scanArrayHead(scan: ItemScan): number {
  const initial = scan.bytes[scan.at] ?? 0;
  return majorOf(initial) === ARRAY ? scanArgument(scan) : -1;
}

/** Scans the next item. Returns false if the decoder must read it. */
export function scanItem(scan: ItemScan): boolean {
  const { bytes } = scan;
  const initial = bytes[scan.at] ?? 0;
  if (initial < 0xa3 || initial > 0xa5) return false;
  scan.at++;
  scan.deviceAt = scan.sourceAt = scan.sourceEnd = scan.eventTime = scan.messageId = scan.dataAt = -1;
  let seen = 0;
  for (let left = initial & 31; left > 0; left--) {
    const member = itemMemberAt(bytes, scan.at);
    if (member === 0 || (seen & member) !== 0) return false;
    seen |= member;
    scan.at += 1 + (bytes[scan.at]! & 31);
    if (!scanMember(scan, member)) return false;
  }
  return (seen & REQUIRED) === REQUIRED;
}

const DEVICE = 1;
const SOURCE = 2;
const EVENT_TIME = 4;
const MESSAGE_ID = 8;
const DATA = 16;
const REQUIRED = DEVICE | EVENT_TIME | DATA;
const names: ReadonlyArray<readonly [member: number, name: Uint8Array]> = [
  [DEVICE, Buffer.from('device')],
  [SOURCE, Buffer.from('source')],
  [EVENT_TIME, Buffer.from('event_time')],
  [MESSAGE_ID, Buffer.from('msg_id')],
  [DATA, Buffer.from('data')],
];

/** The member whose key is at `at`; 0 for other keys. */
function itemMemberAt(bytes: Uint8Array, at: number): number {
  const length = (bytes[at] ?? 0) - 0x60;
  for (const [member, name] of names) {
    if (name.length !== length) continue;
    let index = 0;
    while (index < length && bytes[at + 1 + index] === name[index]) index++;
    if (index === length) return member;
  }
  return 0;
}

function scanMember(scan: ItemScan, member: number): boolean {
  const { bytes } = scan;
  switch (member) {
    case DEVICE:
      if (bytes[scan.at] !== 0x78 || bytes[scan.at + 1] !== 36) return false;
      scan.deviceAt = scan.at + 2;
      scan.at += 38;
      return scan.at <= bytes.length;
    case SOURCE: {
      if (skipNull(scan)) return true;
      scan.sourceAt = scan.at;
      const length = skipAscii(scan);
      scan.sourceEnd = scan.at;
      return length > 0 && length <= limits.nameCharactersMax;
    }
    case EVENT_TIME:
      scan.eventTime = scanInteger(scan);
      return scan.eventTime >= 0 && scan.eventTime <= limits.instantMsMax;
    case MESSAGE_ID:
      if (skipNull(scan)) return true;
      scan.messageId = scanInteger(scan);
      return scan.messageId >= 0;
    default:
      scan.dataAt = scan.at;
      if (!skipFields(scan)) return false;
      scan.dataEnd = scan.at;
      return true;
  }
}

function skipNull(scan: ItemScan): boolean {
  if (scan.bytes[scan.at] !== NULL) return false;
  scan.at++;
  return true;
}

function skipFields(scan: ItemScan): boolean {
  const { bytes, hashes } = scan;
  const initial = bytes[scan.at] ?? 0;
  if (majorOf(initial) !== MAP) return false;
  const count = scanArgument(scan);
  if (count < 0 || count > FIELDS_MAX) return false;
  for (let field = 0; field < count; field++) {
    const hash = skipName(scan);
    if (hash < 0) return false;
    for (let before = 0; before < field; before++) if (hashes[before] === hash) return false;
    hashes[field] = hash;
    if (!skipValue(scan)) return false;
  }
  // This does not check that the item ends within the bytes. The end of the last item shows it for all of
  // them.
  return true;
}

const UNDERSCORE = 0x5f;

/** Moves past a field name. Returns a hash of 31 bits, or -1 if the decoder must read the name. */
function skipName(scan: ItemScan): number {
  const { bytes } = scan;
  const initial = bytes[scan.at] ?? 0;
  if (majorOf(initial) !== TEXT) return -1;
  const length = scanArgument(scan);
  const end = scan.at + length;
  if (length < 1 || length > limits.nameCharactersMax || end > bytes.length) return -1;
  // A name that begins like this may be `__proto__`.
  if (bytes[scan.at] === UNDERSCORE && bytes[scan.at + 1] === UNDERSCORE) return -1;
  let hash = length;
  for (let at = scan.at; at < end; at++) {
    const code = bytes[at]!;
    if (code > 0x7f) return -1;
    hash = (Math.imul(hash, 31) + code) | 0;
  }
  scan.at = end;
  return hash & 0x7fff_ffff;
}

/** Moves past a finite number, short text, true, false or null. Returns false for any other item. */
function skipValue(scan: ItemScan): boolean {
  const { bytes, at } = scan;
  const initial = bytes[at] ?? BREAK;
  if (majorOf(initial) === TEXT) {
    const length = skipAscii(scan);
    return length >= 0 && length <= limits.textCharactersMax;
  }
  // The value may end beyond the bytes. The end of the last item shows that.
  scan.at = at + headLength(initial);
  if (initial <= INTEGER_MAX) return (initial & 31) <= 27;
  // NaN and the infinities have an exponent of ones.
  if (initial === FLOAT64) return (bytes[at + 1]! & 0x7f) !== 0x7f || (bytes[at + 2]! & 0xf0) !== 0xf0;
  if (initial === FLOAT32) return (bytes[at + 1]! & 0x7f) !== 0x7f || (bytes[at + 2]! & 0x80) !== 0x80;
  if (initial === FLOAT16) return (bytes[at + 1]! & 0x7c) !== 0x7c;
  return initial === FALSE || initial === TRUE || initial === NULL;
}

/** Moves past text. Returns its length, or -1 if it is not text, is not ASCII, or ends beyond the bytes. */
function skipAscii(scan: ItemScan): number {
  const { bytes } = scan;
  const initial = bytes[scan.at] ?? 0;
  if (majorOf(initial) !== TEXT) return -1;
  const length = scanArgument(scan);
  const end = scan.at + length;
  if (length < 0 || end > bytes.length) return -1;
  for (let at = scan.at; at < end; at++) if (bytes[at]! > 0x7f) return -1;
  scan.at = end;
  return length;
}

/** Reads the head of up to 5 bytes at the scan's position and moves past it. Returns its argument, or -1. */
function scanArgument(scan: ItemScan): number {
  const { bytes, view, at } = scan;
  const initial = bytes[at] ?? 0;
  const end = at + headLength(initial);
  if ((initial & 31) > 26 || end > bytes.length) return -1;
  scan.at = end;
  return headArgument(view, at);
}

/**
 * Reads an integer from 0 to 2^53 - 1. It may be a float, because some encoders send times as floats. Returns
 * -1 for every other item.
 */
function scanInteger(scan: ItemScan): number {
  const { bytes, view, at } = scan;
  const initial = bytes[at] ?? BREAK;
  const end = at + headLength(initial);
  if ((initial > UINT64 && initial !== FLOAT64) || end > bytes.length) return -1;
  scan.at = end;
  if (initial === FLOAT64) {
    const value = view.getFloat64(at + 1);
    // A float of 0 is refused, because it may be -0.
    return Number.isSafeInteger(value) && value > 0 ? value : -1;
  }
  const value = headArgument(view, at);
  return value <= Number.MAX_SAFE_INTEGER ? value : -1;
}
