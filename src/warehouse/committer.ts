import type { DuckDBAppender, DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import type { NewNames } from '../decode/message-columns.ts';
import { StaleOwnerError, TerminalError } from '../lib/errors.ts';
import type { UtcMs } from '../lib/time.ts';
import { type Checkpoint, checkpointOf, isSamePosition, type PositionRow } from './checkpoint.ts';
import { messageColumnTypes } from './fill-chunks.ts';
import { appendNames, clearQuietly, type PreparedWrite, writeLedger } from './landing-ledger.ts';
import { loadSql } from './load-sql.ts';
import { watchOtherLogs } from './other-logs.ts';
import { query } from './query.ts';

export type CommitOutcome =
  | { kind: 'committed' }
  /** The file does not have the checkpoint that the writes assumed. Nothing was written. */
  | { kind: 'out-of-step'; checkpoint: Checkpoint | undefined };

/**
 * Writes everything that landing writes. It uses one connection, with its appender and prepared statements.
 */
export interface Committer {
  /**
   * Writes consecutive batches of one origin in one transaction: all of them or none. After a failure, close
   * the committer and create a new one.
   * @param onCommitting called when the rows are written and COMMIT has begun in the background. The chunks
   *   can then be used again, and the next batch can be decoded
   */
  commit(
    writes: readonly PreparedWrite[],
    names: NewNames,
    nowMs: UtcMs,
    onCommitting: () => void,
  ): Promise<CommitOutcome>;
  close(): void;
}

const statements = {
  position: 'land/find_position',
  insertBatch: 'land/store_batch',
  insertCheckpoint: 'land/store_checkpoint',
  advanceCheckpoint: 'land/advance_checkpoint',
} as const;
type Statements = Readonly<Record<keyof typeof statements, DuckDBPreparedStatement>>;

/**
 * @param owner the workgroup, and the epoch in which this process owns its file
 * @throws TerminalError if the columns of table message are not the columns that landing writes
 */
export async function createCommitter(
  connection: DuckDBConnection,
  owner: { workgroupId: string; epoch: bigint },
): Promise<Committer> {
  await checkMessageTable(connection);
  const prepared = Object.fromEntries(
    await Promise.all(
      Object.entries(statements).map(async ([key, name]) => [key, await connection.prepare(loadSql(name))]),
    ),
  ) as Statements;
  const appender = await connection.createAppender('message');
  const otherLogs = watchOtherLogs(connection);

  async function commit(
    writes: readonly PreparedWrite[],
    names: NewNames,
    nowMs: UtcMs,
    onCommitting: () => void,
  ): Promise<CommitOutcome> {
    const [first] = writes;
    if (first === undefined) return { kind: 'committed' };
    await connection.run('BEGIN');
    try {
      const stored = await readPosition(prepared.position, first.origin, owner);
      if (!isSamePosition(stored, first.before)) {
        await connection.run('ROLLBACK');
        return { kind: 'out-of-step', checkpoint: stored };
      }
      for (const write of writes) await writeLedger(connection, prepared.insertBatch, write, nowMs);
      await writeCheckpoint(prepared, first.before, writes.at(-1)!.after);
      await appendNames(connection, names);
      appendMessages(appender, writes);
      await otherLogs.dropLandedBefore(writes);
      const committing = connection.run('COMMIT');
      onCommitting();
      await committing;
      return { kind: 'committed' };
    } catch (error) {
      // If COMMIT failed, there is nothing to roll back.
      await connection.run('ROLLBACK').catch(() => {});
      throw error;
    }
  }

  return {
    commit,
    close() {
      clearQuietly(appender);
      try {
        appender.closeSync();
      } finally {
        connection.closeSync();
      }
    },
  };
}

async function checkMessageTable(connection: DuckDBConnection): Promise<void> {
  const columns = await query<{ name: string; type: string }>(connection, 'land/find_message_columns');
  const actual = columns.map(({ name, type }) => `${name} ${type}`).join(', ');
  const expected = messageColumnTypes.map(([name, type]) => `${name} ${type}`).join(', ');
  if (actual !== expected) {
    throw new TerminalError(
      'SchemaMismatch',
      `table message has the columns (${actual}), but landing writes (${expected})`,
    );
  }
}

async function readPosition(
  statement: DuckDBPreparedStatement,
  origin: string,
  owner: { workgroupId: string; epoch: bigint },
): Promise<Checkpoint | undefined> {
  statement.bind({ origin });
  const [row] = (await statement.runAndReadAll()).getRowObjects() as Array<
    PositionRow & { owner_epoch: bigint }
  >;
  const stored = row?.owner_epoch ?? -1n;
  if (row === undefined || stored !== owner.epoch) {
    throw new StaleOwnerError(owner.workgroupId, owner.epoch, stored);
  }
  return checkpointOf(origin, row);
}

/** A failing flush must throw. Otherwise COMMIT would succeed and move the checkpoint without the rows. */
function appendMessages(appender: DuckDBAppender, writes: readonly PreparedWrite[]): void {
  if (writes.every(({ chunks }) => chunks.length === 0)) return;
  for (const { chunks } of writes) for (const chunk of chunks) appender.appendDataChunk(chunk);
  appender.flushSync();
}

async function writeCheckpoint(
  prepared: Statements,
  before: Checkpoint | undefined,
  after: Checkpoint | undefined,
): Promise<void> {
  if (after === undefined) return;
  const statement = before === undefined ? prepared.insertCheckpoint : prepared.advanceCheckpoint;
  statement.bind({
    origin: after.origin,
    log_epoch: after.logEpoch ?? null,
    next_offset: after.nextOffset,
    last_offset: after.lastOffset ?? null,
    last_store_time_ms: after.lastStoreTimeMs ?? null,
    batch_id: after.batchId,
    updated_at_ms: after.updatedAtMs,
  });
  await statement.run();
}
