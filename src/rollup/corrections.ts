import { dayBounds, type LocalDate, localDateOf } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import { ask, type Bounds, run, type Working } from './working.ts';

/** What a correction makes of a day: Wh, null where there is no energy. */
export interface DayEffect {
  day: LocalDate;
  device: string;
  source: string;
  beforeWh: number | null;
  afterWh: number | null;
}

/** Whether people have corrected a noted day. @param options.all any day, noted or not */
export async function hasCorrections(working: Working, { all }: { all: boolean }): Promise<boolean> {
  return (await ask<{ count: bigint }>(working, 'count_corrections', { all })).count > 0n;
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
export async function noteCorrectedDays(working: Working, { all }: { all: boolean }): Promise<void> {
  const rows = await query<{ device: string; source: string; from_ms: bigint; to_ms: bigint }>(
    working.connection,
    'rollup/corrected_stretches',
    { all },
  );
  await noteDays(
    working,
    rows.map(({ device, source, from_ms, to_ms }) => ({
      device,
      source,
      fromMs: Number(from_ms),
      toMs: Number(to_ms),
    })),
  );
}

/** Notes the local days that stretches have a part of. */
export async function noteDays(working: Working, stretches: readonly CorrectedStretch[]): Promise<void> {
  const { timezone } = working;
  const days = stretches.flatMap(({ device, source, fromMs, toMs }) =>
    dayBounds(localDateOf(fromMs, timezone), localDateOf(toMs - 1, timezone), timezone)
      .filter(({ startMs, endMs }) => endMs > startMs)
      .map((one) => ({ device, source, ...one })),
  );
  if (days.length === 0) return;
  await run(working, 'touch_corrected_days', {
    devices: days.map(({ device }) => device),
    sources: days.map(({ source }) => source),
    days: days.map(({ day }) => day),
    starts_ms: days.map(({ startMs }) => BigInt(startMs)),
    ends_ms: days.map(({ endMs }) => BigInt(endMs)),
  });
}

/** Puts what people say in place of what was measured, in the candidates of the noted days between the bounds. */
export async function correctCandidates(working: Working, bounds: Bounds): Promise<void> {
  await run(working, 'find_told_days', bounds);
  await run(working, 'find_settled');
  await run(working, 'forget_corrected_intervals');
  await run(working, 'store_corrected_intervals');
  await run(working, 'follow_told_series');
  await run(working, 'find_corrected_days');
  await run(working, 'correct_candidates');
  await run(working, 'add_corrected_candidates');
  await run(working, 'flag_excluded_days');
}

/** The days that change, before they are stored. */
export async function readEffects({ connection }: Working): Promise<DayEffect[]> {
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
