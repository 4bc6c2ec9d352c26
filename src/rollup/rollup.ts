import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config.ts';
import type { Log } from '../log.ts';
import { type Clock, localDateOf } from '../time.ts';
import { query } from '../warehouse/query.ts';
import type { Shard } from '../warehouse/shard.ts';
import { updateDays } from './days.ts';
import { relearn } from './learn.ts';
import { recompute } from './recompute.ts';
import { bindStreams } from './streams.ts';
import { type StretchRow, touchedStretches } from './stretches.ts';

export interface RollUpOptions {
  workgroup: WorkgroupConfig;
  clock: Clock;
  /** A day is final once this much time has passed since it ended. */
  closeAfterMs: number;
  /** Messages taken in by one call at most, so that a transaction stays bounded; the caller calls again while `more`. */
  messagesMax?: number;
  log: Log;
}

export interface RollUpResult {
  /** The last batch that has been taken in. */
  batchId: bigint;
  /** New readings, and readings that were rejected into quarantine. */
  readings: number;
  rejected: number;
  /** Days of a device and source that changed. */
  days: number;
  /** Batches are left for another call. */
  more: boolean;
}

const MESSAGES_MAX = 250_000;

/**
 * Turns what has landed since the last call into energy: readings, 15-minute intervals, days. One transaction; everything that is
 * touched is computed again as a whole, so the same readings give the same rows in whatever order and however often they come,
 * and calling again without new batches changes nothing.
 * @throws StaleOwnerError when another worker has taken the shard; nothing has changed then
 */
export async function rollUp(shard: Shard, options: RollUpOptions): Promise<RollUpResult> {
  return shard.transaction(async (connection) => {
    const { closeAfterMs } = options;
    const { timezone } = options.workgroup;
    const nowMs = BigInt(options.clock.now());
    const restated = await bindStreams(connection, options.workgroup);
    const pending = await nextBatches(connection, options.messagesMax ?? MESSAGES_MAX);
    const result = { batchId: pending.batchId, readings: 0, rejected: 0, days: 0, more: pending.more };
    if (pending.messages > 0 || restated !== undefined) {
      Object.assign(result, await takeIn(connection, pending.batchId, nowMs));
      await recomputeChanged(connection, timezone);
      if (await relearn(connection)) await recomputeChanged(connection, timezone);
      result.days = await updateDays(connection, {
        restated,
        timezone,
        closeAfterMs,
        nowMs,
        batchId: pending.batchId,
      });
    }
    await query(connection, 'rollup/advance-streams', { batch_id: pending.batchId });
    await query(connection, 'rollup/forget-archived');
    await closeDays(connection, options);
    return result;
  });
}

async function nextBatches(connection: DuckDBConnection, messagesMax: number) {
  const [row] = await query<{ batch_id: bigint | null; newest_id: bigint | null; messages: bigint | null }>(
    connection,
    'rollup/next-batches',
    { messages_max: messagesMax },
  );
  const batchId = row?.batch_id ?? row?.newest_id ?? -1n;
  return { batchId, messages: Number(row?.messages ?? 0n), more: batchId < (row?.newest_id ?? -1n) };
}

/** Readings of the new messages, without what is rejected or known, into the warehouse. */
async function takeIn(connection: DuckDBConnection, batchId: bigint, nowMs: bigint) {
  await query(connection, 'rollup/extract', { upto: batchId });
  const [archived] = await query<StretchBounds>(connection, 'rollup/archived-bounds', { upto: batchId });
  if (archived && archived.low_ms !== null && archived.high_ms !== null) {
    await query(connection, 'rollup/drop-read-before', {
      low_ms: archived.low_ms,
      high_ms: archived.high_ms,
    });
  }
  await query(connection, 'rollup/reject-readings', { now_ms: nowMs });
  await query(connection, 'rollup/series-keys');
  await query(connection, 'rollup/add-series');
  await query(connection, 'rollup/incoming');
  const [all] = await query<Bounds>(connection, 'rollup/incoming-bounds');
  if (all && all.low_ms !== null && all.high_ms !== null) {
    if (all.repeated) await chooseRepeated(connection);
    await supersede(connection, { low_ms: all.low_ms, high_ms: all.high_ms });
    await query(connection, 'rollup/appended');
    await query(connection, 'rollup/store-readings');
    await query(connection, 'rollup/extend-series');
  }
  await query(connection, 'rollup/register-changes');
  await query(connection, 'rollup/series-rules');
  await query(connection, 'rollup/forget-learnt');
  await query(connection, 'rollup/forget-learnt-days');
  await query(connection, 'rollup/changed-readings');
  const [counts] = await query<{ readings: bigint; rejected: bigint }>(connection, 'rollup/counts');
  return { readings: Number(counts!.readings), rejected: Number(counts!.rejected) };
}

/** One of several new readings of the same series and time counts; the others are kept aside. */
async function chooseRepeated(connection: DuckDBConnection): Promise<void> {
  await query(connection, 'rollup/repeated');
  await query(connection, 'rollup/choose-repeated');
  await query(connection, 'rollup/store-repeated');
}

/** Of a new and a stored reading of the same series and time one counts; the other is kept aside. */
async function supersede(connection: DuckDBConnection, bounds: StretchRow): Promise<void> {
  await query(connection, 'rollup/superseded', bounds);
  const [superseded] = await query<{ count: bigint }>(connection, 'rollup/count-superseded');
  if (superseded!.count === 0n) return;
  await query(connection, 'rollup/store-superseded');
  await query(connection, 'rollup/drop-known');
  await query(connection, 'rollup/replace-readings', bounds);
}

type StretchBounds = { low_ms: bigint | null; high_ms: bigint | null };
type Bounds = StretchBounds & { repeated: boolean };

/**
 * Computes what the changed readings touch, in stretches that are days apart: each by itself, so that a reading from last year costs
 * a look at last year's day and not at everything since.
 */
async function recomputeChanged(connection: DuckDBConnection, timezone: string): Promise<void> {
  await query(connection, 'rollup/touched');
  for (const stretch of await touchedStretches(connection)) {
    await recompute(connection, stretch, timezone);
  }
}

async function closeDays(connection: DuckDBConnection, { clock, closeAfterMs, workgroup }: RollUpOptions) {
  const before = localDateOf(clock.now() - closeAfterMs, workgroup.timezone);
  await query(connection, 'rollup/close-days', { before });
}
