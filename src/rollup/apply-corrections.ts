import { dayBounds, type LocalDate, localDateOf } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import { type Bounds, type RollUpContext, readRow, runStatement } from './rollup-context.ts';

/** The energy of a day before and after a correction (Wh); null if there is none. */
export interface DayEffect {
  day: LocalDate;
  device: string;
  source: string;
  beforeWh: number | null;
  afterWh: number | null;
}

/** True if people have corrected a touched day. @param options.all any day, touched or not */
export async function touchesCorrections(
  context: RollUpContext,
  { all }: { all: boolean },
): Promise<boolean> {
  return (await readRow<{ count: bigint }>(context, 'count_corrections', { all })).count > 0n;
}

/** A time range of a device and source. */
export interface CorrectedStretch {
  device: string;
  source: string;
  fromMs: number;
  toMs: number;
}

/**
 * Touches all days of each range that was set or estimated and has a touched day, because its energy is
 * spread over the whole range.
 * @param options.all all ranges
 */
export async function noteCorrectedDays(context: RollUpContext, { all }: { all: boolean }): Promise<void> {
  const rows = await query<{ device: string; source: string; from_ms: bigint; to_ms: bigint }>(
    context.connection,
    'rollup/list_corrected_ranges',
    { all },
  );
  await noteDays(
    context,
    rows.map(({ device, source, from_ms, to_ms }) => ({
      device,
      source,
      fromMs: Number(from_ms),
      toMs: Number(to_ms),
    })),
  );
}

/** Touches the local days of time ranges. */
export async function noteDays(
  context: RollUpContext,
  stretches: readonly CorrectedStretch[],
): Promise<void> {
  const { timezone } = context;
  const days = stretches.flatMap(({ device, source, fromMs, toMs }) =>
    dayBounds(localDateOf(fromMs, timezone), localDateOf(toMs - 1, timezone), timezone)
      .filter(({ startMs, endMs }) => endMs > startMs)
      .map((one) => ({ device, source, ...one })),
  );
  if (days.length === 0) return;
  await runStatement(context, 'touch_corrected_days', {
    devices: days.map(({ device }) => device),
    sources: days.map(({ source }) => source),
    days: days.map(({ day }) => day),
    starts_ms: days.map(({ startMs }) => BigInt(startMs)),
    ends_ms: days.map(({ endMs }) => BigInt(endMs)),
  });
}

/** Replaces measured energy by corrected energy, in the candidates of the touched days between the bounds. */
export async function correctCandidates(context: RollUpContext, bounds: Bounds): Promise<void> {
  await runStatement(context, 'collect_days_to_correct', bounds);
  await runStatement(context, 'collect_ready_corrections');
  await runStatement(context, 'delete_corrected_intervals');
  await runStatement(context, 'store_corrected_intervals');
  await runStatement(context, 'move_corrected_intervals');
  await runStatement(context, 'collect_corrected_days');
  await runStatement(context, 'correct_candidates');
  await runStatement(context, 'add_corrected_candidates');
  await runStatement(context, 'flag_excluded_days');
}

/** Reads the changed days, before they are stored. */
export async function readEffects({ connection }: RollUpContext): Promise<DayEffect[]> {
  const rows = await query<{
    day: string;
    device: string;
    source: string;
    before_wh: bigint | null;
    after_wh: bigint | null;
  }>(connection, 'rollup/list_effects');
  return rows.map(({ day, device, source, before_wh, after_wh }) => ({
    day,
    device,
    source,
    beforeWh: before_wh === null ? null : Number(before_wh),
    afterWh: after_wh === null ? null : Number(after_wh),
  }));
}
