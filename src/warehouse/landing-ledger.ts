import type {
  DuckDBAppender,
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBPreparedStatement,
} from '@duckdb/node-api';
import type { NewNames, RejectedMessage } from '../decode/message-columns.ts';
import type { UtcMs } from '../lib/time.ts';
import type { Write } from './plan-landing.ts';
import { query } from './query.ts';

/** A write. Its rows are copied out of the decoder's columns. */
export interface PreparedWrite extends Write {
  origin: string;
  batchId: number;
  chunks: readonly DuckDBDataChunk[];
  rejected: readonly RejectedMessage[];
}

/** Stores new names, in the transaction of their batch. */
export async function appendNames(connection: DuckDBConnection, { names, tables }: NewNames): Promise<void> {
  if (names.length > 0)
    await withAppender(connection, 'name', (appender) => {
      for (const { id, name } of names) {
        appender.appendInteger(id);
        appender.appendVarchar(name);
        appender.endRow();
      }
    });
  if (tables.length > 0)
    await withAppender(connection, 'message_table', (appender) => {
      for (const id of tables) {
        appender.appendInteger(id);
        appender.endRow();
      }
    });
}

/**
 * Stores what belongs to a batch in addition to its messages: its ledger row, its gap, and the messages that
 * could not be decoded.
 */
export async function writeLedger(
  connection: DuckDBConnection,
  insertBatch: DuckDBPreparedStatement,
  write: PreparedWrite,
  nowMs: UtcMs,
): Promise<void> {
  const { origin, gap, content, after, unlisted } = write;
  if (gap !== undefined) {
    await query(connection, 'land/store_gap', {
      origin,
      reason: gap.reason,
      from_offset: gap.from ?? null,
      to_offset: gap.to ?? null,
      from_time_ms: gap.fromTimeMs ?? null,
      to_time_ms: gap.toTimeMs ?? null,
      detected_at_ms: nowMs,
    });
  }
  if (unlisted) await unlisted.note(connection);
  else if (content) {
    insertBatch.bind({
      batch_id: write.batchId,
      origin,
      log_epoch: after.logEpoch ?? null,
      from_offset: write.fromOffset ?? null,
      next_offset: after.nextOffset,
      message_count: content.end - content.start,
      quarantined_count: write.rejected.length,
      first_store_time_ms: content.firstStoreTimeMs ?? null,
      last_store_time_ms: content.lastStoreTimeMs ?? null,
      landed_at_ms: nowMs,
    });
    await insertBatch.run();
  }
  if (write.rejected.length > 0) {
    await withAppender(connection, 'quarantine', (appender) =>
      appendQuarantined(appender, write.batchId, write.rejected, nowMs),
    );
  }
}

function appendQuarantined(
  appender: DuckDBAppender,
  batchId: number,
  rejected: readonly RejectedMessage[],
  nowMs: UtcMs,
): void {
  for (const { offset, reason, detail, bytes } of rejected) {
    appender.appendBigInt(BigInt(batchId));
    if (offset === undefined) appender.appendNull();
    else appender.appendUBigInt(offset);
    appender.appendVarchar('land');
    appender.appendVarchar(reason);
    appender.appendVarchar(detail);
    // device, source, field and event_time_ms are null, because the message could not be decoded.
    for (let column = 0; column < 4; column++) appender.appendNull();
    appender.appendBlob(bytes);
    appender.appendBigInt(BigInt(nowMs));
    appender.endRow();
  }
}

async function withAppender(
  connection: DuckDBConnection,
  table: string,
  append: (appender: DuckDBAppender) => void,
): Promise<void> {
  const appender = await connection.createAppender(table);
  try {
    append(appender);
    appender.flushSync();
  } finally {
    // Closing an appender flushes its rows, so it must be empty.
    clearQuietly(appender);
    appender.closeSync();
  }
}

/**
 * Removes appended rows that were not flushed. A rollback does not remove them, so they would land with the
 * next transaction.
 */
export function clearQuietly(appender: DuckDBAppender): void {
  try {
    appender.clear();
  } catch {
    // The database is invalidated, so it keeps no rows.
  }
}
