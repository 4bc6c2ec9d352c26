import { DAY_MS, type UtcMs } from '../lib/time.ts';
import { type RollUpContext, readRow, readRows } from './rollup-context.ts';

/** A part of time. */
export interface Stretch {
  lowMs: UtcMs;
  highMs: UtcMs;
}

export type StretchRow = { low_ms: bigint; high_ms: bigint };

/** Parts that are less apart than this are one: what lies between is read for both anyway. */
const APART_MS_MIN = 2 * DAY_MS;

/** Each stretch costs dozens of statements and the memory of their tables, however little it holds: more than a look at the time between. */
const STRETCHES_MAX = 8;

/** What is touched, and what is known of the series of it. */
export interface Touched {
  stretches: Stretch[];
  /** The first and the last reading of any of them. */
  firstMs: UtcMs;
  lastMs: UtcMs;
  /** One of them restarts every day. */
  byDay: boolean;
  /** A source of their devices has more than one series. */
  several: boolean;
}

/** The touched time, in stretches to be computed each by itself. */
export async function findStretches(context: RollUpContext): Promise<Touched> {
  const days = await readRows<
    StretchRow & { first_ms: bigint; last_ms: bigint; by_day: boolean; several: boolean }
  >(context, 'list_touched_time');
  const stretches: Stretch[] = [];
  for (const stretch of stretchesOf(days)) {
    const last = stretches.at(-1);
    // A silence would be computed for the stretches on either side of it.
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
    several: days.some(({ several }) => several),
  };
}

async function isSilent(context: RollUpContext, lowMs: UtcMs, highMs: UtcMs): Promise<boolean> {
  return (await readRow<{ silent: boolean }>(context, 'is_silent', asBounds({ lowMs, highMs }))).silent;
}

/** Joins parts of time, in order of their start, that are less than two days apart; then across the smallest gaps, until few are left. */
export function stretchesOf(rows: readonly StretchRow[]): Stretch[] {
  const parts = rows.map((row) => ({ lowMs: Number(row.low_ms), highMs: Number(row.high_ms) }));
  const stretches = joinStretches(parts, APART_MS_MIN);
  const gapsMs = stretches.slice(1).map(({ lowMs }, index) => lowMs - stretches[index]!.highMs);
  const apartMs = gapsMs.toSorted((one, other) => other - one)[STRETCHES_MAX - 1];
  return apartMs === undefined ? stretches : joinStretches(stretches, apartMs);
}

/** Joins those that are no further apart than that. */
function joinStretches(parts: readonly Stretch[], apartMs: number): Stretch[] {
  const stretches: Stretch[] = [];
  for (const { lowMs, highMs } of parts) {
    const last = stretches.at(-1);
    if (last && lowMs <= last.highMs + apartMs) last.highMs = Math.max(last.highMs, highMs);
    else stretches.push({ lowMs, highMs });
  }
  return stretches;
}

/** As the parameters $low_ms and $high_ms of a statement. */
export function asBounds({ lowMs, highMs }: Stretch): StretchRow {
  return { low_ms: BigInt(lowMs), high_ms: BigInt(highMs) };
}
