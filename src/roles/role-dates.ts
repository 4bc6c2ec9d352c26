import { addDays, type LocalDate } from '../lib/time.ts';

/** Local days, both included. Undefined is open. */
export interface DateSpan {
  from: LocalDate | undefined;
  to: LocalDate | undefined;
}

/** Before and after all configurable days. */
const FIRST = '0000-01-01';
const LAST = '9999-12-31';

export function includesDay({ from, to }: Partial<DateSpan>, day: LocalDate): boolean {
  return (from ?? FIRST) <= day && day <= (to ?? LAST);
}

export function overlap(one: Partial<DateSpan>, other: Partial<DateSpan>): boolean {
  return (one.from ?? FIRST) <= (other.to ?? LAST) && (other.from ?? FIRST) <= (one.to ?? LAST);
}

/**
 * The spans of days between all beginnings and ends of the given spans, in order. Together they cover all
 * days.
 */
export function splitIntoSpans(spans: ReadonlyArray<Partial<DateSpan>>): DateSpan[] {
  const starts = new Set<LocalDate>();
  for (const { from, to } of spans) {
    if (from !== undefined) starts.add(from);
    if (to !== undefined) starts.add(addDays(to, 1));
  }
  const sorted = [...starts].sort();
  return [undefined, ...sorted].map((from, index) => ({
    from,
    to: index < sorted.length ? addDays(sorted[index]!, -1) : undefined,
  }));
}

/** A day within a span. */
export function anyDayOf({ from, to }: Partial<DateSpan>): LocalDate {
  return from ?? to ?? '2000-01-01';
}
