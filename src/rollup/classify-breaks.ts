import type { UtcMs } from '../lib/time.ts';
import { beginningGlitch, joinEvent, outlierEvent } from './break-events.ts';
import { continuesAtPace, hasRolledOver, judgeLastingBreak } from './judge-lasting-break.ts';
import {
  findReturn,
  hasCountedAbove,
  hasStartedCounting,
  isOtherUnit,
  isSkippedReading,
  joinRuns,
  returnInUnit,
  startedAsleep,
} from './outliers.ts';
import {
  continues,
  type EnergyEvent,
  maxGrowthWh,
  type RegisterRule,
  type Run,
  type SeriesBreak,
} from './register-rule.ts';
import { ruleConstants } from './rule-constants.ts';
import { type Runs, runsBetween } from './runs-between.ts';

/** The state of the judgement: the breaks up to the believed run are judged. */
interface Progress {
  runs: Runs;
  rule: RegisterRule;
  /** The position of the believed run. */
  index: number;
  believed: Run;
  /** True after the register has counted in a believed run. */
  hasStarted: boolean;
  /** The last rise that was believed although it is beyond the learnt limit. */
  rise: { from: Run; to: Run } | undefined;
}

/** The meaning of a break. */
type BreakVerdict =
  /** The run at `index` is believed. `isRise`: although it is beyond the learnt limit. */
  | { kind: 'believe'; index: number; event?: EnergyEvent | undefined; isRise?: boolean }
  /** The next run is left out, and the run after it is compared. */
  | { kind: 'leave-out'; event: EnergyEvent }
  /** The recording began with wrong values, so this event replaces all earlier ones. */
  | { kind: 'begin-again'; event: EnergyEvent }
  /** All later readings are left out. */
  | { kind: 'end'; event: EnergyEvent };

/**
 * Judges the breaks of a register by the table "What a break is" of docs/rules.md, row by row. It compares
 * the runs between the breaks, in order, with the run that is believed.
 * The result depends only on the breaks and the rule, and never on the order in which readings arrived.
 * @param breaks of one series, in order; of one local day if the register restarts every day
 * @returns the events; decided: the time of each break at which a believed run begins, with the time of the
 *   last reading that was needed to decide it
 */
export function classifyBreaks(
  breaks: readonly SeriesBreak[],
  rule: RegisterRule,
): { events: EnergyEvent[]; decided: Map<UtcMs, UtcMs> } {
  const runs = runsBetween(breaks, rule);
  const spike = firstOfDaySpike(breaks, rule);
  const events: EnergyEvent[] = spike ? [spike] : [];
  const decided = new Map<UtcMs, UtcMs>();
  const first = spike ? 1 : 0;
  const progress: Progress = {
    runs,
    rule,
    index: first,
    believed: runs.at(first)!,
    hasStarted: rule.start !== undefined,
    rise: undefined,
  };
  /** The believed runs that continue each other, as one run. */
  let together: Run | undefined;
  for (;;) {
    const { believed, index, rise } = progress;
    together = joinRuns(together, believed);
    progress.hasStarted ||= hasStartedCounting(together, rule);
    if (progress.hasStarted && index > 0 && rise?.to !== believed)
      decided.set(believed.firstMs, runs.lookedMs());
    const next = runs.at(index + 1);
    if (!next) break;
    const verdict = judgeBreak(progress, next);
    if (verdict.kind === 'begin-again') events.length = 0;
    if (verdict.event) events.push(verdict.event);
    if (verdict.kind === 'end') break;
    if (verdict.kind === 'leave-out') runs.leaveOut(index + 1);
    else believe(progress, verdict.kind === 'believe' ? verdict : { index: index + 1 });
  }
  return { events, decided };
}

function believe(progress: Progress, { index, isRise = false }: { index: number; isRise?: boolean }): void {
  const to = progress.runs.at(index)!;
  if (isRise) progress.rise = { from: progress.believed, to };
  progress.index = index;
  progress.believed = to;
}

/** Judges the break between the believed run and the next one. The first rule that applies decides. */
function judgeBreak(progress: Progress, next: Run): BreakVerdict {
  const { believed, index, rule } = progress;
  const change = declaredChangeBetween(believed, next, rule);
  if (change) {
    const energyWh = change.finalValue - believed.lastValue + next.firstValue - change.initialValue;
    const event = joinEvent('register_change', believed, next, Math.max(0, energyWh));
    return { kind: 'believe', index: index + 1, event };
  }
  if (continues(believed, next)) return { kind: 'believe', index: index + 1 };
  const after = progress.runs.at(index + 2);
  if (isSkippedReading(believed, next, after, rule) && !declaredChangeBetween(next, after, rule))
    return { kind: 'leave-out', event: outlierEvent(believed, [next]) };
  return (
    judgeReturn(progress, next) ?? judgeOtherUnit(progress, next) ?? judgeWithoutReturn(progress, next, after)
  );
}

/** Judges a break after which the register comes back. Undefined if it does not come back. */
function judgeReturn(
  { runs, believed, index, hasStarted, rule }: Progress,
  next: Run,
): BreakVerdict | undefined {
  const back = findReturn(runs, index, rule);
  if (back === undefined) return undefined;
  if (!hasStarted && hasCountedAbove(runs, index, back))
    return { kind: 'begin-again', event: beginningGlitch(believed, next, rule) };
  if (!startedAsleep(runs, index, back)) {
    const away = Array.from({ length: back - index - 1 }, (_, place) => runs.at(index + 1 + place)!);
    return { kind: 'believe', index: back, event: outlierEvent(believed, away) };
  }
  if (rule.restartsDaily) return undefined;
  const asleep = { ...believed, firstMs: rule.firstReadingMs, firstValue: believed.lastValue };
  return { kind: 'believe', index: index + 1, event: outlierEvent(next, [asleep]) };
}

/**
 * Judges a break after which a lifetime register shows another unit, such as kWh in place of Wh. Undefined if
 * the unit is the same.
 */
function judgeOtherUnit(progress: Progress, next: Run): BreakVerdict | undefined {
  const { runs, believed, index, hasStarted, rule } = progress;
  if (!hasStarted || rule.restartsDaily || hasRolledOver(believed, next, rule)) return undefined;
  if (!isOtherUnit(believed, next)) return undefined;
  const back = returnInUnit(runs, index);
  if (back !== undefined)
    return { kind: 'believe', index: back, event: outlierEvent(believed, [next, runs.at(back - 1)!]) };
  const last = { ...next, lastMs: ruleConstants.forever_ms.value };
  return { kind: 'end', event: outlierEvent(believed, [next, last]) };
}

/** Judges a break after which the register does not come back. */
function judgeWithoutReturn(
  { believed, index, rise, rule }: Progress,
  next: Run,
  after: Run | undefined,
): BreakVerdict {
  const isStillRising = rise?.to === believed && continuesAtPace(rise.from, believed, next);
  const event = isStillRising ? undefined : judgeLastingBreak(believed, next, after, rule);
  return { kind: 'believe', index: index + 1, event, isRise: event === undefined };
}

/** The declared change of the register between two runs. */
function declaredChangeBetween(from: Run, to: Run | undefined, { changes }: RegisterRule) {
  return to && changes.find(({ atMs }) => atMs > from.lastMs && atMs <= to.firstMs);
}

/**
 * The spike at the first reading of a day: the value does not continue the day before and is too high for the
 * time since midnight. Undefined if there is none.
 */
function firstOfDaySpike(breaks: readonly SeriesBreak[], rule: RegisterRule): EnergyEvent | undefined {
  const { morning } = rule;
  const first = breaks[0];
  if (!morning || !first || first.fromMs !== morning.firstMs || first.toValue >= first.fromValue)
    return undefined;
  const { dayMs, beforeMs, beforeValue, firstMs, firstValue } = morning;
  const grown = firstValue - beforeValue;
  const goesOnFromBefore = grown >= -first.jitterWh && grown <= maxGrowthWh(firstMs - beforeMs, first);
  if (goesOnFromBefore || firstValue <= maxGrowthWh(firstMs - dayMs, first)) return undefined;
  return {
    kind: 'spike',
    fromMs: firstMs,
    toMs: firstMs,
    valueBefore: beforeValue,
    valueAfter: firstValue,
    energyWh: 0,
  };
}
