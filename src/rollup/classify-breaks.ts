import type { UtcMs } from '../lib/time.ts';
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
  isReset,
  maxGrowthWh,
  type RegisterRule,
  type Run,
  type SeriesBreak,
} from './register-rule.ts';
import { ruleConstants } from './rule-constants.ts';
import { runsBetween } from './runs-between.ts';

/**
 * Judges the breaks of a register by the table "What a break is" of docs/rules.md, row by row. It compares the runs between the breaks, in order,
 * with the run that is believed.
 * The result depends only on the breaks and the rule, and never on the order in which readings arrived.
 * @param breaks of one series, in order; of one local day if the register restarts every day
 * @returns the events; decided: the time of each break at which a believed run begins, with the time of the last reading that was needed to decide
 *   it
 */
export function classifyBreaks(
  breaks: readonly SeriesBreak[],
  rule: RegisterRule,
): { events: EnergyEvent[]; decided: Map<UtcMs, UtcMs> } {
  const runs = runsBetween(breaks, rule);
  const events: EnergyEvent[] = [];

  const decided = new Map<UtcMs, UtcMs>();
  const spike = firstOfDaySpike(breaks, rule);
  if (spike) events.push(spike);
  let index = spike ? 1 : 0;
  /** True once the register has counted in a believed run. */
  let hasStarted = rule.start !== undefined;
  let believed = runs.at(index)!;
  /** The last rise that was believed although it is beyond the learnt limit. */
  let rise: { from: Run; to: Run } | undefined;
  /** The believed runs that continue each other, as one run. */
  let together: Run | undefined;
  for (;;) {
    together = joinRuns(together, believed);
    hasStarted ||= hasStartedCounting(together, rule);
    if (hasStarted && index > 0 && rise?.to !== believed) decided.set(believed.firstMs, runs.lookedMs());
    const next = runs.at(index + 1);
    if (!next) break;
    const change = declaredChangeBetween(believed, next, rule);
    if (change) {
      const energyWh = change.finalValue - believed.lastValue + next.firstValue - change.initialValue;
      events.push(joinEvent('register_change', believed, next, Math.max(0, energyWh)));
    } else if (!continues(believed, next)) {
      const after = runs.at(index + 2);
      if (isSkippedReading(believed, next, after, rule) && !declaredChangeBetween(next, after, rule)) {
        events.push(outlierEvent(believed, [next]));
        runs.leaveOut(index + 1);
        continue;
      }
      const back = findReturn(runs, index, rule);
      if (back !== undefined && !hasStarted && hasCountedAbove(runs, index, back)) {
        events.length = 0;
        events.push(beginningGlitch(believed, next, rule));
        index += 1;
        believed = next;
        continue;
      }
      const isStuck = back !== undefined && startedAsleep(runs, index, back);
      if (isStuck && !rule.restartsDaily) {
        const stuck = { ...believed, firstMs: rule.firstReadingMs, firstValue: believed.lastValue };
        events.push(outlierEvent(next, [stuck]));
        index += 1;
        believed = next;
        continue;
      }
      if (back !== undefined && !isStuck) {
        const away = Array.from({ length: back - index - 1 }, (_, place) => runs.at(index + 1 + place)!);
        events.push(outlierEvent(believed, away));
        index = back;
        believed = runs.at(back)!;
        continue;
      }
      if (
        hasStarted &&
        !rule.restartsDaily &&
        !hasRolledOver(believed, next, rule) &&
        isOtherUnit(believed, next)
      ) {
        const unit = returnInUnit(runs, index);
        const last =
          unit === undefined ? { ...next, lastMs: ruleConstants.forever_ms.value } : runs.at(unit - 1)!;
        events.push(outlierEvent(believed, [next, last]));
        if (unit === undefined) break;
        index = unit;
        believed = runs.at(unit)!;
        continue;
      }
      const isStillRising = rise?.to === believed && continuesAtPace(rise.from, believed, next);
      const event = isStillRising ? undefined : judgeLasting(believed, next, after, rule);
      if (event) events.push(event);
      else rise = { from: believed, to: next };
    }
    index += 1;
    believed = next;
  }
  return { events, decided };
}

/** The glitch from the first reading of the series to the end of a run, because the recording began with wrong values. */
function beginningGlitch(
  last: Run,
  next: Run,
  { firstReadingMs, firstReadingValue }: RegisterRule,
): EnergyEvent {
  return {
    kind: 'glitch',
    fromMs: firstReadingMs,
    toMs: last.lastMs,
    valueBefore: next.firstValue,
    valueAfter: firstReadingValue,
    energyWh: 0,
  };
}

/** The declared change of the register between two runs. */
function declaredChangeBetween(from: Run, to: Run | undefined, { changes }: RegisterRule) {
  return to && changes.find(({ atMs }) => atMs > from.lastMs && atMs <= to.firstMs);
}

/**
 * The spike at the first reading of a day: the value does not continue the day before and is too high for the time since midnight. Undefined if
 * there is none.
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

function hasRolledOver(from: Run, to: Run, rule: RegisterRule): boolean {
  const grownWh = rollOverWh(from, to, rule);
  return grownWh !== undefined && grownWh <= maxGrowthWh(to.firstMs - from.lastMs, to);
}

/**
 * The event of a break after which the register does not come back: reset, rollover, rebase or standstill. Undefined for a rise that is real
 * although it is beyond a learnt limit.
 */
function judgeLasting(
  from: Run,
  to: Run,
  after: Run | undefined,
  rule: RegisterRule,
): EnergyEvent | undefined {
  if (to.firstValue > from.lastValue) {
    // A rise that continues at the same pace is real, such as a car that charges or the first sunny day.
    if (rule.learnt && after && continuesAtPace(from, to, after)) return undefined;
    if (hasCaughtUp(from, to, rule)) return standstill(from, to);
    return joinEvent('rebase', from, to, 0);
  }
  if (hasRolledOver(from, to, rule)) return joinEvent('rollover', from, to, rollOverWh(from, to, rule)!);
  if (isReset(from, to, rule)) return joinEvent('reset', from, to, to.firstValue);
  return joinEvent('rebase', from, to, 0);
}

/** The energy (Wh) of a register that passed its modulus; undefined if it did not. */
function rollOverWh(from: Run, to: Run, { modulusWh }: RegisterRule): number | undefined {
  if (modulusWh === undefined) return undefined;
  const endShare = ruleConstants.modulus_end_share.value;
  if (from.lastValue < (1 - endShare) * modulusWh || to.firstValue > endShare * modulusWh) return undefined;
  const energyWh = modulusWh - from.lastValue + to.firstValue;
  // Negative if the register showed more than its modulus before. Then the modulus is wrong.
  return energyWh < 0 ? undefined : energyWh;
}

/** True if the register repeated an old value, and its rise is possible over the whole standstill. */
function hasCaughtUp(from: Run, to: Run, rule: RegisterRule): boolean {
  if (to.standstillSinceMs === undefined || to.standstillSinceMs >= from.lastMs || to.maxPowerW === undefined)
    return false;
  // A daily register that still shows the value of the day before does not stand still.
  if (rule.morning && to.standstillSinceMs < rule.morning.dayMs) return false;
  const maxPowerW = rule.learnt ? to.maxPowerW / ruleConstants.catch_up_part.value : to.maxPowerW;
  return (
    to.firstValue - from.lastValue <= maxGrowthWh(to.firstMs - to.standstillSinceMs, { ...to, maxPowerW })
  );
}

/** The standstill event. Its readings repeat an old value and are left out, so the growth is spread over the whole time. */
function standstill(from: Run, to: Run): EnergyEvent {
  return {
    kind: 'standstill',
    fromMs: to.standstillSinceMs! + 1,
    toMs: from.lastMs,
    valueBefore: from.lastValue,
    valueAfter: to.firstValue,
    energyWh: 0,
  };
}

/** True if a rise to a single reading is followed by another rise beyond the limit at about the same speed. */
function continuesAtPace(from: Run, to: Run, after: Run): boolean {
  if (to.lastMs !== to.firstMs || after.firstValue <= to.lastValue || continues(to, after)) return false;
  const rate = (to.firstValue - from.lastValue) / (to.firstMs - from.lastMs);
  const nextRate = (after.firstValue - to.lastValue) / (after.firstMs - to.lastMs);
  const times = ruleConstants.pace_times.value;
  return nextRate > rate / times && nextRate < rate * times;
}

function joinEvent(
  kind: 'reset' | 'rollover' | 'rebase' | 'register_change',
  from: Run,
  to: Run,
  energyWh: number,
): EnergyEvent {
  return {
    kind,
    fromMs: from.lastMs,
    toMs: to.firstMs,
    valueBefore: from.lastValue,
    valueAfter: to.firstValue,
    energyWh,
  };
}

/** The event for runs that are left out: a spike above the believed run, a glitch below it. */
function outlierEvent(from: Run, runs: readonly Run[]): EnergyEvent {
  const first = runs[0]!;
  const last = runs.at(-1)!;
  return {
    kind: first.firstValue > from.lastValue ? 'spike' : 'glitch',
    fromMs: first.firstMs,
    toMs: last.lastMs,
    valueBefore: from.lastValue,
    valueAfter: first.firstValue,
    energyWh: 0,
  };
}
