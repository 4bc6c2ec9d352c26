import { DAY_MS, type UtcMs } from '../lib/time.ts';
import { type Bounds, type RollUpContext, readRow, readRows } from './rollup-context.ts';

/** A time range. */
export interface Stretch {
  lowMs: UtcMs;
  highMs: UtcMs;
}

/** Ranges that are closer than this are joined, because the time between them is read for both anyway. */
const APART_MS_MIN = 2 * DAY_MS;

/**
 * The maximum number of stretches of one roll-up. Each costs dozens of statements and the memory of their
 * tables, which is more than reading the time between two.
 */
const STRETCHES_MAX = 8;

/** The touched time, in stretches, and the known facts about its series. */
export interface Touched {
  stretches: Stretch[];
  /** First reading of any touched series; `lastMs`: the last one. */
  firstMs: UtcMs;
  lastMs: UtcMs;
  /** True if one of the series restarts every day. */
  byDay: boolean;
  /** True if a source of their devices has more than one series. */
  hasSeveralSeries: boolean;
}

/** Divides the touched time into stretches. Each is computed by itself. */
export async function findStretches(context: RollUpContext): Promise<Touched> {
  const days = await readRows<
    Bounds & { first_ms: bigint; last_ms: bigint; by_day: boolean; several: boolean }
  >(context, 'list_touched_time');
  const stretches: Stretch[] = [];
  for (const stretch of joinToFewStretches(days)) {
    const last = stretches.at(-1);
    // Without a reading between them, both stretches would compute the same silence. The result is the same,
    // but the work is done twice.
    if (last && (await isSilent(context, last.highMs, stretch.lowMs))) last.highMs = stretch.highMs;
    else stretches.push(stretch);
  }
  return {
    stretches,
    firstMs: days.reduce(
      (least, { first_ms }) => Math.min(least, Number(first_ms)),
      Number.POSITIVE_INFINITY,
    ),
    lastMs: days.reduce((most, { last_ms }) => Math.max(most, Number(last_ms)), 0),
    byDay: days.some(({ by_day }) => by_day),
    hasSeveralSeries: days.some(({ several }) => several),
  };
}

async function isSilent(context: RollUpContext, lowMs: UtcMs, highMs: UtcMs): Promise<boolean> {
  return (await readRow<{ silent: boolean }>(context, 'find_silence', asBounds({ lowMs, highMs }))).silent;
}

/**
 * Joins time ranges that are less than two days apart. Then it joins across the smallest gaps until few
 * ranges are left.
 * @param rows in order of their start
 */
export function joinToFewStretches(rows: readonly Bounds[]): Stretch[] {
  const ranges = rows.map((row) => ({ lowMs: Number(row.low_ms), highMs: Number(row.high_ms) }));
  const stretches = joinWithin(ranges, APART_MS_MIN);
  const gapsMs = stretches.slice(1).map(({ lowMs }, index) => lowMs - stretches[index]!.highMs);
  const apartMs = gapsMs.toSorted((one, other) => other - one)[STRETCHES_MAX - 1];
  return apartMs === undefined ? stretches : joinWithin(stretches, apartMs);
}

/** Joins ranges that are at most this far apart. */
function joinWithin(ranges: readonly Stretch[], apartMs: number): Stretch[] {
  const stretches: Stretch[] = [];
  for (const { lowMs, highMs } of ranges) {
    const last = stretches.at(-1);
    if (last && lowMs <= last.highMs + apartMs) last.highMs = Math.max(last.highMs, highMs);
    else stretches.push({ lowMs, highMs });
  }
  return stretches;
}

/** The parameters $low_ms and $high_ms of a statement. */
export function asBounds({ lowMs, highMs }: Stretch): Bounds {
  return { low_ms: BigInt(lowMs), high_ms: BigInt(highMs) };
}
