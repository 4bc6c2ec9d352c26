import { isUtf8 } from 'node:buffer';
import { cborInitial, cborMajor, floatAt, headBigint, headLength, majorOf } from '../cbor/cbor-head.ts';

/**
 * A CBOR item (RFC 8949) with its encoding. `decodeCbor` refuses items that are not plain data. This reader
 * reads every well-formed item, so that a rule can report the item that a server sent.
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

/**
 * Reads bytes that are one item.
 * @throws Error with what is wrong, and at which byte
 */
export function readItem(bytes: Uint8Array): Item {
  const reader = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), at: 0 };
  const item = nextItem(reader, 0);
  if (reader.at !== bytes.length)
    throw new Error(`${bytes.length - reader.at} bytes after the end of the item`);
  return item;
}

/** The value of an item: integers beyond 2^53 are bigints, and a tag is left out. */
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

/** A member of a map by its name; undefined if the map lacks it, or if the item is not a map. */
export function itemMember(item: Item | undefined, name: string): Item | undefined {
  if (item?.type !== 'map') return undefined;
  return item.members.find(([key]) => key.type === 'text' && key.value === name)?.[1];
}

/** The items of an array; none if the item is not an array. */
export function itemsOf(item: Item | undefined): Item[] {
  return item?.type === 'array' ? item.items : [];
}

interface Reader {
  bytes: Uint8Array;
  view: DataView;
  at: number;
}

/** The head of an item. */
interface Head {
  start: number;
  initial: number;
  isIndefinite: boolean;
}

function nextHead(reader: Reader): Head {
  const start = reader.at;
  const initial = reader.bytes[start];
  if (initial === undefined) throw new Error(`the bytes end at ${start}, within an item`);
  const length = headLength(initial);
  if (length === 0) throw new Error(`a length that is reserved at byte ${start}`);
  take(reader, BigInt(length));
  return { start, initial, isIndefinite: (initial & 31) === 31 };
}

function nextItem(reader: Reader, depth: number): Item {
  if (depth > DEPTH_MAX) throw new Error(`nested more than ${DEPTH_MAX} levels deep at byte ${reader.at}`);
  const head = nextHead(reader);
  const indefinite = head.isIndefinite;
  switch (majorOf(head.initial)) {
    case cborMajor.uint:
      return { type: 'integer', value: argumentOf(reader, head) };
    case cborMajor.negative:
      return { type: 'integer', value: -1n - argumentOf(reader, head) };
    case cborMajor.bytes:
      return { type: 'bytes', value: readString(reader, head), indefinite };
    case cborMajor.text: {
      const encoded = readString(reader, head);
      if (!isUtf8(encoded)) throw new Error(`text at byte ${head.start} is not UTF-8`);
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(encoded);
      return { type: 'text', value: text, indefinite };
    }
    case cborMajor.array: {
      const items: Item[] = [];
      for (const _ of parts(reader, head)) items.push(nextItem(reader, depth + 1));
      return { type: 'array', items, indefinite };
    }
    case cborMajor.map: {
      const members: Array<[Item, Item]> = [];
      for (const _ of parts(reader, head))
        members.push([nextItem(reader, depth + 1), nextItem(reader, depth + 1)]);
      return { type: 'map', members, indefinite };
    }
    case cborMajor.tag:
      return { type: 'tag', tag: argumentOf(reader, head), item: nextItem(reader, depth + 1) };
    default:
      return simpleOrFloat(reader, head);
  }
}

function argumentOf({ view }: Reader, { start, isIndefinite }: Head): bigint {
  if (isIndefinite) throw new Error(`an integer or a tag without a length at byte ${start}`);
  return headBigint(view, start);
}

/**
 * Yields once for each item of an array, or each member of a map, until the count or the break is reached.
 */
function* parts(reader: Reader, head: Head): Generator<void> {
  if (!head.isIndefinite) {
    for (let left = argumentOf(reader, head); left > 0n; left--) yield;
    return;
  }
  while (reader.bytes[reader.at] !== cborInitial.break) yield;
  reader.at++;
}

function readString(reader: Reader, head: Head): Uint8Array {
  if (!head.isIndefinite) return take(reader, argumentOf(reader, head));
  const chunks: Uint8Array[] = [];
  for (const _ of parts(reader, head)) {
    const part = nextHead(reader);
    if (majorOf(part.initial) !== majorOf(head.initial) || part.isIndefinite)
      throw new Error(`a string of indefinite length has a part of another type at byte ${part.start}`);
    chunks.push(take(reader, argumentOf(reader, part)));
  }
  return new Uint8Array(Buffer.concat(chunks));
}

function simpleOrFloat({ view }: Reader, { start, initial }: Head): Item {
  switch (initial) {
    case cborInitial.false:
    case cborInitial.true:
      return { type: 'simple', value: initial === cborInitial.true };
    case cborInitial.null:
      return { type: 'simple', value: null };
    case cborInitial.undefined:
      return { type: 'simple', value: undefined };
    case cborInitial.float16:
    case cborInitial.float32:
    case cborInitial.float64:
      return { type: 'float', value: floatAt(view, start) };
    case cborInitial.break:
      throw new Error(`a break outside of an indefinite length at byte ${start}`);
    default: {
      const simple = Number(headBigint(view, start));
      if (initial === cborInitial.simpleInNextByte && simple < 32)
        throw new Error(`a simple value of two bytes that fits in one at byte ${start}`);
      return { type: 'simple', value: simple };
    }
  }
}

function take(reader: Reader, length: bigint): Uint8Array {
  const left = reader.bytes.length - reader.at;
  if (length > BigInt(left)) throw new Error(`the bytes end at ${reader.bytes.length}, within an item`);
  const start = reader.at;
  reader.at += Number(length);
  return reader.bytes.subarray(start, reader.at);
}
