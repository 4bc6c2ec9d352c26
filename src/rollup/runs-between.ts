import type { UtcMs } from '../lib/time.ts';
import type { RegisterRule, Run, SeriesBreak } from './register-rule.ts';
import { ruleConstants } from './rule-constants.ts';

/** The runs of readings between breaks, in order. It notes the last reading that was needed. */
export interface Runs {
  /** The run at a position; undefined after the last one. */
  at(place: number): Run | undefined;
  /** The time of the last reading that was needed; far in the future if the end was reached. */
  lookedMs(): UtcMs;
  /** Removes a run, as if its readings did not exist. */
  leaveOut(place: number): Run;
}

/** Makes the runs between breaks. @param breaks in order */
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
      // More readings can follow the last run.
      const untilMs = run === undefined || run === last ? ruleConstants.forever_ms.value : run.lastMs;
      lookedMs = Math.max(lookedMs, untilMs);
      return run;
    },
    lookedMs: () => lookedMs,
    leaveOut: (place) => runs.splice(place, 1)[0]!,
  };
}
