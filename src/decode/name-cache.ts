/**
 * The ids of names by their bytes, so that a known name is found without building a string. It is a hash
 * table with open addressing over one buffer of bytes. Slots number the names in the order in which they were
 * added.
 */
export interface NameCache {
  arena: Uint8Array;
  arenaUsed: number;
  /** The position of a name in the buffer, by slot. */
  starts: Uint32Array;
  lengths: Uint32Array;
  ids: Int32Array;
  names: string[];
  /** Slots by hash; -1 for a free place. At most half of the places are used, so searches stay short. */
  table: Int32Array;
}

/** Further names are not cached, so that a sender who invents names cannot fill the memory. */
const NAMES_MAX = 1 << 15;
/**
 * A search ends after this many places, so that names with equal hashes stay cheap. A name without a place is
 * not cached.
 */
const PROBES_MAX = 16;

export function createNameCache(): NameCache {
  return {
    arena: new Uint8Array(4096),
    arenaUsed: 0,
    starts: new Uint32Array(128),
    lengths: new Uint32Array(128),
    ids: new Int32Array(128),
    names: [],
    table: new Int32Array(256).fill(-1),
  };
}

/** The slot of the name in the bytes from `start` to `end`, or -1 if the name is not in the cache. */
export function findName(cache: NameCache, bytes: Uint8Array, start: number, end: number): number {
  const { table } = cache;
  const mask = table.length - 1;
  const first = hash(bytes, start, end);
  for (let probe = first; probe < first + PROBES_MAX; probe++) {
    const slot = table[probe & mask]!;
    if (slot < 0 || isNameAt(cache, slot, bytes, start, end)) return slot;
  }
  return -1;
}

/** True if the name of the slot equals the bytes from `start` to `end`. */
export function isNameAt(
  cache: NameCache,
  slot: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  const length = end - start;
  if (cache.lengths[slot] !== length) return false;
  const { arena } = cache;
  const nameStart = cache.starts[slot]!;
  for (let index = 0; index < length; index++) {
    if (arena[nameStart + index] !== bytes[start + index]) return false;
  }
  return true;
}

/** Adds a name. Returns its slot, or -1 if there is no place for it. */
export function addName(
  cache: NameCache,
  bytes: Uint8Array,
  start: number,
  end: number,
  entry: { id: number; name: string },
): number {
  const slot = cache.names.length;
  if (slot >= NAMES_MAX) return -1;
  if (slot >= cache.starts.length) growSlots(cache);
  const place = freePlace(cache.table, hash(bytes, start, end));
  if (place < 0) return -1;
  while (cache.arenaUsed + end - start > cache.arena.length) cache.arena = doubled(cache.arena);
  cache.arena.set(bytes.subarray(start, end), cache.arenaUsed);
  cache.starts[slot] = cache.arenaUsed;
  cache.lengths[slot] = end - start;
  cache.arenaUsed += end - start;
  cache.ids[slot] = entry.id;
  cache.names.push(entry.name);
  cache.table[place] = slot;
  return slot;
}

function growSlots(cache: NameCache): void {
  cache.starts = doubled(cache.starts);
  cache.lengths = doubled(cache.lengths);
  cache.ids = doubled(cache.ids);
  const { arena, starts, lengths } = cache;
  cache.table = new Int32Array(cache.table.length * 2).fill(-1);
  for (let slot = 0; slot < cache.names.length; slot++) {
    const start = starts[slot]!;
    const place = freePlace(cache.table, hash(arena, start, start + lengths[slot]!));
    if (place >= 0) cache.table[place] = slot;
  }
}

function freePlace(table: Int32Array, first: number): number {
  const mask = table.length - 1;
  for (let probe = first; probe < first + PROBES_MAX; probe++) {
    if (table[probe & mask]! < 0) return probe & mask;
  }
  return -1;
}

/** FNV-1a, folded to 31 bits. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let value = 0x811c9dc5;
  for (let at = start; at < end; at++) value = Math.imul(value ^ bytes[at]!, 0x01000193);
  return (value ^ (value >>> 15)) & 0x7fff_ffff;
}

function doubled<Column extends Uint8Array | Uint32Array | Int32Array>(column: Column): Column {
  const larger = new (column.constructor as new (length: number) => Column)(column.length * 2);
  larger.set(column);
  return larger;
}
