import { DAY_MS, HOUR_MS } from '../time.ts';
import { query } from '../warehouse/query.ts';
import { ruleConstants } from './rules.ts';
import { ask, type Bounds, bindDays, run, type Working } from './working.ts';

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
  intervals: bigint;
}

/** How far neighbours are looked for: near by first, which reads little; then, for the series that are silent there, everywhere. */
const NEAR_MS = [2 * HOUR_MS, 2 * DAY_MS, ruleConstants.forever_ms.value];

/**
 * From the asked time of each series to the intervals to compute again and the readings that takes, in table `scope`.
 * @returns undefined where nothing is asked
 */
export async function findScope(working: Working): Promise<Scope | undefined> {
  if (!(await findAsked(working))) return undefined;
  if ((await run(working, 'find_shaped')) > 0) {
    await run(working, 'ask_shaped');
    await findAsked(working);
  }
  return describeScope(working);
}

/** @returns whether anything is asked */
async function findAsked(working: Working): Promise<boolean> {
  const asked = await ask<{
    series: bigint;
    low_ms: bigint | null;
    high_ms: bigint | null;
    first_ms: bigint;
    last_ms: bigint;
    by_day: boolean;
  }>(working, 'describe_asked');
  if (asked.low_ms === null || asked.high_ms === null) return false;
  await run(working, 'create_scope');
  let found = 0;
  for (const [place, nearMs] of NEAR_MS.entries()) {
    const lowMs = Math.max(
      Number(asked.low_ms) - nearMs,
      Math.min(Number(asked.first_ms), Number(asked.low_ms)),
    );
    const highMs = Math.min(
      Number(asked.high_ms) + nearMs,
      Math.max(Number(asked.last_ms), Number(asked.high_ms)),
    );
    if (asked.by_day || place === 0) await bindDays(working, lowMs - DAY_MS, highMs + DAY_MS);
    found += await run(working, 'find_scope', {
      near_ms: BigInt(nearMs),
      low_ms: BigInt(lowMs),
      high_ms: BigInt(highMs),
      is_last: place === NEAR_MS.length - 1,
    });
    if (found === Number(asked.series)) break;
  }
  return true;
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
    intervals: bigint;
  }>(working, 'describe_scope');
  await bindDays(working, Number(row.low_ms), Number(row.high_ms));
  await run(working, 'bind_intervals');
  return {
    bounds: { low_ms: row.low_ms, high_ms: row.high_ms },
    methods: new Set(row.methods.split(',')),
    learns: row.learns,
    goesOn: row.goes_on,
    anchored: row.anchored,
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
  const parts = await query<{ part: number }>(working.connection, 'rollup/scope_parts');
  return parts.length > 1 ? parts.map(({ part }) => part) : [];
}
