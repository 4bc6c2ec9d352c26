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
import { ruleConstants } from './rules.ts';
import { runsBetween } from './runs-between.ts';

/**
 * Judges the breaks of a register: says of each what it is, by the table of docs/rules.md, "What a break is", row by row. Works on the runs between the
 * breaks, in the order of time, from the run that is believed.
 * The result depends on the breaks and on what stands beside them, never on the order in which readings arrived.
 * @param breaks of one series, in time order; of one local day where the register restarts every day
 */
export function classifyBreaks(
  breaks: readonly SeriesBreak[],
  rule: RegisterRule,
): { events: EnergyEvent[]; decided: Map<UtcMs, UtcMs> } {
  const runs = runsBetween(breaks, rule);
  const events: EnergyEvent[] = [];
  /** The breaks at which a believed run begins, and up to when readings were looked at to get there. */
  const decided = new Map<UtcMs, UtcMs>();
  const spike = firstOfDaySpike(breaks, rule);
  if (spike) events.push(spike);
  let index = spike ? 1 : 0;
  /** The register has counted where it was believed. */
  let hasStarted = rule.start !== undefined;
  let believed = runs.at(index)!;
  /** The last rise that was believed though it is impossible by what was learnt. */
  let rise: { from: Run; to: Run } | undefined;
  /** The believed runs that go on from each other. */
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
        runs.omitSeries(index + 1);
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

/** The readings with which a series begins are left out, up to the end of a run. */
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

/** The change of the register that was declared between two runs. */
function declaredChangeBetween(from: Run, to: Run | undefined, { changes }: RegisterRule) {
  return to && changes.find(({ atMs }) => atMs > from.lastMs && atMs <= to.firstMs);
}

/** The spike that the first reading of the day is, if it neither goes on from the day before nor can have been counted since midnight; else undefined. */
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

/** What a break is after which the register does not come back: a reset, rollover, rebase or standstill; undefined for a rise that is believed after all. */
function judgeLasting(
  from: Run,
  to: Run,
  after: Run | undefined,
  rule: RegisterRule,
): EnergyEvent | undefined {
  if (to.firstValue > from.lastValue) {
    // A rise that goes on at the same pace is real: a car that charges, the first sunny day. So a learnt limit gives way to it.
    if (rule.learnt && after && continuesAtPace(from, to, after)) return undefined;
    if (hasCaughtUp(from, to, rule)) return standstill(from, to);
    return joinEvent('rebase', from, to, 0);
  }
  if (hasRolledOver(from, to, rule)) return joinEvent('rollover', from, to, rollOverWh(from, to, rule)!);
  if (isReset(from, to, rule)) return joinEvent('reset', from, to, to.firstValue);
  return joinEvent('rebase', from, to, 0);
}

/** What a register has counted that passed its modulus (Wh); undefined where it has not. */
function rollOverWh(from: Run, to: Run, { modulusWh }: RegisterRule): number | undefined {
  if (modulusWh === undefined) return undefined;
  const endShare = ruleConstants.modulus_end_share.value;
  if (from.lastValue < (1 - endShare) * modulusWh || to.firstValue > endShare * modulusWh) return undefined;
  const energyWh = modulusWh - from.lastValue + to.firstValue;
  // Before, it showed more than its modulus: then the modulus says nothing of it.
  return energyWh < 0 ? undefined : energyWh;
}

/** Whether a register that has stood still, because nobody read it, shows at last what it has counted since. */
function hasCaughtUp(from: Run, to: Run, rule: RegisterRule): boolean {
  if (to.standstillSinceMs === undefined || to.standstillSinceMs >= from.lastMs || to.maxPowerW === undefined)
    return false;
  // A register that still shows the day before does not stand still: the day has not begun for it.
  if (rule.morning && to.standstillSinceMs < rule.morning.dayMs) return false;
  const maxPowerW = rule.learnt ? to.maxPowerW / ruleConstants.catch_up_part.value : to.maxPowerW;
  return (
    to.firstValue - from.lastValue <= maxGrowthWh(to.firstMs - to.standstillSinceMs, { ...to, maxPowerW })
  );
}

/** The readings of a standstill are left out, because they repeat an old value. So what was caught up is spread over all of its time. */
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

/** Whether a rise to a single reading goes on: the rise after it is beyond the limit too, and about as fast. */
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

/** Runs that are left out: a spike above the believed run, a glitch below it. */
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
