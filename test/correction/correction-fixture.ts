import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import type { CorrectionRequest } from '../../src/correction/correction-request.ts';
import { storeCorrection } from '../../src/correction/store-correction.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { parseQuantity } from '../../src/lib/units.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { type CaseReading, DEVICE, type EnergySite } from '../rollup/rollup-fixture.ts';
import { rowsOf } from '../warehouse/warehouse-fixture.ts';

/** A correction as a case writes it: of the usual device and source, with instants as text. */
export type CaseCorrection = Record<string, unknown> & {
  kind: CorrectionRequest['kind'];
  like?: { device: string; source: string };
};

/**
 * A case of test/golden/corrections: what is measured, what is corrected, and what the days are before and
 * after.
 */
export interface CorrectionCase {
  id: string;
  /** The arithmetic. */
  why: string;
  timezone: string;
  energyStreams: EnergyStreamInput[];
  /** With `every` and `until` the reading is repeated up to `until`, without it. */
  readings: Array<CaseReading & { every?: string; until?: string }>;
  /** The source that is corrected and compared. Default: `default`. */
  source?: string;
  before: Record<string, number>;
  corrections: CaseCorrection[];
  expected: Record<string, number>;
  flags: Record<string, string[]>;
  /** Wh of intervals as they are reported, by their start. */
  intervals: Record<string, number>;
}

export function correctionCases(): CorrectionCase[] {
  const path = join(import.meta.dirname, '..', 'golden', 'corrections', 'cases.json');
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** One site with the streams of cases of one zone. Each case has its own table. */
export function siteOf(cases: readonly CorrectionCase[]): EnergySite {
  const streams = cases.flatMap(({ id, energyStreams }) =>
    energyStreams.map((stream) => ({ ...stream, table: id })),
  );
  return { timezone: cases[0]!.timezone, streams };
}

/** The readings of a case, by this device and in the table of the case. */
export function readingsOf({ id, readings }: CorrectionCase, device: string): CaseReading[] {
  return readings.flatMap(({ every, until, ...shown }) => {
    const reading = { ...shown, table: id, device };
    if (every === undefined || until === undefined) return [reading];
    const stepMs = parseQuantity('duration', every)!;
    const startMs = Date.parse(reading.event_time);
    return Array.from({ length: (Date.parse(until) - startMs) / stepMs }, (_, index) => ({
      ...reading,
      event_time: new Date(startMs + index * stepMs).toISOString(),
    }));
  });
}

export const NOW_MS = Date.UTC(2030, 0, 2);

/** Stores a correction, by default of the usual device and at a time when all days are over. */
export async function correct(
  shard: Shard,
  correction: CaseCorrection,
  {
    device = DEVICE,
    source = 'default',
    dryRun = false,
    nowMs = NOW_MS,
  }: { device?: string; source?: string; dryRun?: boolean; nowMs?: number } = {},
) {
  const { from, to, ...rest } = correction;
  const of = correction.kind === 'undo' ? {} : { device, source };
  const times = from === undefined ? {} : { fromMs: Date.parse(String(from)), toMs: Date.parse(String(to)) };
  const request = { reason: 'because', ...of, ...times, ...rest } as CorrectionRequest;
  return storeCorrection(shard, request, { author: 'test', dryRun, nowMs, closeAfterMs: 2 * DAY_MS });
}

/** Wh and flags by day, of one source. */
export async function daysOf(shard: Shard, source = 'default', device = DEVICE) {
  const rows = await rowsOf(
    shard,
    `SELECT day::VARCHAR AS day, energy_wh::DOUBLE AS wh, (
       SELECT coalesce(string_agg(flag, ',' ORDER BY flag), '') FROM quality_flag WHERE d.flags & bit > 0) AS flags
     FROM daily_energy d WHERE device = '${device}' AND source = '${source}' ORDER BY day`,
  );
  return {
    wh: Object.fromEntries(rows.map(({ day, wh }) => [String(day), wh as number])),
    flags: Object.fromEntries(
      rows.map(({ day, flags }) => [String(day), String(flags).split(',').filter(Boolean)]),
    ),
  };
}

/** Wh of the intervals of the field that the day is read from, as they are reported, by start. */
export async function toldIntervalsOf(
  shard: Shard,
  source = 'default',
  device = DEVICE,
): Promise<Record<string, number>> {
  const rows = await rowsOf(
    shard,
    `SELECT interval_start_ms::DOUBLE AS start_ms, energy_wh::DOUBLE AS wh
     FROM reported_interval i JOIN series s USING (series_id)
     WHERE s.device = '${device}' AND s.source = '${source}' ORDER BY ALL`,
  );
  return Object.fromEntries(
    rows.map(({ start_ms, wh }) => [
      new Date(start_ms as number).toISOString().replace('.000', ''),
      wh as number,
    ]),
  );
}

/**
 * Everything that must be the same again: days without their versions, intervals, readings, limits and
 * events.
 */
export async function stateOf(shard: Shard) {
  const of = (sql: string) => rowsOf(shard, sql);
  return {
    days: await of(
      `SELECT day::VARCHAR AS day, device::VARCHAR AS device, source, energy_wh::DOUBLE AS wh, method, flags, coverage
       FROM daily_energy ORDER BY ALL`,
    ),
    told: await of(
      'SELECT s.stream_id, s.source, interval_start_ms::DOUBLE AS start_ms, energy_wh::DOUBLE AS wh, covered_ms, flags FROM reported_interval JOIN series s USING (series_id) WHERE covered_ms > 0 OR energy_wh <> 0 ORDER BY ALL',
    ),
    measured: await of(
      'SELECT s.stream_id, s.source, interval_start_ms::DOUBLE AS start_ms, energy_wh::DOUBLE AS wh, i.covered_ms, i.flags, i.last_ms::DOUBLE AS last_ms, i.last_value FROM interval_energy i JOIN series s USING (series_id) WHERE covered_ms > 0 OR energy_wh <> 0 ORDER BY ALL',
    ),
    readings: await of(
      'SELECT s.stream_id, s.source, r.event_time_ms::DOUBLE AS at_ms, r.value FROM reading r JOIN series s USING (series_id) ORDER BY ALL',
    ),
    excluded: await of('SELECT event_time_ms::DOUBLE AS at_ms, value FROM excluded_reading ORDER BY ALL'),
    limits: await of(
      'SELECT s.stream_id, s.source, d.* EXCLUDE (series_id) FROM series_day d JOIN series s USING (series_id) ORDER BY ALL',
    ),
    events: await of(
      'SELECT s.stream_id, s.source, kind, from_ms::DOUBLE AS from_ms, to_ms::DOUBLE AS to_ms, e.energy_wh FROM energy_event e JOIN series s USING (series_id) ORDER BY ALL',
    ),
    series: await of(
      'SELECT stream_id, source, first_ms::DOUBLE AS first_ms, last_ms::DOUBLE AS last_ms, step_ms::DOUBLE AS step_ms FROM series ORDER BY ALL',
    ),
  };
}
