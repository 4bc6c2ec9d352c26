import type { Chunk } from './chunk.ts';

type Names = Pick<ReadonlySet<string>, 'has'>;

/** The names a caller may see. An absent member does not filter. */
export interface VisibleNames {
  tables?: Names | undefined;
  devices?: Names | undefined;
}

/** The state of a read: the selected messages, and its limits. */
export interface MessageSelection {
  parts: Uint8Array[];
  count: number;
  bytes: number;
  limit: number;
  bytesMax: number;
  /** True if the first message may exceed `bytesMax`. */
  oneAtLeast: boolean;
  /** True when the limit or the byte cap is reached. */
  full: boolean;
}

/**
 * Selects the visible messages of a chunk from `index` on, until the selection is full.
 * @returns one past the last message that was scanned
 */
export function selectFrom(
  chunk: Chunk,
  index: number,
  names: VisibleNames,
  selection: MessageSelection,
): number {
  const tables = visibility(chunk.tables, names.tables);
  const devices = visibility(chunk.devices, names.devices);
  if (tables === 'none' || devices === 'none') return chunk.count;
  if (tables === 'all' && devices === 'all') return takeRun(chunk, index, selection);
  return takeVisible(chunk, index, tables, devices, selection);
}

/** The visible names of a chunk: one byte for each name, or a word if all or none are visible. */
type Visibility = 'all' | 'none' | Uint8Array;

function visibility<Name extends string | null>(
  names: readonly Name[],
  allowed: Names | undefined,
): Visibility {
  if (allowed === undefined) return 'all';
  const visible = new Uint8Array(names.length);
  let count = 0;
  for (const [id, name] of names.entries()) {
    if (name === null || !allowed.has(name)) continue;
    visible[id] = 1;
    count++;
  }
  return count === names.length ? 'all' : count === 0 ? 'none' : visible;
}

/** Selects one slice, because all messages are visible. */
function takeRun(chunk: Chunk, index: number, selection: MessageSelection): number {
  const { starts } = chunk;
  let end = Math.min(chunk.count, index + selection.limit - selection.count);
  const from = starts[index]!;
  const bytesLeft = selection.bytesMax - selection.bytes;
  if (starts[end]! - from > bytesLeft) {
    end = lastStartWithin(starts, index, end, from + bytesLeft);
    if (end === index && selection.count === 0 && selection.oneAtLeast) end = index + 1;
  }
  if (end > index) {
    selection.parts.push(chunk.bytes.subarray(from, starts[end]!));
    selection.count += end - index;
    selection.bytes += starts[end]! - from;
  }
  selection.full = end < chunk.count || isFull(selection);
  return end;
}

/** The largest index from `low` to `high` with a start of at most `position`. */
function lastStartWithin(starts: Uint32Array, low: number, high: number, position: number): number {
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (starts[middle]! <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}

function takeVisible(
  chunk: Chunk,
  index: number,
  tables: 'all' | Uint8Array,
  devices: 'all' | Uint8Array,
  selection: MessageSelection,
): number {
  const { starts, tableIds, deviceIds } = chunk;
  const picked = new Uint32Array(chunk.count - index);
  let pickedCount = 0;
  let bytes = 0;
  let end = index;
  for (; end < chunk.count; end++) {
    if (tables !== 'all' && tables[tableIds[end]!] === 0) continue;
    if (devices !== 'all' && devices[deviceIds[end]!] === 0) continue;
    const length = starts[end + 1]! - starts[end]!;
    const isFirst = selection.count + pickedCount === 0;
    if (selection.bytes + bytes + length > selection.bytesMax && !(isFirst && selection.oneAtLeast)) {
      selection.full = true;
      break;
    }
    picked[pickedCount++] = end;
    bytes += length;
    if (selection.count + pickedCount === selection.limit) {
      end++;
      break;
    }
  }
  if (pickedCount > 0) selection.parts.push(copyPicked(chunk, picked.subarray(0, pickedCount), bytes));
  selection.count += pickedCount;
  selection.bytes += bytes;
  selection.full ||= isFull(selection);
  return end;
}

function isFull(selection: MessageSelection): boolean {
  return selection.count >= selection.limit || selection.bytes >= selection.bytesMax;
}

/** Copies the picked messages into one buffer. Neighbours are copied together. */
function copyPicked(chunk: Chunk, picked: Uint32Array, bytes: number): Uint8Array {
  const { starts } = chunk;
  const target = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (let i = 0; i < picked.length; ) {
    const first = picked[i]!;
    let last = first;
    i++;
    while (i < picked.length && picked[i] === last + 1) {
      last++;
      i++;
    }
    target.set(chunk.bytes.subarray(starts[first]!, starts[last + 1]!), at);
    at += starts[last + 1]! - starts[first]!;
  }
  return target;
}
