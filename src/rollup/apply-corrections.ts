import { dayBounds, type LocalDate, localDateOf } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import { type Bounds, type RollUpContext, readRow, run } from './rollup-context.ts';

/** What a correction makes of a day: Wh, null where there is no energy. */
export interface DayEffect {
  day: LocalDate;
  device: string;
  source: string;
  beforeWh: number | null;
  afterWh: number | null;
}

/** Whether people have corrected a noted day. @param options.all any day, noted or not */
export async function hasCorrections(context: RollUpContext, { all }: { all: boolean }): Promise<boolean> {
  return (await readRow<{ count: bigint }>(context, 'count_corrections', { all })).count > 0n;
}

/** A part of time of a device and source. */
export interface CorrectedStretch {
  device: string;
  source: string;
  fromMs: number;
  toMs: number;
}

/**
 * Notes the other days of what was set or estimated of a noted day, because the energy of a stretch is spread over all of it.
 * @param options.all of every day, noted or not
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

/** Notes the local days that stretches have a part of. */
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
  await run(context, 'touch_corrected_days', {
    devices: days.map(({ device }) => device),
    sources: days.map(({ source }) => source),
    days: days.map(({ day }) => day),
    starts_ms: days.map(({ startMs }) => BigInt(startMs)),
    ends_ms: days.map(({ endMs }) => BigInt(endMs)),
  });
}

/** Puts what people say in place of what was measured, in the candidates of the noted days between the bounds. */
export async function correctCandidates(context: RollUpContext, bounds: Bounds): Promise<void> {
  await run(context, 'find_days_to_correct', bounds);
  await run(context, 'find_ready_corrections');
  await run(context, 'delete_corrected_intervals');
  await run(context, 'store_corrected_intervals');
  await run(context, 'move_corrected_intervals');
  await run(context, 'find_corrected_days');
  await run(context, 'correct_candidates');
  await run(context, 'add_corrected_candidates');
  await run(context, 'flag_excluded_days');
}

/** The days that change, before they are stored. */
export async function readEffects({ connection }: RollUpContext): Promise<DayEffect[]> {
  const rows = await query<{
    day: string;
    device: string;
    source: string;
    before_wh: bigint | null;
    after_wh: bigint | null;
  }>(connection, 'rollup/find_effects');
  return rows.map(({ day, device, source, before_wh, after_wh }) => ({
    day,
    device,
    source,
    beforeWh: before_wh === null ? null : Number(before_wh),
    afterWh: after_wh === null ? null : Number(after_wh),
  }));
}
