import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing, TerminalError } from '../../lib/errors.ts';
import { formatCount } from '../../lib/format-count.ts';

/**
 * The first two pages of an LMDB file describe it. The one with the higher transaction counts. A page begins
 * with a header of 24 bytes. Then it has the magic number (4 bytes), the version (4), an address (8), the
 * size of the map (8) and two tables of 48 bytes. The number of the last page (8) and the transaction (8)
 * follow. The first table begins with the size of a page.
 */
const MAGIC = 0xbeefc0de;
const HEADER_BYTES = 24;
const PAGE_BYTES_AT = HEADER_BYTES + 24;
const LAST_PAGE_AT = HEADER_BYTES + 24 + 2 * 48;
const TRANSACTION_AT = LAST_PAGE_AT + 8;
const META_BYTES = TRANSACTION_AT + 8;
/**
 * At most this many pages can be missing at the end of a good file: a transaction has allocated and freed
 * them, and never wrote them.
 */
const MISSING_PAGES_MAX = 16;

/**
 * Checks that the file of a log is complete. LMDB maps the file into memory, and the system ends the process
 * if it reads beyond the end.
 * @param path the folder of the log
 * @throws TerminalError DamagedLog if a part of the file is missing, or if it is not a file of LMDB
 */
export function checkLmdbFile(path: string): void {
  const file = join(path, 'data.mdb');
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  try {
    const { size } = fstatSync(descriptor);
    // LMDB writes the first pages of an empty file itself.
    if (size === 0) return;
    const first = readMeta(descriptor, 0);
    const second = first && readMeta(descriptor, first.pageBytes);
    if (!first) throw notALog(file);
    const meta = second && second.transaction > first.transaction ? second : first;
    const wantedBytes = (Number(meta.lastPage) + 1) * meta.pageBytes;
    if (size + MISSING_PAGES_MAX * meta.pageBytes < wantedBytes) throw damagedError(file, size, wantedBytes);
  } finally {
    closeSync(descriptor);
  }
}

function readMeta(descriptor: number, at: number) {
  const bytes = Buffer.alloc(META_BYTES);
  if (readSync(descriptor, bytes, 0, META_BYTES, at) < META_BYTES) return undefined;
  if (bytes.readUInt32LE(HEADER_BYTES) !== MAGIC) return undefined;
  return {
    pageBytes: bytes.readUInt32LE(PAGE_BYTES_AT),
    lastPage: bytes.readBigUInt64LE(LAST_PAGE_AT),
    transaction: bytes.readBigUInt64LE(TRANSACTION_AT),
  };
}

function notALog(file: string): TerminalError {
  return new TerminalError(
    'DamagedLog',
    `the file ${file} is not a log. Stop the service, move the file aside, and start again: a new log begins`,
    { details: { file } },
  );
}

function damagedError(file: string, bytes: number, wantedBytes: number): TerminalError {
  return new TerminalError(
    'DamagedLog',
    `the log ${file} is damaged: it has ${formatCount(bytes)} of ${formatCount(wantedBytes)} bytes. Stop the service, move its folder aside, and start again: a new log begins. Messages that were not read yet are lost, and messages that have landed are in the warehouse and the lake`,
    { details: { file, bytes, wantedBytes } },
  );
}
