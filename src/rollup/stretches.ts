import { DAY_MS, type UtcMs } from '../time.ts';

/** A part of time. */
export interface Stretch {
  lowMs: UtcMs;
  highMs: UtcMs;
}

export type StretchRow = { low_ms: bigint; high_ms: bigint };

/** Joins parts of time, in order of their start, that are less than two days apart. */
export function stretchesOf(rows: readonly StretchRow[]): Stretch[] {
  const stretches: Stretch[] = [];
  for (const row of rows) {
    const [lowMs, highMs] = [Number(row.low_ms), Number(row.high_ms)];
    const last = stretches.at(-1);
    if (last && lowMs <= last.highMs + 2 * DAY_MS) last.highMs = Math.max(last.highMs, highMs);
    else stretches.push({ lowMs, highMs });
  }
  return stretches;
}

/** As the parameters $low_ms and $high_ms of a statement. */
export function asBounds({ lowMs, highMs }: Stretch): StretchRow {
  return { low_ms: BigInt(lowMs), high_ms: BigInt(highMs) };
}
