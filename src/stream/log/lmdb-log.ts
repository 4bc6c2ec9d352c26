import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import type { Offset } from '../../contract/offset.ts';
import { TerminalError, TransientError } from '../../lib/errors.ts';
import { openChunk, openSpan } from './chunk.ts';
import type { ChunkStore, StoreTail } from './chunk-store.ts';
import { APPEND_BYTES_MIN, diskFullWords, freeBytesOnDisk, TRIM_BYTES_MIN } from './log-disk.ts';
import { requireOpenable } from './require-openable.ts';
import { createSequencedLog, type LogOptions } from './sequenced-log.ts';
import type { LogHead, StreamLog } from './stream-log.ts';

interface LmdbLogOptions extends LogOptions {
  /** The folder of this log alone. */
  path: string;
  /** Free bytes on the disk of a path. */
  freeBytes?: (path: string) => number;
  /** Address space that the log takes when it is opened. lmdb-js takes more if the file becomes larger. */
  mapBytes?: number;
}

/** Address space, not disk space: the file grows as it is written, and trimmed pages are used again. */
const MAP_BYTES = 16 * 1024 ** 3;
/** LMDB reads whole pages, and gives a chunk pages of its own unless it is small. */
const PAGE_BYTES = 4_096;
/** Chunks that one transaction removes. Appends wait for this transaction. */
const TRIM_CHUNKS_MAX = 500;
const FORMAT = 1;
/** Logs that are open in this process. */
let openLogs = 0;

/**
 * Opens the log of a workgroup on disk, and creates it if needed. Each workgroup has its own LMDB
 * environment, because an environment has one writer. So no workgroup waits until the messages of another one
 * are on the disk, and a log can be moved or deleted as a folder.
 *
 * If a second process opens the same log, the first process cannot append any more.
 * @throws TerminalError if a later version has written the log, or if the file is damaged or cannot be
 *   written
 * @throws TransientError `DiskFull` if the disk is full, because opening also writes; `TooManyFiles` or
 *   `TooManyLogs` if the process has too many files or logs open
 */
export function openLmdbLog(options: LmdbLogOptions): StreamLog {
  const { path, freeBytes = freeBytesOnDisk, mapBytes = MAP_BYTES } = options;
  mkdirSync(path, { recursive: true });
  requireSpace(path, freeBytes, TRIM_BYTES_MIN);
  requireOpenable(path, openLogs);
  return createSequencedLog(openLmdbStore(path, freeBytes, mapBytes), options);
}

/** @throws TransientError `DiskFull` */
function requireSpace(path: string, freeBytes: (path: string) => number, freeBytesMin: number): void {
  const free = freeBytes(path);
  if (free < freeBytesMin)
    throw new TransientError('DiskFull', diskFullWords(path, free), {
      details: { path, freeBytes: free, freeBytesMin },
    });
}

/**
 * Reads the end of a log that is not open in this process. It does not take the log over.
 * @returns undefined if there is no log yet
 * @throws TerminalError DamagedLog if a part of its file is missing; other errors as `openLmdbLog`
 */
export async function readLmdbHead(path: string): Promise<LogHead | undefined> {
  if (!existsSync(join(path, 'data.mdb'))) return undefined;
  requireOpenable(path, openLogs);
  const environment = open({ path, mapSize: MAP_BYTES, readOnly: true });
  try {
    const heads: Database<StoredHead, string> = environment.openDB('head', { encoding: 'json' });
    const head = heads.get(HEAD_KEY);
    if (head === undefined) return undefined;
    const chunks: Database<Buffer, Buffer> = environment.openDB('chunks', {
      encoding: 'binary',
      keyEncoding: 'binary',
    });
    const { lastOffset, trimmedThrough } = readTail(chunks, head);
    const next = lastOffset === undefined ? 0n : lastOffset + 1n;
    return { epoch: head.epoch, next, isEmpty: lastOffset === trimmedThrough };
  } finally {
    await environment.close();
  }
}

/** The log's own data, under one key. */
interface StoredHead {
  format: number;
  epoch: string;
  /** Decimal text; absent until the first trim. */
  trimmedThrough?: string;
  /** The number of messages that the log had stored up to `trimmedThrough`. */
  trimmedOrdinal: number;
}

const HEAD_KEY = 'head';
const OWNER_KEY = 'owner';

function openLmdbStore(path: string, freeBytes: (path: string) => number, mapBytes: number): ChunkStore {
  const environment: RootDatabase = open({
    path,
    mapSize: mapBytes,
    // With overlapping syncs a chunk takes four times as long, and failures are not reported.
    overlappingSync: false,
    // With batches of event turns a failed commit also rejects a promise that cannot be caught, which ends
    // the process.
    eventTurnBatching: false,
  });
  openLogs += 1;
  const chunks: Database<Buffer, Buffer> = environment.openDB('chunks', {
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  const heads: Database<StoredHead, string> = environment.openDB('head', { encoding: 'json' });
  const owners: Database<string, string> = environment.openDB('owner', {
    encoding: 'json',
    useVersions: true,
  });

  let head = readLogHead(heads, path);
  const ownership = (owners.getEntry(OWNER_KEY)?.version ?? 0) + 1;
  owners.putSync(OWNER_KEY, randomUUID(), ownership);
  let tail = readTail(chunks, head);
  let fileBytesRead = 0;

  /**
   * Applies the writes of `action` in one durable transaction. Nobody waits for their promises, because each
   * ends with the transaction.
   * @throws TransientError if the disk is almost full, TerminalError if another process has opened the log
   */
  const write = async (freeBytesMin: number, action: () => void): Promise<void> => {
    requireSpace(path, freeBytes, freeBytesMin);
    let isOwned: boolean;
    try {
      isOwned = await owners.ifVersion(OWNER_KEY, ownership, action);
    } catch (error) {
      throw await commitFault(error);
    }
    if (!isOwned)
      throw new TerminalError(
        'LogTakenOver',
        'another process has opened the log; this process cannot append any more',
      );
  };

  return {
    epoch: head.epoch,
    get fileBytesRead() {
      return fileBytesRead;
    },
    tail: () => tail,
    async append(chunk) {
      try {
        await write(APPEND_BYTES_MIN + chunk.value.length, () => {
          void chunks.put(keyOf(chunk.firstOffset), chunk.value as Buffer);
        });
      } catch (error) {
        tail = readTail(chunks, head);
        throw error;
      }
      tail = { ...tail, lastOffset: chunk.lastOffset, nextOrdinal: chunk.firstOrdinal + chunk.count };
    },
    chunkFrom(offset) {
      const firstOffset = findSpan(chunks, offset)?.firstOffset;
      if (firstOffset === undefined) return undefined;
      const value = chunks.getBinary(keyOf(firstOffset));
      fileBytesRead += pageBytes(value?.length ?? 0);
      return value && openChunk(firstOffset, value);
    },
    spanFrom: (offset) => findSpan(chunks, offset),
    async trimBefore(offset) {
      for (;;) {
        const spans = spansBefore(chunks, offset, TRIM_CHUNKS_MAX);
        const last = spans.at(-1);
        if (last === undefined) return;
        const trimmed: StoredHead = {
          ...head,
          trimmedThrough: String(last.lastOffset),
          trimmedOrdinal: last.firstOrdinal + Number(last.lastOffset - last.firstOffset) + 1,
        };
        await write(TRIM_BYTES_MIN, () => {
          for (const span of spans) void chunks.remove(keyOf(span.firstOffset));
          void heads.put(HEAD_KEY, trimmed);
        });
        for (const { bytes } of spans) fileBytesRead += pageBytes(bytes);
        head = trimmed;
        tail = { ...tail, trimmedThrough: last.lastOffset };
        if (spans.length < TRIM_CHUNKS_MAX) return;
      }
    },
    async close() {
      await environment.close();
      openLogs -= 1;
    },
  };
}

function readLogHead(heads: Database<StoredHead, string>, path: string): StoredHead {
  const stored = heads.get(HEAD_KEY);
  if (stored === undefined) {
    const head = { format: FORMAT, epoch: randomUUID(), trimmedOrdinal: 0 };
    heads.putSync(HEAD_KEY, head);
    return head;
  }
  if (stored.format === FORMAT) return stored;
  throw new TerminalError(
    'UnknownFormat',
    `the log ${path} has format ${stored.format}, this version reads ${FORMAT}: use a later version`,
  );
}

function readTail(chunks: Database<Buffer, Buffer>, head: StoredHead): StoreTail {
  const trimmedThrough = head.trimmedThrough === undefined ? undefined : BigInt(head.trimmedThrough);
  for (const key of chunks.getKeys({ reverse: true, limit: 1 })) {
    const span = spanOf(chunks, key);
    const count = Number(span.lastOffset - span.firstOffset) + 1;
    return { lastOffset: span.lastOffset, trimmedThrough, nextOrdinal: span.firstOrdinal + count };
  }
  return { lastOffset: trimmedThrough, trimmedThrough, nextOrdinal: head.trimmedOrdinal };
}

/**
 * The first chunk that ends at or after `offset`. It is the last chunk that begins at or before `offset`, or
 * the chunk after that one.
 */
function findSpan(chunks: Database<Buffer, Buffer>, offset: Offset) {
  for (const key of chunks.getKeys({ start: keyOf(offset), reverse: true, limit: 1 })) {
    const span = spanOf(chunks, key);
    if (span.lastOffset >= offset) return span;
  }
  for (const key of chunks.getKeys({ start: keyOf(offset), limit: 1 })) return spanOf(chunks, key);
  return undefined;
}

function spansBefore(chunks: Database<Buffer, Buffer>, offset: Offset, countMax: number) {
  const spans = [];
  for (const key of chunks.getKeys({ limit: countMax })) {
    const span = spanOf(chunks, key);
    if (span.lastOffset >= offset) break;
    spans.push(span);
  }
  return spans;
}

function spanOf(chunks: Database<Buffer, Buffer>, key: Buffer) {
  const value = chunks.getBinaryFast(key);
  if (value === undefined) throw new TerminalError('BrokenLog', 'a chunk of the log has no value');
  return { ...openSpan(key.readBigUInt64BE(), value), bytes: value.length };
}

/** The bytes of the pages that a value takes. */
function pageBytes(valueBytes: number): number {
  return Math.ceil(valueBytes / PAGE_BYTES) * PAGE_BYTES;
}

function keyOf(offset: Offset): Buffer {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(offset);
  return key;
}

/** lmdb attaches the cause of a failed commit as a promise, which must be awaited. */
async function commitFault(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    await error.commitError;
  } catch (cause) {
    return cause;
  }
  return error;
}
