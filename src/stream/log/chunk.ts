import { type EncodedBatch, stampMessages } from '../../contract/encode-messages.ts';
import { type Offset, offsetMs, offsetOf } from '../../contract/offset.ts';
import { TerminalError } from '../../lib/errors.ts';

/** The position of a chunk in its log. */
export interface ChunkSpan {
  firstOffset: Offset;
  /** Offsets within a chunk are consecutive. */
  lastOffset: Offset;
  /** The number of messages that the log had stored before this chunk. */
  firstOrdinal: number;
}

/**
 * Messages that were appended together, stored as one value: the encoded messages one after another, and
 * columns with the start, table and device of each. So a read without a filter returns one slice of the
 * bytes, and a filter does not have to decode messages.
 */
export interface Chunk extends ChunkSpan {
  count: number;
  bytes: Uint8Array;
  /** Message i is the bytes from `starts[i]` to `starts[i + 1]`. */
  starts: Uint32Array;
  /** Indexes into `tables` and `devices`, one for each message. */
  tableIds: Uint16Array;
  deviceIds: Uint16Array;
  tables: string[];
  /** Null for messages without a device. */
  devices: Array<string | null>;
  /** All columns and bytes in one buffer, as a store keeps them. */
  value: Uint8Array;
}

/** A chunk stores the ids of tables and devices in 16 bits. */
export const MESSAGES_PER_CHUNK_MAX = 65_535;

/** The layout of a value: this head, starts, table ids, device ids, names as JSON, messages. */
const FORMAT = 1;
const head = { format: 0, count: 1, namesBytes: 2, firstOrdinal: 4 } as const;
const HEAD_BYTES = 24;

/**
 * Joins batches into one chunk and writes offsets and store times into their messages.
 * @throws RangeError beyond 65,535 messages
 */
export function joinChunk(
  batches: readonly EncodedBatch[],
  firstOffset: Offset,
  firstOrdinal: number,
): Chunk {
  return placeChunk(packChunk(batches), firstOffset, firstOrdinal);
}

/**
 * Joins batches into one chunk that has no offsets yet. `placeChunk` sets them.
 * @throws RangeError beyond 65,535 messages
 */
export function packChunk(batches: readonly EncodedBatch[]): Chunk {
  let count = 0;
  let bytesLength = 0;
  for (const batch of batches) {
    count += batch.count;
    bytesLength += batch.starts[batch.count]! - batch.starts[0]!;
  }
  if (count > MESSAGES_PER_CHUNK_MAX)
    throw new RangeError(`${count} messages are more than a chunk holds (${MESSAGES_PER_CHUNK_MAX})`);

  const tables = dictionary<string>();
  const devices = dictionary<string | null>();
  const tableIds = new Uint16Array(count);
  const deviceIds = new Uint16Array(count);
  let index = 0;
  for (const batch of batches) {
    for (let item = 0; item < batch.count; item++, index++) {
      tableIds[index] = tables.idOf(batch.tables[item]!);
      deviceIds[index] = devices.idOf(batch.devices[item]!);
    }
  }

  const names = Buffer.from(JSON.stringify([tables.names, devices.names]), 'utf8');
  const layout = layoutOf(count, names.length);
  const value = newBytes(layout.bytes + bytesLength);
  const words = new Uint32Array(value.buffer, value.byteOffset, HEAD_BYTES / 4);
  words[head.format] = FORMAT;
  words[head.count] = count;
  words[head.namesBytes] = names.length;
  words.fill(0, head.firstOrdinal);
  value.set(asBytes(tableIds), layout.tableIds);
  value.set(asBytes(deviceIds), layout.deviceIds);
  value.set(names, layout.names);

  const starts = new Uint32Array(value.buffer, value.byteOffset + layout.starts, count + 1);
  const bytes = value.subarray(layout.bytes);
  index = 0;
  let at = 0;
  for (const batch of batches) {
    const origin = batch.starts[0]!;
    bytes.set(batch.bytes.subarray(origin, batch.starts[batch.count]), at);
    for (let item = 0; item < batch.count; item++) starts[index++] = at + batch.starts[item]! - origin;
    at += batch.starts[batch.count]! - origin;
  }
  starts[count] = at;

  return {
    firstOffset: 0n,
    lastOffset: BigInt(count - 1),
    firstOrdinal: 0,
    count,
    bytes,
    starts,
    tableIds,
    deviceIds,
    tables: tables.names,
    devices: devices.names,
    value,
  };
}

/** Sets the position of a chunk: writes offsets and store times into its messages, in the same memory. */
export function placeChunk(chunk: Chunk, firstOffset: Offset, firstOrdinal: number): Chunk {
  const { value, count } = chunk;
  new Float64Array(value.buffer, value.byteOffset + head.firstOrdinal * 4, 1)[0] = firstOrdinal;
  const stamped = { ...chunk, firstOffset, lastOffset: firstOffset + BigInt(count - 1), firstOrdinal };
  stamp(stamped);
  return stamped;
}

/**
 * Reads a stored value. The chunk shares the memory of the value, so the value must not change.
 * @throws TerminalError if a later version has written the value
 */
export function openChunk(firstOffset: Offset, stored: Uint8Array): Chunk {
  // Typed arrays need aligned memory.
  const value = stored.byteOffset % 8 === 0 ? stored : copyOf(stored);
  const { count, namesBytes, firstOrdinal } = readChunkHead(value);
  const layout = layoutOf(count, namesBytes);
  const [tables, devices] = JSON.parse(
    Buffer.from(value.buffer, value.byteOffset + layout.names, namesBytes).toString('utf8'),
  ) as [string[], Array<string | null>];
  return {
    firstOffset,
    lastOffset: firstOffset + BigInt(count - 1),
    firstOrdinal,
    count,
    bytes: value.subarray(layout.bytes),
    starts: new Uint32Array(value.buffer, value.byteOffset + layout.starts, count + 1),
    tableIds: new Uint16Array(value.buffer, value.byteOffset + layout.tableIds, count),
    deviceIds: new Uint16Array(value.buffer, value.byteOffset + layout.deviceIds, count),
    tables,
    devices,
    value,
  };
}

/** Reads the position of a chunk from the first bytes of its value. */
export function openSpan(firstOffset: Offset, stored: Uint8Array): ChunkSpan {
  const { count, firstOrdinal } = readChunkHead(copyOf(stored.subarray(0, HEAD_BYTES)));
  return { firstOffset, lastOffset: firstOffset + BigInt(count - 1), firstOrdinal };
}

/** The index of the first message at or after an offset; `count` if there is none. */
export function indexFrom(chunk: Chunk, offset: Offset): number {
  if (offset <= chunk.firstOffset) return 0;
  return offset > chunk.lastOffset ? chunk.count : Number(offset - chunk.firstOffset);
}

/** How many messages the log had stored before `offset`, if the chunk is the first one that reaches it. */
export function ordinalFrom({ firstOffset, firstOrdinal }: ChunkSpan, offset: Offset): number {
  return firstOrdinal + (offset > firstOffset ? Number(offset - firstOffset) : 0);
}

/** Writes offsets and store times. If the sequence of a millisecond is full, it continues in the next one. */
function stamp(chunk: Chunk): void {
  for (let from = 0; from < chunk.count; ) {
    const firstOffset = chunk.firstOffset + BigInt(from);
    const ms = offsetMs(firstOffset);
    const left = offsetOf(ms + 1) - firstOffset;
    const to = left < BigInt(chunk.count - from) ? from + Number(left) : chunk.count;
    const run = { ...chunk, starts: chunk.starts.subarray(from, to + 1), count: to - from };
    stampMessages({ ...run, tables: [], devices: [] }, firstOffset, ms);
    from = to;
  }
}

function readChunkHead(value: Uint8Array): { count: number; namesBytes: number; firstOrdinal: number } {
  const words = new Uint32Array(value.buffer, value.byteOffset, HEAD_BYTES / 4);
  if (words[head.format] !== FORMAT)
    throw new TerminalError(
      'UnknownFormat',
      `the log holds messages in format ${words[head.format]}, this version reads ${FORMAT}: use a later version`,
    );
  const [firstOrdinal] = new Float64Array(value.buffer, value.byteOffset + head.firstOrdinal * 4, 1);
  return { count: words[head.count]!, namesBytes: words[head.namesBytes]!, firstOrdinal: firstOrdinal! };
}

function layoutOf(count: number, namesBytes: number) {
  const starts = HEAD_BYTES;
  const tableIds = starts + (count + 1) * 4;
  const deviceIds = tableIds + count * 2;
  const names = deviceIds + count * 2;
  return { starts, tableIds, deviceIds, names, bytes: names + namesBytes };
}

/**
 * Names as small integers, in the order of their first use. The last name is kept, because neighbours often
 * have the same one.
 */
function dictionary<Name extends string | null>(): { names: Name[]; idOf(name: Name): number } {
  const names: Name[] = [];
  const ids = new Map<Name, number>();
  let lastName: Name | undefined;
  let lastId = 0;
  return {
    names,
    idOf(name) {
      if (name === lastName) return lastId;
      let id = ids.get(name);
      if (id === undefined) {
        id = names.length;
        names.push(name);
        ids.set(name, id);
      }
      lastName = name;
      lastId = id;
      return id;
    },
  };
}

/**
 * Returns memory that is not zeroed, and that is not from Node's pool. Memory of the pool is not aligned, and
 * the whole pool stays in memory while one part of it is used.
 */
function newBytes(length: number): Uint8Array {
  const buffer = Buffer.allocUnsafeSlow(length);
  return new Uint8Array(buffer.buffer, buffer.byteOffset, length);
}

function copyOf(bytes: Uint8Array): Uint8Array {
  const copy = newBytes(bytes.length);
  copy.set(bytes);
  return copy;
}

function asBytes(column: Uint16Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
}
