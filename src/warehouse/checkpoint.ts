import type { DuckDBConnection } from '@duckdb/node-api';
import type { Offset } from '../contract/offset.ts';
import type { UtcMs } from '../lib/time.ts';
import { query } from './query.ts';

/**
 * The origin of messages that are read from the stream of the workgroup. Backfills and imports have others.
 */
export const LIVE_ORIGIN = 'stream';

/**
 * The position up to which the messages of an origin (the stream, or an import) have landed. The transaction
 * that lands messages also moves the checkpoint past them.
 */
export interface Checkpoint {
  origin: string;
  /** The log to which the offsets belong; undefined if the server does not name it. */
  logEpoch: string | undefined;
  /** The offset to read next. */
  nextOffset: Offset;
  /** The highest landed offset; undefined if nothing of this log has landed. */
  lastOffset: Offset | undefined;
  /** Store time of the latest message that has landed. */
  lastStoreTimeMs: UtcMs | undefined;
  /** The last batch of this origin; 0 if there was none. */
  batchId: number;
  updatedAtMs: UtcMs;
}

export interface PositionRow extends Record<string, bigint | string | null> {
  log_epoch: string | null;
  next_offset: bigint | null;
  last_offset: bigint | null;
  last_store_time_ms: bigint | null;
  batch_id: bigint | null;
  updated_at_ms: bigint | null;
}

/** Reads every checkpoint of the file, by origin. */
export async function readCheckpoints(connection: DuckDBConnection): Promise<Map<string, Checkpoint>> {
  const rows = await query<PositionRow & { origin: string }>(connection, 'land/find_checkpoints');
  return new Map(rows.map((row) => [row.origin, checkpointOf(row.origin, row)!]));
}

/** The checkpoint in a row of `land/find_position` or `land/find_checkpoints`; undefined if there is none. */
export function checkpointOf(origin: string, row: PositionRow): Checkpoint | undefined {
  if (row.next_offset === null) return undefined;
  return {
    origin,
    logEpoch: row.log_epoch ?? undefined,
    nextOffset: row.next_offset,
    lastOffset: row.last_offset ?? undefined,
    lastStoreTimeMs: row.last_store_time_ms === null ? undefined : Number(row.last_store_time_ms),
    batchId: Number(row.batch_id),
    updatedAtMs: Number(row.updated_at_ms),
  };
}

/** True if both are at the same position of the same log. */
export function isSamePosition(left: Checkpoint | undefined, right: Checkpoint | undefined): boolean {
  return (
    left?.nextOffset === right?.nextOffset &&
    left?.lastOffset === right?.lastOffset &&
    left?.logEpoch === right?.logEpoch
  );
}

/** Sets the checkpoint of an origin, or deletes it if there is none. */
export function setCheckpoint(
  checkpoints: Map<string, Checkpoint>,
  origin: string,
  checkpoint: Checkpoint | undefined,
): void {
  if (checkpoint === undefined) checkpoints.delete(origin);
  else checkpoints.set(origin, checkpoint);
}
