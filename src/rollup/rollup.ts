import type { WorkgroupConfig } from '../config.ts';
import type { Log } from '../log.ts';
import { type Clock, localDateOf } from '../time.ts';
import type { Shard } from '../warehouse/shard.ts';
import { bindStreams, type Restatement } from './bind-streams.ts';
import { computeStretch } from './compute.ts';
import { updateDays } from './days.ts';
import { touchedStretches } from './stretches.ts';
import { takeIn } from './take-in.ts';
import { ask, createWorkingTables, run, type Working } from './working.ts';

export interface RollUpOptions {
  workgroup: WorkgroupConfig;
  clock: Clock;
  /** A day is final once this much time has passed since it ended. */
  closeAfterMs: number;
  /** Messages taken in by one call at most, so that a transaction stays bounded; the caller calls again while `more`. */
  messagesMax?: number;
  /** Every register gets an index, also one that only grows. For tests that compare both ways. */
  indexAll?: boolean;
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
 * Turns what has landed since the last call into energy: readings, 15-minute intervals, days. One transaction; everything that is touched is
 * computed again as a whole, so the same readings give the same rows in whatever order and however often they come, and calling again without new
 * batches changes nothing. The chapters of sql/rollup are run in the order of their numbers.
 * @throws StaleOwnerError when another worker has taken the shard; nothing has changed then
 */
export async function rollUp(shard: Shard, options: RollUpOptions): Promise<RollUpResult> {
  return shard.transaction(async (connection) => {
    const { workgroup, closeAfterMs } = options;
    const working: Working = { connection, timezone: workgroup.timezone, closeAfterMs };
    const restated = await bindStreams(connection, options.workgroup);
    const pending = await nextBatches(working, options.messagesMax ?? MESSAGES_MAX);
    const result = { batchId: pending.batchId, readings: 0, rejected: 0, days: 0, more: pending.more };
    if (pending.messages > 0 || restated !== undefined) {
      const nowMs = BigInt(options.clock.now());
      Object.assign(result, await takeIn(working, pending.batchId, nowMs));
      await computeTouched(working, restated, options);
      result.days = await updateDays(working, { ...options, restated, nowMs, batchId: pending.batchId });
    }
    await run(working, 'advance_streams', { batch_id: pending.batchId });
    await run(working, 'forget_archived');
    await run(working, 'close_days', { before: firstOpenDay(options) });
    return result;
  });
}

async function nextBatches(working: Working, messagesMax: number) {
  const row = await ask<{ batch_id: bigint | null; newest_id: bigint | null; messages: bigint | null }>(
    working,
    'next_batches',
    { messages_max: messagesMax },
  );
  const batchId = row.batch_id ?? row.newest_id ?? -1n;
  return { batchId, messages: Number(row.messages ?? 0n), more: batchId < (row.newest_id ?? -1n) };
}

/**
 * Computes what new readings and changed rules touch, in stretches that are days apart: each by itself, so that a reading from last year costs a
 * look at last year's day and not at everything since.
 */
async function computeTouched(
  working: Working,
  restated: Restatement | undefined,
  { indexAll = false }: RollUpOptions,
): Promise<void> {
  const isRestated = restated !== undefined;
  await run(working, 'find_rules', { all: isRestated });
  await createWorkingTables(working);
  await run(working, 'find_register_changes');
  if (isRestated) {
    await run(working, 'forget_learnt');
    await run(working, 'forget_learnt_days');
  }
  await run(working, 'find_touched');
  for (const stretch of await touchedStretches(working.connection)) {
    await computeStretch(working, stretch, { isRestated, indexAll });
  }
}

/** The first local day that is not final: it ended less than `closeAfterMs` ago, or has not ended. */
function firstOpenDay({ clock, closeAfterMs, workgroup }: RollUpOptions): string {
  return localDateOf(clock.now() - closeAfterMs, workgroup.timezone);
}
