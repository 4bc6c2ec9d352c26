import type { UtcMs } from '../lib/time.ts';
import type { RegisterRule, Run, SeriesBreak } from './register-rule.ts';
import { ruleConstants } from './rules.ts';

/** The runs of readings between breaks, in the order of time. Remembers how far ahead it was looked at. */
export interface Runs {
  /** The run at a place; undefined after the last one. */
  at(place: number): Run | undefined;
  /** Up to when readings have been looked at; far in the future where the end was reached. */
  lookedMs(): UtcMs;
  /** Leaves a run out, as if its readings were not there. */
  omitSeries(place: number): Run;
}

/** @param breaks in the order of time */
export function runsBetween(breaks: readonly SeriesBreak[], rule: RegisterRule): Runs {
  const { start, lastReadingMs } = rule;
  const runs = Array.from({ length: breaks.length + 1 }, (_, index): Run => {
    const before = breaks[index - 1];
    const after = breaks[index];
    return {
      firstMs: before?.toMs ?? start?.ms ?? Number.NEGATIVE_INFINITY,
      firstValue: before?.toValue ?? start?.value ?? 0,
      lastMs: after?.fromMs ?? Math.max(lastReadingMs, before?.toMs ?? lastReadingMs),
      lastValue: after?.fromValue ?? Number.POSITIVE_INFINITY,
      maxPowerW: before?.maxPowerW,
      maxPowerAfterResetW: before?.maxPowerAfterResetW,
      jitterWh: before?.jitterWh ?? 0,
      standstillSinceMs: before?.standstillSinceMs,
    };
  });
  const last = runs.at(-1);
  let lookedMs = start?.lookedMs ?? Number.NEGATIVE_INFINITY;
  return {
    at(place) {
      const run = runs[place];
      // The last run may go on: more readings may come.
      const untilMs = run === undefined || run === last ? ruleConstants.forever_ms.value : run.lastMs;
      lookedMs = Math.max(lookedMs, untilMs);
      return run;
    },
    lookedMs: () => lookedMs,
    omitSeries: (place) => runs.splice(place, 1)[0]!,
  };
}
