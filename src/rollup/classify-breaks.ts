import type { UtcMs } from '../time.ts';
import {
  backInUnit,
  hasBegun,
  hasCountedAbove,
  hasStoodStill,
  isOtherUnit,
  isPassedOver,
  joined,
  returnIndex,
} from './excursions.ts';
import {
  continues,
  type EnergyEvent,
  isReset,
  type RegisterRule,
  type Run,
  reachWh,
  type SeriesBreak,
} from './register-rule.ts';
import { ruleConstants } from './rules.ts';
import { runsBetween } from './runs.ts';

/**
 * Tells what the breaks of a register are: the table of docs/rules.md, "What a break is", row by row. Works on the runs between the breaks, in the
 * order of time, from the run that is believed.
 * The result depends on the breaks and on what stands beside them, never on the order in which readings arrived.
 * @param breaks of one series, in time order; of one local day where the register restarts every day
 */
export function classifyBreaks(
  breaks: readonly SeriesBreak[],
  rule: RegisterRule,
): { events: EnergyEvent[]; decided: Map<UtcMs, UtcMs> } {
  const runs = runsBetween(breaks, rule);
  const events: EnergyEvent[] = [];
  /** The breaks at which the register is believed, and up to when readings were looked at to get there. */
  const decided = new Map<UtcMs, UtcMs>();
  const spike = firstOfDaySpike(breaks, rule);
  if (spike) events.push(spike);
  let index = spike ? 1 : 0;
  /** Something is known of the register: it has counted where it was believed. */
  let hasStarted = rule.start !== undefined;
  let believed = runs.at(index)!;
  /** The last rise that was believed though it is impossible by what was learnt. */
  let rise: { from: Run; to: Run } | undefined;
  /** The believed runs that go on from each other. */
  let together: Run | undefined;
  for (;;) {
    together = joined(together, believed);
    hasStarted ||= hasBegun(together, rule);
    if (hasStarted && index > 0 && rise?.to !== believed) decided.set(believed.firstMs, runs.lookedMs());
    const next = runs.at(index + 1);
    if (!next) break;
    const change = changeBetween(believed, next, rule);
    if (change) {
      const energyWh = change.finalValue - believed.lastValue + next.firstValue - change.initialValue;
      events.push(joinEvent('register_change', believed, next, Math.max(0, energyWh)));
    } else if (!continues(believed, next)) {
      const after = runs.at(index + 2);
      if (isPassedOver(believed, next, after, rule) && !changeBetween(next, after, rule)) {
        events.push(excursion(believed, [next]));
        runs.leaveOut(index + 1);
        continue;
      }
      const back = returnIndex(runs, index, rule);
      if (back !== undefined && !hasStarted && hasCountedAbove(runs, index, back)) {
        events.length = 0;
        events.push(beginning(believed, next, rule));
        index += 1;
        believed = next;
        continue;
      }
      const isStuck = back !== undefined && hasStoodStill(runs, index, back);
      if (isStuck && !rule.restartsDaily) {
        const stuck = { ...believed, firstMs: rule.firstReadingMs, firstValue: believed.lastValue };
        events.push(excursion(next, [stuck]));
        index += 1;
        believed = next;
        continue;
      }
      if (back !== undefined && !isStuck) {
        const away = Array.from({ length: back - index - 1 }, (_, place) => runs.at(index + 1 + place)!);
        events.push(excursion(believed, away));
        index = back;
        believed = runs.at(back)!;
        continue;
      }
      if (hasStarted && !rule.restartsDaily && isOtherUnit(believed, next)) {
        const unit = backInUnit(runs, index);
        const last =
          unit === undefined ? { ...next, lastMs: ruleConstants.forever_ms.value } : runs.at(unit - 1)!;
        events.push(excursion(believed, [next, last]));
        if (unit === undefined) break;
        index = unit;
        believed = runs.at(unit)!;
        continue;
      }
      const isStillRising = rise?.to === believed && goesOn(rise.from, believed, next);
      const event = isStillRising ? undefined : stays(believed, next, after, rule);
      if (event) events.push(event);
      else rise = { from: believed, to: next };
    }
    index += 1;
    believed = next;
  }
  return { events, decided };
}

/** What a series begins with, up to a run, is left out. */
function beginning(last: Run, next: Run, { firstReadingMs, firstReadingValue }: RegisterRule): EnergyEvent {
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
function changeBetween(from: Run, to: Run | undefined, { changes }: RegisterRule) {
  return to && changes.find(({ atMs }) => atMs > from.lastMs && atMs <= to.firstMs);
}

/** A lone first reading of the day that neither goes on from the day before nor can have come since midnight; undefined where it is none. */
function firstOfDaySpike(breaks: readonly SeriesBreak[], rule: RegisterRule): EnergyEvent | undefined {
  const { morning } = rule;
  const first = breaks[0];
  if (!morning || !first || first.fromMs !== morning.firstMs || first.toValue >= first.fromValue)
    return undefined;
  const { dayMs, beforeMs, beforeValue, firstMs, firstValue } = morning;
  const grown = firstValue - beforeValue;
  const goesOnFromBefore = grown >= -first.jitterWh && grown <= reachWh(firstMs - beforeMs, first);
  if (goesOnFromBefore || firstValue <= reachWh(firstMs - dayMs, first)) return undefined;
  return {
    kind: 'spike',
    fromMs: firstMs,
    toMs: firstMs,
    valueBefore: beforeValue,
    valueAfter: firstValue,
    energyWh: 0,
  };
}

/** What a change that stays is: a reset, a rollover or a rebase; undefined for a rise that is believed after all. */
function stays(from: Run, to: Run, after: Run | undefined, rule: RegisterRule): EnergyEvent | undefined {
  const milliseconds = to.firstMs - from.lastMs;
  if (to.firstValue > from.lastValue) {
    // A learnt limit gives way to a rise that goes on at the same pace: a car that charges, the first sunny day.
    if (rule.learnt && after && goesOn(from, to, after)) return undefined;
    if (hasCaughtUp(from, to, rule)) return standstill(from, to);
    return joinEvent('rebase', from, to, 0);
  }
  const { modulusWh } = rule;
  if (modulusWh !== undefined && from.lastValue >= 0.9 * modulusWh && to.firstValue <= 0.1 * modulusWh) {
    const energyWh = modulusWh - from.lastValue + to.firstValue;
    // Less than nothing: what it showed before is more than it can show.
    if (energyWh >= 0 && energyWh <= reachWh(milliseconds, to))
      return joinEvent('rollover', from, to, energyWh);
  }
  if (isReset(from, to, rule)) return joinEvent('reset', from, to, to.firstValue);
  return joinEvent('rebase', from, to, 0);
}

/** Whether a register that has stood still, as one that is not read, shows at last what it has counted since. */
function hasCaughtUp(from: Run, to: Run, rule: RegisterRule): boolean {
  if (to.stillMs === undefined || to.stillMs >= from.lastMs || to.maxPowerW === undefined) return false;
  // What is still shown of the day before is no standstill.
  if (rule.morning && to.stillMs < rule.morning.dayMs) return false;
  const maxPowerW = rule.learnt ? to.maxPowerW / ruleConstants.catch_up_part.value : to.maxPowerW;
  return to.firstValue - from.lastValue <= reachWh(to.firstMs - to.stillMs, { ...to, maxPowerW });
}

/** Readings of a standstill say nothing of it: they are left out, so that what was caught up is spread over all of it. */
function standstill(from: Run, to: Run): EnergyEvent {
  return {
    kind: 'standstill',
    fromMs: to.stillMs! + 1,
    toMs: from.lastMs,
    valueBefore: from.lastValue,
    valueAfter: to.firstValue,
    energyWh: 0,
  };
}

function goesOn(from: Run, to: Run, after: Run): boolean {
  if (to.lastMs !== to.firstMs || after.firstValue <= to.lastValue || continues(to, after)) return false;
  const rate = (to.firstValue - from.lastValue) / (to.firstMs - from.lastMs);
  const nextRate = (after.firstValue - to.lastValue) / (after.firstMs - to.lastMs);
  return nextRate > rate / 4 && nextRate < rate * 4;
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

function excursion(from: Run, runs: readonly Run[]): EnergyEvent {
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
