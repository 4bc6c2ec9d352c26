import type { DuckDBConnection } from '@duckdb/node-api';
import type { Clock } from '../lib/time.ts';
import { IMPORT_BATCHES_MAX } from '../warehouse/import-batches.ts';
import { query } from '../warehouse/query.ts';
import type { Shard } from '../warehouse/shard.ts';

/** The identity of a file in the ledger. */
interface FileIdentity {
  path: string;
  table: string;
  bytes: number;
  contentHash: string;
  mappingHash: string;
}

/** The progress of a file. */
export interface FileCounts {
  rowsRead: number;
  rowsLanded: number;
  rowsRejected: number;
  rejected: Record<string, number>;
}

/** An import in progress, with its reserved ids. */
export interface ImportEntry {
  importId: number;
  /** The origin of its batches. It has its own checkpoint. */
  origin: string;
  /** The first id of its batches. Batches of other origins that land during the import have lower ids. */
  firstBatchId: number;
  /**
   * The first offset of its rows. It is below all offsets of the stream, and above the offsets of all earlier
   * files.
   */
  baseOffset: bigint;
  /** A part of the file has already landed. */
  isResumed: boolean;
}

type BeginOutcome =
  | { kind: 'begun'; entry: ImportEntry }
  | { kind: 'landed-before'; importId: number; lastBatchId: number; counts: FileCounts; landedAtMs: number };

/** Offsets of the stream begin at 2^60. A file has at most 2^36 rows. */
const ROW_BITS = 36n;

/**
 * Enters a file in the ledger, or finds its entry to continue it. Only one file is imported at a time. If
 * another file was not finished, its rows are removed. Otherwise it could be continued later with batch ids
 * that are lower than those that later stages have already read.
 */
export async function beginFile(shard: Shard, file: FileIdentity, clock: Clock): Promise<BeginOutcome> {
  return shard.transaction(async (connection) => {
    const [known] = await query<FileRow>(connection, 'import/find_import', {
      content_hash: file.contentHash,
      mapping_hash: file.mappingHash,
    });
    if (known?.state === 'landed') return landedBefore(known);
    const unfinished = await query<{ import_id: bigint }>(connection, 'import/find_unfinished');
    for (const { import_id } of unfinished) {
      if (import_id !== known?.import_id)
        await dropFile(connection, entryOf(Number(import_id), '', { isResumed: true }), clock);
    }
    if (known) {
      return {
        kind: 'begun',
        entry: entryOf(Number(known.import_id), file.contentHash, { isResumed: known.rows_read > 0n }),
      };
    }
    const [last] = await query<{ batch_id: bigint }>(connection, 'land/find_last_batch');
    const [next] = await query<{ import_id: bigint }>(connection, 'import/find_next_import_id', {
      last_batch_id: last!.batch_id,
      batches_max: IMPORT_BATCHES_MAX,
    });
    const importId = Number(next!.import_id);
    await query(connection, 'import/begin_import', {
      import_id: importId,
      path: file.path,
      table_name: file.table,
      file_bytes: file.bytes,
      content_hash: file.contentHash,
      mapping_hash: file.mappingHash,
      now_ms: clock.now(),
    });
    return { kind: 'begun', entry: entryOf(importId, file.contentHash, { isResumed: false }) };
  });
}

interface FileRow extends Record<string, bigint | string | null> {
  import_id: bigint;
  path: string;
  state: string;
  rows_read: bigint;
  rows_landed: bigint;
  rows_rejected: bigint;
  rejected: string;
  last_batch_id: bigint | null;
  updated_at_ms: bigint;
}

function landedBefore(row: FileRow): BeginOutcome {
  return {
    kind: 'landed-before',
    importId: Number(row.import_id),
    lastBatchId: Number(row.last_batch_id),
    landedAtMs: Number(row.updated_at_ms),
    counts: {
      rowsRead: Number(row.rows_read),
      rowsLanded: Number(row.rows_landed),
      rowsRejected: Number(row.rows_rejected),
      rejected: JSON.parse(row.rejected),
    },
  };
}

function entryOf(importId: number, contentHash: string, { isResumed }: { isResumed: boolean }): ImportEntry {
  return {
    importId,
    origin: `import:${contentHash}:${importId}`,
    firstBatchId: importId * IMPORT_BATCHES_MAX + 1,
    baseOffset: BigInt(importId) << ROW_BITS,
    isResumed,
  };
}

/** Stores the progress of a file, in the transaction that lands the rows before it. */
export async function advanceFile(
  connection: DuckDBConnection,
  { importId }: ImportEntry,
  counts: FileCounts,
  clock: Clock,
): Promise<void> {
  await query(connection, 'import/advance_import', {
    import_id: importId,
    rows_read: counts.rowsRead,
    rows_landed: counts.rowsLanded,
    rows_rejected: counts.rowsRejected,
    rejected: JSON.stringify(counts.rejected),
    now_ms: clock.now(),
  });
}

/** Publishes the batches of a completely landed file to the ledger. @returns the id of the last batch */
export async function finishFile(
  shard: Shard,
  entry: ImportEntry,
  contentHash: string,
  clock: Clock,
): Promise<number> {
  const ids = batchIds(entry);
  let lastBatchId = 0;
  await shard.listBatches(async (connection) => {
    await query(connection, 'import/enter_batches', {
      ...ids,
      origin: `import:${contentHash}`,
      now_ms: clock.now(),
    });
    const [row] = await query<{ batch_id: bigint }>(connection, 'import/find_last_batch', ids);
    lastBatchId = Number(row!.batch_id);
    await query(connection, 'import/finish_import', {
      import_id: entry.importId,
      last_batch_id: lastBatchId,
      now_ms: clock.now(),
    });
    await query(connection, 'import/forget_position', { import_id: entry.importId });
    return lastBatchId;
  });
  return lastBatchId;
}

/** Deletes the landed rows of a file. No later stage has read them. */
export async function giveUpFile(shard: Shard, entry: ImportEntry, clock: Clock): Promise<void> {
  await shard.transaction((connection) => dropFile(connection, entry, clock));
}

async function dropFile(connection: DuckDBConnection, entry: ImportEntry, clock: Clock): Promise<void> {
  const ids = batchIds(entry);
  await query(connection, 'import/drop_messages', ids);
  await query(connection, 'import/drop_quarantine', ids);
  await query(connection, 'import/mark_quarantine_dirty');
  await query(connection, 'import/forget_position', { import_id: entry.importId });
  await query(connection, 'import/mark_dropped', { import_id: entry.importId, now_ms: clock.now() });
}

function batchIds({ firstBatchId }: ImportEntry) {
  return { first_batch_id: firstBatchId, last_batch_id: firstBatchId + IMPORT_BATCHES_MAX - 2 };
}
