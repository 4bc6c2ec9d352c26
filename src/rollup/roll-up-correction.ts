import type { DuckDBConnection } from '@duckdb/node-api';
import type { UtcMs } from '../lib/time.ts';
import { type CorrectedStretch, type DayEffect, noteDays } from './apply-corrections.ts';
import type { bindStoredStreams } from './bind-streams.ts';
import { computeStretch } from './compute-stretch.ts';
import { findStretches } from './find-stretches.ts';
import { lookAheadDays } from './learn-limits.ts';
import { createTemporaryTables, type RollUpContext, runStatement } from './rollup-context.ts';
import { updateDays } from './update-days.ts';

interface CorrectionRollUp extends CorrectedStretch {
  correctionId: number;
  /** The energy streams as the last roll-up stored them, at least one; bound on the connection. */
  streams: Awaited<ReturnType<typeof bindStoredStreams>>;
  /** A day is final when this much time has passed since its end. */
  closeAfterMs: number;
  nowMs: UtcMs;
}

/**
 * Computes the effect of a correction that was just stored, or undone. It uses the rules of the last roll-up
 * and reads no new batches. Excluded readings leave table `reading`, or come back; everything that they touch
 * is then computed again.
 * @returns the changed days
 */
export async function rollUpCorrection(
  connection: DuckDBConnection,
  options: CorrectionRollUp,
): Promise<DayEffect[]> {
  const { correctionId, streams, closeAfterMs, nowMs } = options;
  const context: RollUpContext = { connection, timezone: streams[0]!.timezone, closeAfterMs };
  await runStatement(context, 'choose_corrected_device', { correction_id: BigInt(correctionId) });
  await runStatement(context, 'collect_rules', { all: false, is_chosen: true });
  await createTemporaryTables(context);
  await runStatement(context, 'collect_register_changes');
  const hasMoved = await moveReadings(context, correctionId);
  // The rules are found again, because the first and the last reading of a series can have changed.
  if (hasMoved) await runStatement(context, 'collect_rules', { all: false, is_chosen: true });
  await runStatement(context, 'collect_touched', { is_restated: false, beside: true });
  const touched = await findStretches(context);
  for (const stretch of touched.stretches)
    await computeStretch(context, stretch, touched, { isRestated: false, indexAll: false });
  if (hasMoved) {
    await runStatement(context, 'update_steps_after_correction');
    await runStatement(context, 'collect_rules', { all: false, is_chosen: true });
  }
  await noteDays(context, [options]);
  const effects: DayEffect[] = [];
  const batchId = streams
    .map(({ takenInBatchId }) => takenInBatchId)
    .toSorted((one, other) => Number(one - other))
    .at(-1)!;
  await updateDays(context, {
    closeAfterMs,
    nowMs: BigInt(nowMs),
    batchId,
    arrivedAfterId: batchId,
    restatement: undefined,
    cause: 'correction',
    effects,
    hasCorrections: true,
    hasDeclaredSources: true,
    hasSeveralSeries: true,
  });
  return effects;
}

/**
 * Moves readings that are newly excluded, and readings that are no longer excluded.
 * @returns true if there are any
 */
async function moveReadings(context: RollUpContext, correctionId: number): Promise<boolean> {
  const moved = await runStatement(context, 'collect_moved_readings', {
    correction_id: BigInt(correctionId),
  });
  if (moved === 0) {
    await runStatement(context, 'create_empty_incoming');
    return false;
  }
  await runStatement(context, 'store_moved_exclusions');
  await runStatement(context, 'delete_moved_readings');
  await runStatement(context, 'restore_readings');
  await runStatement(context, 'delete_restored_exclusions');
  await runStatement(context, 'update_moved_bounds');
  const look_ahead = lookAheadDays(context);
  await runStatement(context, 'touch_moved_readings', { look_ahead });
  await runStatement(context, 'delete_moved_limits', { look_ahead });
  return true;
}
