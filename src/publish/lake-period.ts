import { TerminalError } from '../lib/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, type UtcMs } from '../lib/time.ts';

/**
 * A period of UTC time, written as the beginning of an ISO instant: month `2026-11`, day `2026-11-20` or hour
 * `2026-11-20T13`. Partitions are named by periods.
 */
export type Period = string;
export type PeriodKind = 'hour' | 'day' | 'month';

const CHARACTERS: Readonly<Record<PeriodKind, number>> = { month: 7, day: 10, hour: 13 };

/** The period of an instant. */
export function periodOf(ms: UtcMs, kind: PeriodKind): Period {
  return new Date(ms).toISOString().slice(0, CHARACTERS[kind]);
}

/** The larger period that contains a period, or itself. */
export function widen(period: Period, kind: PeriodKind): Period {
  return period.slice(0, CHARACTERS[kind]);
}

/** @throws TerminalError if the text is not a period */
export function periodKind(period: Period): PeriodKind {
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(period)) return 'month';
  if (/^\d{4}-\d{2}-\d{2}$/.test(period)) return 'day';
  if (/^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3])$/.test(period)) return 'hour';
  throw new TerminalError('UnknownPeriod', `"${period}" is not a month, day or hour such as 2026-11-20T13`);
}

/** The half-open window of instants of a period, in UTC. */
export function periodBounds(period: Period): { startMs: UtcMs; endMs: UtcMs } {
  const kind = periodKind(period);
  if (kind === 'month') {
    const [year, month] = period.split('-').map(Number) as [number, number];
    return { startMs: Date.UTC(year, month - 1), endMs: Date.UTC(year, month) };
  }
  const startMs = Date.parse(kind === 'day' ? `${period}T00:00:00Z` : `${period}:00:00Z`);
  return { startMs, endMs: startMs + (kind === 'day' ? DAY_MS : HOUR_MS) };
}

/** How long after the end of a period its messages may still arrive. */
const LATE_MS: Readonly<Record<PeriodKind, number>> = {
  hour: 10 * MINUTE_MS,
  day: 2 * HOUR_MS,
  month: 72 * HOUR_MS,
};

/** True if a period has ended, and its usual late messages have arrived. */
export function isOver(period: Period, nowMs: UtcMs): boolean {
  return nowMs >= periodBounds(period).endMs + LATE_MS[periodKind(period)];
}
