import type { DuckDBConnection } from '@duckdb/node-api';
import type { UtcMs } from '../lib/time.ts';
import type { bindStoredStreams } from './bind-streams.ts';
import { computeStretch } from './compute.ts';
import { type CorrectedStretch, type DayEffect, noteDays } from './corrections.ts';
import { updateDays } from './days.ts';
import { lookAheadDays } from './limits.ts';
import { findTouched } from './stretches.ts';
import { createWorkingTables, run, type Working } from './working.ts';

export interface CorrectionRollUp extends CorrectedStretch {
  correctionId: number;
  /** The energy streams as the last roll-up had them, at least one; bound on the connection. */
  streams: Awaited<ReturnType<typeof bindStoredStreams>>;
  /** A day is final once this much time has passed since it ended. */
  closeAfterMs: number;
  nowMs: UtcMs;
}

/**
 * Computes what a correction that was just stored, or one that it undoes, changes: by the rules of the last roll-up, without taking in what has
 * landed since. Readings that it excludes leave the table of readings, or come back; then everything that they touch is computed again as if they
 * had come late.
 * @returns the days that change
 */
export async function rollUpCorrection(
  connection: DuckDBConnection,
  options: CorrectionRollUp,
): Promise<DayEffect[]> {
  const { correctionId, streams, closeAfterMs, nowMs } = options;
  const working: Working = { connection, timezone: streams[0]!.timezone, closeAfterMs };
  await run(working, 'note_corrected_device', { correction_id: BigInt(correctionId) });
  await run(working, 'find_rules', { all: false });
  await createWorkingTables(working);
  await run(working, 'find_register_changes');
  const hasMoved = await moveReadings(working, correctionId);
  // The first and the last reading of a series may be others now.
  if (hasMoved) await run(working, 'find_rules', { all: false });
  await run(working, 'find_touched', { is_restated: false, beside: true });
  const touched = await findTouched(working);
  for (const stretch of touched.stretches)
    await computeStretch(working, stretch, touched, { isRestated: false, indexAll: false });
  if (hasMoved) {
    await run(working, 'settle_steps');
    await run(working, 'find_rules', { all: false });
  }
  await noteDays(working, [options]);
  const effects: DayEffect[] = [];
  const batchId = streams
    .map(({ takenInBatchId }) => takenInBatchId)
    .toSorted((one, other) => Number(one - other))
    .at(-1)!;
  await updateDays(working, {
    closeAfterMs,
    nowMs: BigInt(nowMs),
    batchId,
    arrivedAfterId: batchId,
    restated: undefined,
    cause: 'correction',
    effects,
    corrected: true,
    declares: true,
    several: true,
  });
  return effects;
}

/** Moves the readings that are excluded now and were not, and those that are no longer. @returns whether there are any */
async function moveReadings(working: Working, correctionId: number): Promise<boolean> {
  const moved = await run(working, 'find_moved', { correction_id: BigInt(correctionId) });
  if (moved === 0) {
    await run(working, 'touch_nothing');
    return false;
  }
  await run(working, 'exclude_moved');
  await run(working, 'forget_excluded');
  await run(working, 'bring_back_moved');
  await run(working, 'forget_brought_back');
  await run(working, 'bound_moved_series');
  const look_ahead = lookAheadDays(working);
  await run(working, 'touch_moved', { look_ahead });
  await run(working, 'forget_moved_limits', { look_ahead });
  return true;
}
