import { DAY_MS, HOUR_MS } from '../lib/time.ts';
import type { Stretch, Touched } from './find-stretches.ts';
import { type Bounds, bindDays, type RollUpContext, readRow, readRows, run } from './rollup-context.ts';
import { ruleConstants } from './rules.ts';

/** What is computed again, and what that takes. */
export interface Scope {
  /** Bounds of the intervals and of the readings in scope. */
  bounds: Bounds;
  methods: ReadonlySet<string>;
  /** There are new readings to learn limits from. */
  learns: boolean;
  /** There are lifetime registers whose intervals after the scope stay as they are. */
  hasLater: boolean;
  /** There are lifetime registers beside daily ones, which may tell how they stood at midnight. */
  besideDaily: boolean;
  /** There are lifetime registers beside power, which may shape their silences. */
  besidePower: boolean;
  /** There are series that may have breaks to judge again though none has changed. */
  mayRejudge: boolean;
  intervals: bigint;
}

/** How far neighbours are looked for: near by first, which reads little; then, for the series that are silent there, everywhere. */
const NEAR_MS = [6 * HOUR_MS, 2 * DAY_MS, ruleConstants.forever_ms.value];

/** What is known of the requested time: of how many series, from when to when, and of the readings of these series. */
export interface RequestedTime extends Stretch, Pick<Touched, 'firstMs' | 'lastMs' | 'byDay'> {
  series: number;
}

/**
 * From the requested time of each series to the intervals to compute again and the readings that takes, in table `scope`.
 * @returns undefined where nothing is asked
 */
export async function findScope(context: RollUpContext, known?: RequestedTime): Promise<Scope | undefined> {
  const requested = known ?? (await describeRequest(context));
  if (requested.series === 0) return undefined;
  await findRequested(context, requested);
  if (!context.isAlone && (await run(context, 'find_reshaped_silences')) > 0) {
    await run(context, 'request_reshaped_silences');
    await findRequested(context, await describeRequest(context));
  }
  return describeScope(context);
}

async function findRequested(context: RollUpContext, requested: RequestedTime): Promise<void> {
  const { lowMs, highMs, firstMs, lastMs } = requested;
  for (const [place, nearMs] of NEAR_MS.entries()) {
    const fromMs = Math.max(lowMs - nearMs, Math.min(firstMs, lowMs));
    const toMs = Math.min(highMs + nearMs, Math.max(lastMs, highMs));
    if (requested.byDay || place === 0) await bindDays(context, fromMs - DAY_MS, toMs + DAY_MS, false);
    const found = await run(context, 'find_scope', {
      is_first: place === 0,
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

/** What is in table `scope`; binds its local days. */
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
  await bindDays(context, Number(row.low_ms), Number(row.high_ms), true);
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

/** As many intervals take some 150 MB to sort: six registers that are silent for ten years. */
const INTERVALS_MAX = 2_000_000n;

/** Where there are more intervals than this for each reading, silences are what takes the memory; else the readings do. */
const SILENT_INTERVALS_MIN = 4n;

/**
 * Divides a scope that is made up of long silences, so that memory does not grow with how many devices are silent.
 * @returns the parts to take one after the other; none where the scope is computed as it is
 */
export async function divideScope(context: RollUpContext, { bounds, intervals }: Scope): Promise<number[]> {
  if (intervals <= INTERVALS_MAX) return [];
  const count_max = intervals / SILENT_INTERVALS_MIN;
  const readings = await readRow<{ count: bigint }>(context, 'count_readings', { ...bounds, count_max });
  if (readings.count >= count_max) return [];
  await run(context, 'divide_scope', { intervals_max: INTERVALS_MAX });
  const parts = await readRows<{ part: number }>(context, 'list_scope_parts');
  return parts.length > 1 ? parts.map(({ part }) => part) : [];
}
