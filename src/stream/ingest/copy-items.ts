import { cborInitial, cborMajor } from '../../cbor/cbor-head.ts';
import { putHead } from '../../cbor/cbor-writer.ts';
import { type EncodedBatch, telemetryStart } from '../../contract/encode-messages.ts';
import { limits } from '../../contract/wire-limits.ts';
import { createItemScan, type ItemScan, scanArrayHead, scanItem } from './scan-items.ts';

/**
 * The maximum number of bytes that a message has in addition to its item and its start. They are for longer
 * heads, and for a source that is null.
 */
const BYTES_ADDED_MAX = 64;
const UUID_CHARACTERS = 36;

const keys = {
  device: textItem('device', 0x78, UUID_CHARACTERS),
  source: textItem('source'),
  eventTime: textItem('event_time'),
  messageId: textItem('msg_id'),
  data: textItem('data'),
} as const;

/**
 * Builds messages from telemetry items in CBOR without decoding them. Each item is scanned once and its
 * fields are copied. This takes a quarter of the time of `rebuildBody`, which is the reference.
 * @returns undefined for items that are unusual or wrong; `rebuildBody` then decides
 */
export function copyItems(
  body: Uint8Array,
  table: string,
  devices: ReadonlySet<string> | 'all',
): EncodedBatch | undefined {
  const scan = createItemScan(body);
  const count = scanArrayHead(scan);
  if (count < 1 || count > limits.itemsPerIngestMax) return undefined;
  const start = telemetryStart(table);
  const target = Buffer.allocUnsafeSlow(body.length + count * (start.length + BYTES_ADDED_MAX));
  const starts = new Uint32Array(count + 1);
  const deviceOf: string[] = new Array(count);
  let at = 0;
  for (let index = 0; index < count; index++) {
    if (!scanItem(scan)) return undefined;
    starts[index] = at;
    const deviceAt = at + start.length + keys.device.length;
    at = writeMessage(scan, start, target, at);
    if (at < 0 || at - starts[index]! > limits.messageBytesMax) return undefined;
    const device = target.toString('latin1', deviceAt, deviceAt + UUID_CHARACTERS);
    if (devices !== 'all' && !devices.has(device)) return undefined;
    deviceOf[index] = device;
  }
  if (scan.at !== body.length) return undefined;
  starts[count] = at;
  const tables = new Array<string>(count).fill(table);
  return { bytes: target.subarray(0, at), starts, tables, devices: deviceOf, count };
}

/**
 * Writes the message of the scanned item, with its members in the order of the contract. Returns its end, or
 * -1 if the device is not a UUID.
 */
function writeMessage(scan: ItemScan, start: Uint8Array, target: Buffer, from: number): number {
  const { bytes } = scan;
  let at = from;
  target.set(start, at);
  target[at] = cborMajor.map | (scan.messageId < 0 ? 8 : 9);
  at += start.length;
  at = copyShort(keys.device, 0, keys.device.length, target, at);
  at = copyUuid(bytes, scan.deviceAt, target, at);
  if (at < 0) return at;
  at = copyShort(keys.source, 0, keys.source.length, target, at);
  if (scan.sourceAt < 0) target[at++] = cborInitial.null;
  else at = copyShort(bytes, scan.sourceAt, scan.sourceEnd, target, at);
  at = copyShort(keys.eventTime, 0, keys.eventTime.length, target, at);
  at = putHead(target, at, cborMajor.uint, scan.eventTime);
  if (scan.messageId >= 0) {
    at = copyShort(keys.messageId, 0, keys.messageId.length, target, at);
    at = putHead(target, at, cborMajor.uint, scan.messageId);
  }
  at = copyShort(keys.data, 0, keys.data.length, target, at);
  target.set(bytes.subarray(scan.dataAt, scan.dataEnd), at);
  return at + scan.dataEnd - scan.dataAt;
}

/** For a few bytes a loop is faster than `set`. */
function copyShort(source: Uint8Array, from: number, to: number, target: Uint8Array, at: number): number {
  for (let index = from; index < to; index++) target[at++] = source[index]!;
  return at;
}

/** Hexadecimal digits in lower case by character code; 0 for all other characters. */
const hexadecimal = Uint8Array.from({ length: 256 }, (_, code) => {
  const character = String.fromCharCode(code).toLowerCase();
  return /[0-9a-f]/.test(character) ? character.charCodeAt(0) : 0;
});
const DASH = 0x2d;

function copyUuid(source: Uint8Array, from: number, target: Uint8Array, at: number): number {
  for (let index = 0; index < UUID_CHARACTERS; index++) {
    const code = source[from + index]!;
    if (index === 8 || index === 13 || index === 18 || index === 23) {
      if (code !== DASH) return -1;
      target[at++] = DASH;
    } else {
      const digit = hexadecimal[code]!;
      if (digit === 0) return -1;
      target[at++] = digit;
    }
  }
  return at;
}

/** Encodes a short text, and bytes that always follow it. */
function textItem(text: string, ...following: number[]): Uint8Array {
  return Uint8Array.of(cborMajor.text | text.length, ...Buffer.from(text, 'latin1'), ...following);
}
