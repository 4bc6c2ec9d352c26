import type { DuckDBConnection } from '@duckdb/node-api';
import type { EnergyMethod } from '../config/energy-stream.ts';
import { DAY_MS, formatInstantOrNull, type UtcMs } from '../lib/time.ts';
import type { StreamSettings } from '../rollup/bind-streams.ts';
import { ruleConstants } from '../rollup/rule-constants.ts';
import { query } from '../warehouse/query.ts';
import { instant, plainDuration, plainNumber } from './explain-words.ts';
import type { Day } from './explained-day.ts';
import type { ExplainedLimits, ExplainedStream, Known, Limit } from './explained-schema.ts';

/** A configured stream of a device and source that has readings. */
export interface Series {
  seriesId: number;
  streamId: number;
  device: string;
  source: string;
  table: string;
  field: string;
  /** The source to which its energy is booked, instead of the source that messages name. */
  as: string | null;
  method: EnergyMethod;
  firstMs: UtcMs;
  lastMs: UtcMs;
}

/** The series of a device, by source and in the order of the configuration. */
export async function readSeries(connection: DuckDBConnection, device: string): Promise<Series[]> {
  const rows = await query<{
    series_id: number;
    source: string;
    stream_id: number;
    table_name: string;
    field: string;
    as_source: string | null;
    method: EnergyMethod;
    first_ms: number;
    last_ms: number;
  }>(connection, 'explain/find_series', { device });
  return rows.map((row) => ({
    seriesId: row.series_id,
    streamId: row.stream_id,
    device,
    source: row.source,
    table: row.table_name,
    field: row.field,
    as: row.as_source,
    method: row.method,
    firstMs: row.first_ms,
    lastMs: row.last_ms,
  }));
}

export function describeSeries({ source, table, field, as, method, firstMs, lastMs }: Series): Known {
  return { source, table, field, as, method, firstReading: instant(firstMs), lastReading: instant(lastMs) };
}

/** The energy of a stream on a day, if it covers any of it. `preference` 1 is chosen. */
export type Candidate = {
  stream_id: number;
  series_id: number;
  energy_wh: number;
  covered_ms: number;
  coverage: number;
  preference: number;
};

/** Every configured stream, with the reason why the day of a source is read from it or not. */
export function streamsOf(
  source: string,
  configured: ReadonlyArray<StreamSettings & { streamId: number }>,
  series: readonly Series[],
  candidates: readonly Candidate[],
  day: Day,
): ExplainedStream[] {
  const best = candidates.reduce((most, { coverage }) => Math.max(most, coverage), 0);
  const chosen = candidates.find(({ preference }) => preference === 1);
  const chosenAt = configured.findIndex(({ streamId }) => streamId === chosen?.stream_id);
  const firstAt = configured.findIndex(({ as = source }) => as === source);
  return configured.map(({ streamId, table, field, as = null, method, unit }, index) => {
    const own = series.find((one) => one.streamId === streamId);
    const candidate = candidates.find((one) => one.stream_id === streamId);
    return {
      place: index + 1,
      table,
      field,
      as,
      method,
      unit,
      chosen: candidate !== undefined && candidate === chosen,
      reason: reasonOf(
        { own, elsewhere: as === source ? null : as, candidate, index, firstAt, chosenAt, best },
        day,
      ),
      energyWh: candidate?.energy_wh ?? null,
      coverage: candidate?.coverage ?? null,
      firstReading: formatInstantOrNull(own?.firstMs ?? null),
      lastReading: formatInstantOrNull(own?.lastMs ?? null),
    };
  });
}

function reasonOf(
  about: {
    own: Series | undefined;
    /** The other source to which it is booked. */
    elsewhere: string | null;
    candidate: Candidate | undefined;
    index: number;
    /** The first stream whose energy can belong to this source. */
    firstAt: number;
    chosenAt: number;
    best: number;
  },
  { clock }: Day,
): string {
  const { own, elsewhere, candidate, index, firstAt, chosenAt, best } = about;
  if (!own && elsewhere !== null) return `its energy is booked as source ${elsewhere}`;
  if (!own) return 'it has no reading of this source';
  if (!candidate) {
    return `its readings, from ${clock(own.firstMs)} to ${clock(own.lastMs)}, do not cover the day`;
  }
  const covers = `covers ${percentText(candidate.coverage)} of the day`;
  const coversEnough = candidate.coverage >= best - ruleConstants.covering_share.value;
  if (index === chosenAt) {
    if (index === firstAt) return `the first in the order, ${covers}`;
    return coversEnough
      ? `the first in the order that covers enough: ${percentText(candidate.coverage)} of the day`
      : `the first in the order that does not stand still; ${covers}`;
  }
  if (index > chosenAt) return `comes after the chosen one in the order; ${covers}`;
  if (coversEnough) return `${covers}, but stands still, while another method has measured energy`;
  return `${covers}, more than half a day less than the ${percentText(best)} of the one that covers most`;
}

export function percentText(part: number): string {
  return `${plainNumber(Math.round(part * 10_000) / 100)} %`;
}

type LimitsRow = {
  max_power_w: number | null;
  jitter_wh: number;
  modulus_wh: number | null;
  interval_ms: number;
  max_gap_ms: number;
  net: boolean;
  configured_power_w: number | null;
  max_power_after_reset_w: number | null;
  configured_jitter_wh: number | null;
  configured_interval_ms: number | null;
  configured_gap_ms: number | null;
  resolution: number | null;
  step_ms: number | null;
  days: number;
  learnt_power_w: number | null;
  first_day: string | null;
  last_day: string | null;
};

/** The limits of a series, and the origin of each. */
export async function readLimits(
  connection: DuckDBConnection,
  { seriesId, method }: Series,
  stream: StreamSettings,
  { endMs }: Day,
): Promise<ExplainedLimits> {
  const utc_day = Math.floor((endMs - 1) / DAY_MS);
  const [row] = await query<LimitsRow>(connection, 'explain/find_limits', { series_id: seriesId, utc_day });
  const isRegister = method === 'total_energy' || method === 'daily_energy';
  const isLine = method === 'power_curve' && stream.sampling === 'instantaneous';
  const isInterval =
    method === 'interval_energy' || (method === 'power_curve' && stream.sampling === 'interval_average');
  const none = (text: string): Limit => ({ value: null, from: 'none', text });
  const configured = (value: number | null): Limit => ({ value, from: 'configured', text: 'configured' });
  const learntFrom = `learnt from ${row!.days === 1 ? `the day ${row!.first_day}` : `${row!.days} days, ${row!.first_day} to ${row!.last_day}`} (UTC)`;
  const step = row!.step_ms === null ? '?' : plainDuration(row!.step_ms);
  return {
    maxPowerW: maxPower(row!, isRegister, learntFrom),
    jitterWh: !isRegister
      ? none('only registers have one')
      : row!.configured_jitter_wh !== null
        ? configured(row!.configured_jitter_wh)
        : row!.resolution !== null
          ? {
              value: row!.jitter_wh,
              from: 'learnt',
              text: `${ruleConstants.jitter_resolutions.value} times its resolution`,
            }
          : { value: row!.jitter_wh, from: 'default', text: 'too few values are known to learn it' },
    resolutionWh:
      row!.resolution === null
        ? none(
            isRegister
              ? 'not learnt: too few values are known, or the jitter is configured'
              : 'only registers have one',
          )
        : { value: row!.resolution, from: 'learnt', text: learntFrom },
    modulusWh: row!.modulus_wh === null ? none('not declared') : configured(row!.modulus_wh),
    maxGapMilliseconds: !isLine
      ? none('only power that is sampled at instants has one')
      : row!.configured_gap_ms !== null
        ? configured(row!.configured_gap_ms)
        : row!.step_ms === null
          ? { value: row!.max_gap_ms, from: 'default', text: 'the usual step is not known yet' }
          : {
              value: row!.max_gap_ms,
              from: 'learnt',
              text: `${ruleConstants.gap_steps.value} times the usual step of ${step}, at most ${plainDuration(ruleConstants.gap_max_ms.value)} or ${ruleConstants.gap_steps_min.value} steps; ${learntFrom}`,
            },
    intervalMilliseconds: !isInterval
      ? none('only readings of intervals have one')
      : row!.configured_interval_ms !== null
        ? configured(row!.configured_interval_ms)
        : row!.step_ms === null
          ? { value: row!.interval_ms, from: 'default', text: 'the usual step is not known yet' }
          : { value: row!.interval_ms, from: 'learnt', text: `the usual step; ${learntFrom}` },
  };
}

function maxPower(row: LimitsRow, isRegister: boolean, learntFrom: string): Limit {
  if (row.net) return { value: null, from: 'none', text: 'a net register can rise and fall without limit' };
  if (row.configured_power_w !== null) {
    return { value: row.configured_power_w, from: 'configured', text: 'configured' };
  }
  if (row.max_power_w === null) {
    const what = isRegister ? 'rise' : 'value';
    return {
      value: null,
      from: 'none',
      text: `not configured, and not learnt: every ${what} is possible`,
    };
  }
  if (row.learnt_power_w === null) {
    return {
      value: row.max_power_w,
      from: 'default',
      text: 'not configured, and too few readings are known to learn it: what no single source delivers',
    };
  }
  const { busy_part, limit_times, learnt_power_min_w } = ruleConstants;
  const least = plainNumber(learnt_power_min_w.value);
  return {
    value: row.max_power_w,
    from: 'learnt',
    text: isRegister
      ? `${limit_times.value} times the usual power of its busier days, at least ${least} W; ${row.max_power_after_reset_w === null ? '' : `after a restart ${plainNumber(row.max_power_after_reset_w)} W; `}${learntFrom}`
      : // The usual power is a part of the busy quarter of an hour.
        `${limit_times.value / busy_part.value} times the most that is usual on its busier days, at least ${least} W, and only for readings that stand alone; ${learntFrom}`,
  };
}
