import { isUtf8 } from 'node:buffer';

/**
 * A CBOR item (RFC 8949) as it stands on the wire. The contract's decoder makes values of items and refuses what is not
 * plain; here everything well-formed is read, so that a rule can say what a server sent instead.
 */
export type Item =
  | { type: 'integer'; value: bigint }
  | { type: 'float'; value: number }
  | { type: 'bytes'; value: Uint8Array; indefinite: boolean }
  | { type: 'text'; value: string; indefinite: boolean }
  | { type: 'array'; items: Item[]; indefinite: boolean }
  | { type: 'map'; members: Array<[key: Item, value: Item]>; indefinite: boolean }
  | { type: 'tag'; tag: bigint; item: Item }
  | { type: 'simple'; value: boolean | null | undefined | number };

const DEPTH_MAX = 64;
const INDEFINITE = 31;
const BREAK = 0xff;

/**
 * Reads the one item that the bytes are.
 * @throws Error that says what is wrong, and at which byte
 */
export function readItem(bytes: Uint8Array): Item {
  const reader = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), at: 0 };
  const item = nextItem(reader, 0);
  if (reader.at !== bytes.length)
    throw new Error(`${bytes.length - reader.at} bytes after the end of the item`);
  return item;
}

/** The value of an item, as JavaScript has it: integers beyond 2^53 as bigints, a tag as what it stands on. */
export function plain(item: Item): unknown {
  switch (item.type) {
    case 'integer':
      return item.value >= Number.MIN_SAFE_INTEGER && item.value <= Number.MAX_SAFE_INTEGER
        ? Number(item.value)
        : item.value;
    case 'array':
      return item.items.map(plain);
    case 'map':
      return Object.fromEntries(item.members.map(([key, value]) => [String(plain(key)), plain(value)]));
    case 'tag':
      return plain(item.item);
    case 'float':
    case 'bytes':
    case 'text':
    case 'simple':
      return item.value;
    default:
      return item satisfies never;
  }
}

/** A member of a map by its name; undefined where there is none, or no map. */
export function member(item: Item | undefined, name: string): Item | undefined {
  if (item?.type !== 'map') return undefined;
  return item.members.find(([key]) => key.type === 'text' && key.value === name)?.[1];
}

/** The items of an array; none where it is not one. */
export function itemsOf(item: Item | undefined): Item[] {
  return item?.type === 'array' ? item.items : [];
}

interface Reader {
  bytes: Uint8Array;
  view: DataView;
  at: number;
}

function nextItem(reader: Reader, depth: number): Item {
  if (depth > DEPTH_MAX) throw new Error(`nested more than ${DEPTH_MAX} levels deep at byte ${reader.at}`);
  const start = reader.at;
  const initial = reader.bytes[start];
  if (initial === undefined) throw new Error(`the bytes end at ${start}, within an item`);
  reader.at++;
  const info = initial & 31;
  const indefinite = info === INDEFINITE;
  switch (initial >> 5) {
    case 0:
      return { type: 'integer', value: argument(reader, info) };
    case 1:
      return { type: 'integer', value: -1n - argument(reader, info) };
    case 2:
      return { type: 'bytes', value: string(reader, info, 2), indefinite };
    case 3: {
      const encoded = string(reader, info, 3);
      if (!isUtf8(encoded)) throw new Error(`text at byte ${start} is not UTF-8`);
      return {
        type: 'text',
        value: new TextDecoder('utf-8', { ignoreBOM: true }).decode(encoded),
        indefinite,
      };
    }
    case 4: {
      const items: Item[] = [];
      for (const _ of parts(reader, info)) items.push(nextItem(reader, depth + 1));
      return { type: 'array', items, indefinite };
    }
    case 5: {
      const members: Array<[Item, Item]> = [];
      for (const _ of parts(reader, info))
        members.push([nextItem(reader, depth + 1), nextItem(reader, depth + 1)]);
      return { type: 'map', members, indefinite };
    }
    case 6:
      return { type: 'tag', tag: argument(reader, info), item: nextItem(reader, depth + 1) };
    default:
      return simpleOrFloat(reader, info, start);
  }
}

/** One turn for each part of an array or a map, until its length or a break ends it. */
function* parts(reader: Reader, info: number): Generator<void> {
  if (info !== INDEFINITE) {
    for (let left = argument(reader, info); left > 0n; left--) yield;
    return;
  }
  while (reader.bytes[reader.at] !== BREAK) yield;
  reader.at++;
}

function string(reader: Reader, info: number, major: number): Uint8Array {
  if (info !== INDEFINITE) return take(reader, argument(reader, info));
  const chunks: Uint8Array[] = [];
  for (const _ of parts(reader, info)) {
    const initial = reader.bytes[reader.at++];
    if (initial === undefined || initial >> 5 !== major || (initial & 31) === INDEFINITE)
      throw new Error(
        `a string of indefinite length has another part than a string at byte ${reader.at - 1}`,
      );
    chunks.push(take(reader, argument(reader, initial & 31)));
  }
  return new Uint8Array(Buffer.concat(chunks));
}

function simpleOrFloat(reader: Reader, info: number, start: number): Item {
  const { view, at } = reader;
  if (info === 24) {
    const value = Number(argument(reader, info));
    if (value < 32) throw new Error(`a simple value of two bytes that fits in one at byte ${start}`);
    return { type: 'simple', value };
  }
  if (info >= 25 && info <= 27) {
    take(reader, BigInt(1 << (info - 24)));
    const value =
      info === 25 ? half(view.getUint16(at)) : info === 26 ? view.getFloat32(at) : view.getFloat64(at);
    return { type: 'float', value };
  }
  if (info > 27) throw new Error(`byte ${start} begins no item`);
  const named: Record<number, boolean | null | undefined> = { 20: false, 21: true, 22: null, 23: undefined };
  return { type: 'simple', value: info in named ? named[info] : info };
}

function argument(reader: Reader, info: number): bigint {
  if (info < 24) return BigInt(info);
  const { view, at } = reader;
  if (info > 27) throw new Error(`a length that is reserved at byte ${at - 1}`);
  take(reader, BigInt(1 << (info - 24)));
  if (info === 24) return BigInt(view.getUint8(at));
  if (info === 25) return BigInt(view.getUint16(at));
  return info === 26 ? BigInt(view.getUint32(at)) : view.getBigUint64(at);
}

function take(reader: Reader, length: bigint): Uint8Array {
  const left = reader.bytes.length - reader.at;
  if (length > BigInt(left)) throw new Error(`the bytes end at ${reader.bytes.length}, within an item`);
  const start = reader.at;
  reader.at += Number(length);
  return reader.bytes.subarray(start, reader.at);
}

/** RFC 8949, appendix D. */
function half(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}
