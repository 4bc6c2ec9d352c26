import { randomUUID } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { type Database, open, type RootDatabase } from 'lmdb';
import type { Offset } from '../../contract/offset.ts';
import { TerminalError, TransientError } from '../../lib/errors.ts';
import { openChunk, openSpan } from './chunk.ts';
import type { ChunkStore, StoreTail } from './chunk-store.ts';
import { createSequencedLog, type LogOptions } from './sequenced-log.ts';
import type { StreamLog } from './stream-log.ts';

export interface LmdbLogOptions extends LogOptions {
  /** A folder of this log's own. */
  path: string;
  /** Bytes that can still be written to the disk a path is on. */
  freeBytes?: (path: string) => number;
}

/** Address space, not disk: the file grows as it is written, and its pages are used again after a trim. */
const MAP_BYTES = 16 * 1024 ** 3;
/** Chunks removed in one transaction, so that appends in between do not wait long. */
const TRIM_CHUNKS_MAX = 500;
/**
 * Appends stop before the disk is full: lmdb 3.5 writes beyond a buffer of its own when the system refuses a write,
 * which may end the process. Trims go on for longer, since they make room.
 */
const FREE_BYTES_MIN = { append: 64 * 1024 ** 2, trim: 4 * 1024 ** 2 } as const;
const FORMAT = 1;

/**
 * Opens the log of a workgroup on disk, a new one where there is none. Each workgroup has an environment of its own:
 * LMDB has one writer an environment, so none waits for another's sync, and a log is moved or deleted as a folder.
 *
 * A second process that opens the same log takes it over: the first can append no more.
 * @throws TerminalError where the log was written by a later version
 */
export function openLmdbLog(options: LmdbLogOptions): StreamLog {
  return createSequencedLog(openLmdbStore(options.path, options.freeBytes ?? freeBytesOnDisk), options);
}

/** What the log keeps about itself, under one key, beside its chunks. */
interface LogHead {
  format: number;
  epoch: string;
  /** Decimal text; absent until something was trimmed. */
  trimmedThrough?: string;
  /** How many messages had been taken up to there. */
  trimmedOrdinal: number;
}

const HEAD_KEY = 'head';
const OWNER_KEY = 'owner';

function openLmdbStore(path: string, freeBytes: (path: string) => number): ChunkStore {
  const environment: RootDatabase = open({
    path,
    mapSize: MAP_BYTES,
    // A commit resolves after its own sync; overlapping syncs take four times as long for a chunk and report no failure.
    overlappingSync: false,
    // With event-turn batches a failed commit also rejects a promise that nobody can catch, which ends the process.
    eventTurnBatching: false,
  });
  const chunks: Database<Buffer, Buffer> = environment.openDB('chunks', {
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  const heads: Database<LogHead, string> = environment.openDB('head', { encoding: 'json' });
  const owners: Database<string, string> = environment.openDB('owner', {
    encoding: 'json',
    useVersions: true,
  });

  let head = readLogHead(heads, path);
  const ownership = (owners.getEntry(OWNER_KEY)?.version ?? 0) + 1;
  owners.putSync(OWNER_KEY, randomUUID(), ownership);
  let tail = readTail(chunks, head);

  /**
   * Applies writes in one durable transaction.
   * @throws TransientError on a disk that is almost full, TerminalError once another process has taken the log over
   */
  const write = async (freeBytesMin: number, action: () => void): Promise<void> => {
    const free = freeBytes(path);
    if (free < freeBytesMin)
      throw new TransientError('DiskFull', `only ${free} bytes are left on the disk of the log`, {
        details: { freeBytes: free, freeBytesMin },
      });
    let owned: boolean;
    try {
      owned = await owners.ifVersion(OWNER_KEY, ownership, action);
    } catch (error) {
      throw await commitFault(error);
    }
    if (!owned)
      throw new TerminalError('LogTakenOver', 'another process has opened the log; this one writes no more');
  };

  return {
    epoch: head.epoch,
    tail: () => tail,
    async append(chunk) {
      try {
        await write(FREE_BYTES_MIN.append + chunk.value.length, () => {
          chunks.put(keyOf(chunk.firstOffset), chunk.value as Buffer);
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
      return value && openChunk(firstOffset, value);
    },
    spanFrom: (offset) => findSpan(chunks, offset),
    async trimBefore(offset) {
      for (;;) {
        const spans = spansBefore(chunks, offset, TRIM_CHUNKS_MAX);
        const last = spans.at(-1);
        if (last === undefined) return;
        const trimmed: LogHead = {
          ...head,
          trimmedThrough: String(last.lastOffset),
          trimmedOrdinal: last.firstOrdinal + Number(last.lastOffset - last.firstOffset) + 1,
        };
        await write(FREE_BYTES_MIN.trim, () => {
          for (const span of spans) chunks.remove(keyOf(span.firstOffset));
          heads.put(HEAD_KEY, trimmed);
        });
        head = trimmed;
        tail = { ...tail, trimmedThrough: last.lastOffset };
        if (spans.length < TRIM_CHUNKS_MAX) return;
      }
    },
    async close() {
      await environment.close();
    },
  };
}

function readLogHead(heads: Database<LogHead, string>, path: string): LogHead {
  const found = heads.get(HEAD_KEY);
  if (found === undefined) {
    const head = { format: FORMAT, epoch: randomUUID(), trimmedOrdinal: 0 };
    heads.putSync(HEAD_KEY, head);
    return head;
  }
  if (found.format === FORMAT) return found;
  throw new TerminalError(
    'UnknownFormat',
    `the log ${path} has format ${found.format}, this version reads ${FORMAT}: use a later version`,
  );
}

function readTail(chunks: Database<Buffer, Buffer>, head: LogHead): StoreTail {
  const trimmedThrough = head.trimmedThrough === undefined ? undefined : BigInt(head.trimmedThrough);
  for (const key of chunks.getKeys({ reverse: true, limit: 1 })) {
    const span = spanOf(chunks, key);
    const count = Number(span.lastOffset - span.firstOffset) + 1;
    return { lastOffset: span.lastOffset, trimmedThrough, nextOrdinal: span.firstOrdinal + count };
  }
  return { lastOffset: trimmedThrough, trimmedThrough, nextOrdinal: head.trimmedOrdinal };
}

/** The first chunk whose last message is at or after `offset`: the one that begins there or before it, or the next. */
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
  return openSpan(key.readBigUInt64BE(), value);
}

function keyOf(offset: Offset): Buffer {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(offset);
  return key;
}

function freeBytesOnDisk(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/** The cause of a failed commit hangs on the error as a promise of its own, which must be looked at. */
async function commitFault(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    await error.commitError;
  } catch (cause) {
    return cause;
  }
  return error;
}
