import { DAY_MS, HOUR_MS } from '../lib/time.ts';
import type { Stretch, Touched } from './find-stretches.ts';
import {
  type Bounds,
  bindDays,
  type RollUpContext,
  readRow,
  readRows,
  runStatement,
} from './rollup-context.ts';
import { ruleConstants } from './rule-constants.ts';

/** The time that is computed again, and the work for it. */
export interface Scope {
  /** Bounds of the intervals and readings in scope. */
  bounds: Bounds;
  methods: ReadonlySet<string>;
  /** True if there are new readings to learn limits from. */
  learns: boolean;
  /** True if lifetime registers have intervals after the scope, which stay the same. */
  hasLater: boolean;
  /** True if a lifetime register has a daily register beside it, which can show its value at midnight. */
  besideDaily: boolean;
  /** True if a lifetime register has power beside it, which can give its silences their shape. */
  besidePower: boolean;
  /** True if breaks may have to be judged again, even if none of them has changed. */
  mayRejudge: boolean;
  intervals: bigint;
}

/**
 * Neighbours are searched within this distance from a change. A near search comes first, because it reads
 * little. A search everywhere follows for series that are silent near the change.
 */
const NEAR_MS = [6 * HOUR_MS, 2 * DAY_MS, ruleConstants.forever_ms.value];

/** The requested time: its range, the number of its series, and the range of their readings. */
interface RequestedTime extends Stretch, Pick<Touched, 'firstMs' | 'lastMs' | 'byDay'> {
  series: number;
}

/**
 * Finds the intervals to compute again and the readings for them, for the requested time of each series. The
 * result is in table `scope`.
 * @returns undefined if no time is requested
 */
export async function findScope(context: RollUpContext, known?: RequestedTime): Promise<Scope | undefined> {
  const requested = known ?? (await describeRequest(context));
  if (requested.series === 0) return undefined;
  await findRequested(context, requested);
  if (!context.isAlone && (await runStatement(context, 'collect_reshaped_silences')) > 0) {
    await runStatement(context, 'request_wider_time');
    await findRequested(context, await describeRequest(context));
  }
  return describeScope(context);
}

async function findRequested(context: RollUpContext, requested: RequestedTime): Promise<void> {
  const { lowMs, highMs, firstMs, lastMs } = requested;
  await runStatement(context, 'create_scope');
  let found = 0;
  for (const [place, nearMs] of NEAR_MS.entries()) {
    const fromMs = Math.max(lowMs - nearMs, Math.min(firstMs, lowMs));
    const toMs = Math.min(highMs + nearMs, Math.max(lastMs, highMs));
    if (requested.byDay || place === 0)
      await bindDays(context, fromMs - DAY_MS, toMs + DAY_MS, { byInterval: false });
    found += await runStatement(context, 'collect_scope', {
      near_ms: BigInt(nearMs),
      low_ms: BigInt(fromMs),
      high_ms: BigInt(toMs),
      by_day: requested.byDay,
      is_last: place === NEAR_MS.length - 1,
    });
    if (found === requested.series) break;
  }
}

async function describeRequest(context: RollUpContext): Promise<RequestedTime> {
  const row = await readRow<{
    series: bigint;
    low_ms: bigint;
    high_ms: bigint;
    first_ms: bigint;
    last_ms: bigint;
    by_day: boolean;
  }>(context, 'describe_request');
  return {
    series: Number(row.series),
    lowMs: Number(row.low_ms),
    highMs: Number(row.high_ms),
    firstMs: Number(row.first_ms),
    lastMs: Number(row.last_ms),
    byDay: row.by_day,
  };
}

/** Describes table `scope`, and binds its local days. */
export async function describeScope(context: RollUpContext): Promise<Scope> {
  const row = await readRow<{
    low_ms: bigint;
    high_ms: bigint;
    methods: string;
    learns: boolean;
    has_later: boolean;
    beside_daily: boolean;
    beside_power: boolean;
    may_rejudge: boolean;
    intervals: bigint;
  }>(context, 'describe_scope');
  await bindDays(context, Number(row.low_ms), Number(row.high_ms), { byInterval: true });
  return {
    bounds: { low_ms: row.low_ms, high_ms: row.high_ms },
    methods: new Set(row.methods.split(',')),
    learns: row.learns,
    hasLater: row.has_later,
    besideDaily: row.beside_daily,
    besidePower: row.beside_power,
    mayRejudge: row.may_rejudge,
    intervals: row.intervals,
  };
}

/** Sorting this many intervals takes about 150 MB: six registers that are silent for ten years. */
const INTERVALS_MAX = 2_000_000n;

/**
 * After this many intervals of silences a call begins no other part. The other sources wait for a later call.
 * So a call takes about 4 s, and its rows, which are in memory until its end, are bounded.
 */
export const CALL_INTERVALS_MAX = 4_000_000;

/**
 * With more intervals than this for each reading, the silences of a scope take most memory. With fewer, the
 * readings do.
 */
const SILENT_INTERVALS_MIN = 4n;

/**
 * Divides a scope of long silences into parts, so that memory does not grow with the number of silent
 * devices. Sources with short silences come first.
 * @param callIntervalsMax the most intervals of silences that one call computes
 * @returns the parts, which are computed one after the other; empty if the scope is not divided
 */
export async function divideScope(
  context: RollUpContext,
  { bounds, intervals }: Scope,
  callIntervalsMax = INTERVALS_MAX,
): Promise<number[]> {
  const intervals_max = callIntervalsMax < INTERVALS_MAX ? callIntervalsMax : INTERVALS_MAX;
  if (intervals <= intervals_max) return [];
  const count_max = intervals / SILENT_INTERVALS_MIN;
  const readings = await readRow<{ count: bigint }>(context, 'count_readings', { ...bounds, count_max });
  if (readings.count >= count_max) return [];
  await runStatement(context, 'divide_scope', { intervals_max });
  const parts = await readRows<{ part: number }>(context, 'list_scope_parts');
  return parts.length > 1 ? parts.map(({ part }) => part) : [];
}
