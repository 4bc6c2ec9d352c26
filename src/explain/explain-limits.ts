import type { EnergyMethod } from '../config/energy-stream.ts';
import { DAY_MS } from '../lib/time.ts';
import type { StreamSettings } from '../rollup/bind-streams.ts';
import { lookAheadDays } from '../rollup/learn-limits.ts';
import type { RollUpContext } from '../rollup/rollup-context.ts';
import { ruleConstants } from '../rollup/rule-constants.ts';
import { query } from '../warehouse/query.ts';
import { plainDuration, plainNumber } from './explain-words.ts';
import type { Day } from './explained-day.ts';
import type { ExplainedLimits, Limit } from './explained-schema.ts';

/** A row of `find_limits`. */
export type LimitsRow = {
  max_power_w: number | null;
  jitter_wh: number;
  modulus_wh: number | null;
  reading_interval_ms: number;
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

/** The limits of a series at the end of a day, and the origin of each. */
export async function readLimits(
  context: RollUpContext,
  { seriesId, method }: { seriesId: number; method: EnergyMethod },
  { sampling }: Pick<StreamSettings, 'sampling'>,
  { endMs }: Pick<Day, 'endMs'>,
): Promise<ExplainedLimits> {
  const utc_day = Math.floor((endMs - 1) / DAY_MS);
  const [row] = await query<LimitsRow>(context.connection, 'explain/find_limits', {
    series_id: seriesId,
    utc_day,
    look_ahead: lookAheadDays(context),
  });
  return describeLimits(row!, method, sampling);
}

/** The limits of a row in words. A method has only some of them. */
export function describeLimits(
  row: LimitsRow,
  method: EnergyMethod,
  sampling: StreamSettings['sampling'],
): ExplainedLimits {
  const isRegister = method === 'total_energy' || method === 'daily_energy';
  const isLine = method === 'power_curve' && sampling === 'instantaneous';
  const isInterval =
    method === 'interval_energy' || (method === 'power_curve' && sampling === 'interval_average');
  const noRegister = none('only registers have one');
  return {
    maxPowerW: maxPower(row, isRegister),
    jitterWh: isRegister ? jitter(row) : noRegister,
    resolutionWh: isRegister ? resolution(row) : noRegister,
    modulusWh: row.modulus_wh === null ? none('not declared') : configured(row.modulus_wh),
    maxGapMilliseconds: isLine ? maxGap(row) : none('only power that is sampled at instants has one'),
    intervalMilliseconds: isInterval ? interval(row) : none('only readings of intervals have one'),
  };
}

function none(text: string): Limit {
  return { value: null, from: 'none', text };
}

function configured(value: number): Limit {
  return { value, from: 'configured', text: 'configured' };
}

function learntFrom({ days, first_day, last_day }: LimitsRow): string {
  const when = days === 1 ? `the day ${first_day}` : `${days} days, ${first_day} to ${last_day}`;
  return `learnt from ${when} (UTC)`;
}

function jitter({ configured_jitter_wh, resolution, jitter_wh }: LimitsRow): Limit {
  if (configured_jitter_wh !== null) return configured(configured_jitter_wh);
  if (resolution === null)
    return { value: jitter_wh, from: 'default', text: 'too few values are known to learn it' };
  const times = ruleConstants.jitter_resolutions.value;
  return { value: jitter_wh, from: 'learnt', text: `${times} times its resolution` };
}

function resolution(row: LimitsRow): Limit {
  if (row.resolution === null)
    return none('not learnt: too few values are known, or the jitter is configured');
  return { value: row.resolution, from: 'learnt', text: learntFrom(row) };
}

const stepUnknown = 'the usual step is not known yet';

function maxGap(row: LimitsRow): Limit {
  const { configured_gap_ms, step_ms, max_gap_ms } = row;
  if (configured_gap_ms !== null) return configured(configured_gap_ms);
  if (step_ms === null) return { value: max_gap_ms, from: 'default', text: stepUnknown };
  const { gap_steps, gap_max_ms, gap_steps_min } = ruleConstants;
  const most = `at most ${plainDuration(gap_max_ms.value)}, or ${gap_steps_min.value} steps if they are longer`;
  return {
    value: max_gap_ms,
    from: 'learnt',
    text: `${gap_steps.value} times the usual step of ${plainDuration(step_ms)}, ${most}; ${learntFrom(row)}`,
  };
}

function interval(row: LimitsRow): Limit {
  const { configured_interval_ms, step_ms, reading_interval_ms } = row;
  if (configured_interval_ms !== null) return configured(configured_interval_ms);
  if (step_ms === null) return { value: reading_interval_ms, from: 'default', text: stepUnknown };
  return { value: reading_interval_ms, from: 'learnt', text: `the usual step; ${learntFrom(row)}` };
}

function maxPower(row: LimitsRow, isRegister: boolean): Limit {
  if (row.net) return none('a net register can rise and fall without limit');
  if (row.configured_power_w !== null) return configured(row.configured_power_w);
  if (row.max_power_w === null) {
    const what = isRegister ? 'rise' : 'value';
    return none(`not configured, and not learnt: every ${what} is possible`);
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
      ? `${limit_times.value} times the usual power of its busier days, at least ${least} W; ${row.max_power_after_reset_w === null ? '' : `after a restart ${plainNumber(row.max_power_after_reset_w)} W; `}${learntFrom(row)}`
      : // The usual power is a part of the busy quarter of an hour.
        `${limit_times.value / busy_part.value} times the most that is usual on its busier days, at least ${least} W, and only for readings that stand alone; ${learntFrom(row)}`,
  };
}
