import { DAY_MS, HOUR_MS } from '../lib/time.ts';
import { ruleConstants } from './rules.ts';
import type { Stretch, Touched } from './stretches.ts';
import { ask, type Bounds, bindDays, list, run, type Working } from './working.ts';

/** What is computed again, and what that takes. */
export interface Scope {
  /** Bounds of the intervals and of the readings in scope. */
  bounds: Bounds;
  methods: ReadonlySet<string>;
  /** There are new readings to learn limits from. */
  learns: boolean;
  /** There are lifetime registers whose intervals after the scope stay as they are. */
  goesOn: boolean;
  /** There are lifetime registers beside daily ones, which may tell how they stood at midnight. */
  anchored: boolean;
  /** There are lifetime registers beside power, which may shape their silences. */
  shaped: boolean;
  /** There are series that may have breaks to judge again though none has changed. */
  breaks: boolean;
  intervals: bigint;
}

/** How far neighbours are looked for: near by first, which reads little; then, for the series that are silent there, everywhere. */
const NEAR_MS = [6 * HOUR_MS, 2 * DAY_MS, ruleConstants.forever_ms.value];

/** What is known of the asked time: of how many series, from when to when, and of the readings of these series. */
export interface Asked extends Stretch, Pick<Touched, 'firstMs' | 'lastMs' | 'byDay'> {
  series: number;
}

/**
 * From the asked time of each series to the intervals to compute again and the readings that takes, in table `scope`.
 * @returns undefined where nothing is asked
 */
export async function findScope(working: Working, known?: Asked): Promise<Scope | undefined> {
  const asked = known ?? (await describeAsked(working));
  if (asked.series === 0) return undefined;
  await findAsked(working, asked);
  if (!working.isAlone && (await run(working, 'find_shaped')) > 0) {
    await run(working, 'ask_shaped');
    await findAsked(working, await describeAsked(working));
  }
  return describeScope(working);
}

async function findAsked(working: Working, asked: Asked): Promise<void> {
  const { lowMs, highMs, firstMs, lastMs } = asked;
  for (const [place, nearMs] of NEAR_MS.entries()) {
    const fromMs = Math.max(lowMs - nearMs, Math.min(firstMs, lowMs));
    const toMs = Math.min(highMs + nearMs, Math.max(lastMs, highMs));
    if (asked.byDay || place === 0) await bindDays(working, fromMs - DAY_MS, toMs + DAY_MS, false);
    const found = await run(working, 'find_scope', {
      is_first: place === 0,
      near_ms: BigInt(nearMs),
      low_ms: BigInt(fromMs),
      high_ms: BigInt(toMs),
      by_day: asked.byDay,
      is_last: place === NEAR_MS.length - 1,
    });
    if (found === asked.series) break;
  }
}

async function describeAsked(working: Working): Promise<Asked> {
  const row = await ask<{
    series: bigint;
    low_ms: bigint;
    high_ms: bigint;
    first_ms: bigint;
    last_ms: bigint;
    by_day: boolean;
  }>(working, 'describe_asked');
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
export async function describeScope(working: Working): Promise<Scope> {
  const row = await ask<{
    low_ms: bigint;
    high_ms: bigint;
    methods: string;
    learns: boolean;
    goes_on: boolean;
    anchored: boolean;
    shaped: boolean;
    breaks: boolean;
    intervals: bigint;
  }>(working, 'describe_scope');
  await bindDays(working, Number(row.low_ms), Number(row.high_ms), true);
  return {
    bounds: { low_ms: row.low_ms, high_ms: row.high_ms },
    methods: new Set(row.methods.split(',')),
    learns: row.learns,
    goesOn: row.goes_on,
    anchored: row.anchored,
    shaped: row.shaped,
    breaks: row.breaks,
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
export async function divideScope(working: Working, { bounds, intervals }: Scope): Promise<number[]> {
  if (intervals <= INTERVALS_MAX) return [];
  const count_max = intervals / SILENT_INTERVALS_MIN;
  const readings = await ask<{ count: bigint }>(working, 'count_readings', { ...bounds, count_max });
  if (readings.count >= count_max) return [];
  await run(working, 'divide_scope', { intervals_max: INTERVALS_MAX });
  const parts = await list<{ part: number }>(working, 'scope_parts');
  return parts.length > 1 ? parts.map(({ part }) => part) : [];
}
