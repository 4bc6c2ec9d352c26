import { laterOffset, type Offset } from '../../contract/offset.ts';
import { MEBIBYTE } from '../../lib/units.ts';
import { type Chunk, indexFrom } from './chunk.ts';
import { type MessageSelection, selectFrom, type VisibleNames } from './select-messages.ts';
import type { LogBounds, LogReadOutcome, LogReadRequest, ReadFilter } from './stream-log.ts';

/**
 * A read returns after it has looked through this many messages or bytes, so that a reader with a narrow
 * filter gets a position to continue from.
 */
const MESSAGES_SCANNED_MAX = 200_000;
const BYTES_SCANNED_MAX = 16 * MEBIBYTE;

/**
 * Counts what a read looks through. The function adds to the counts, and returns false when the read has to
 * return.
 */
export function createScanBound(): (messages: number, bytes: number) => boolean {
  let messagesScanned = 0;
  let bytesScanned = 0;
  return (messages, bytes) => {
    messagesScanned += messages;
    bytesScanned += bytes;
    return messagesScanned < MESSAGES_SCANNED_MAX && bytesScanned < BYTES_SCANNED_MAX;
  };
}

/**
 * Reads forward. It ends when the limit or the byte cap of the request is reached, when no message is left,
 * or when `mayContinue` returns false.
 * @param readableFrom the first offset from which no message is gone; a read from an earlier offset is
 *   refused
 * @param chunkFrom returns the first chunk that ends at or after a position. If it never returns a promise,
 *   the whole read runs without an append in between
 */
export async function readChunks(
  request: LogReadRequest,
  bounds: LogBounds,
  readableFrom: Offset,
  chunkFrom: (position: Offset) => Chunk | undefined | Promise<Chunk | undefined>,
): Promise<LogReadOutcome> {
  const from = request.from === 'oldest' ? bounds.earliest : request.from;
  if (from > bounds.next) return { kind: 'ahead', bounds };
  if (from < readableFrom && request.from !== 'oldest') return { kind: 'expired', bounds };
  const { filter, mayContinue = createScanBound() } = request;
  const names = visibleNames(filter);
  const selection: MessageSelection = {
    parts: [],
    count: 0,
    bytes: 0,
    limit: request.limit,
    bytesMax: request.bytesMax,
    oneAtLeast: request.oneAtLeast,
    full: false,
  };
  let position = from;
  while (!selection.full) {
    const start = laterOffset(position, bounds.earliest);
    const found = chunkFrom(start);
    const chunk = found instanceof Promise ? await found : found;
    if (chunk === undefined) break;
    const index = indexFrom(chunk, start);
    const end = selectFrom(chunk, index, names, selection);
    if (end > index) position = chunk.firstOffset + BigInt(end);
    if (!mayContinue(end - index, chunk.bytes.length)) break;
  }
  const { parts, count, bytes, full } = selection;
  const upToDate = position >= bounds.next;
  return { kind: 'batch', parts, count, bytes, nextOffset: position, upToDate, full, bounds };
}

function visibleNames({ table, exceptTable, devices }: ReadFilter = {}): VisibleNames {
  if (table === undefined && exceptTable === undefined) return { devices };
  const has = (name: string) => name !== exceptTable && (table === undefined || name === table);
  return { tables: { has }, devices };
}
