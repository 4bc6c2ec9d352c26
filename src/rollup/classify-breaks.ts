import { DAY_MS, HOUR_MS, type UtcMs } from '../time.ts';

/** A step of a register between neighbouring readings that no plain growth explains. Values are Wh. */
export interface SeriesBreak {
  fromMs: UtcMs;
  fromValue: number;
  toMs: UtcMs;
  toValue: number;
}

/** What is plausible for the register. */
export interface RegisterRule {
  /** Most power (W); undefined where nothing is known, then every rise is possible. */
  maxPowerW: number | undefined;
  /** Whether `maxPowerW` was learnt, not configured: then a rise that goes on is believed. */
  learnt: boolean;
  jitterWh: number;
  modulusWh: number | undefined;
  /** Declared changes of the register: what the old one ended at and the new one started from (Wh). */
  changes: ReadonlyArray<{ atMs: UtcMs; finalValue: number; initialValue: number }>;
  /** The register restarts every day: zero is a value like any other. */
  restartsDaily: boolean;
  /** Of such a register: when the day began, its first reading, and the last one of the days before; undefined where there is none. */
  morning: Morning | undefined;
  firstReadingMs: UtcMs;
  lastReadingMs: UtcMs;
}

interface Morning {
  dayMs: UtcMs;
  beforeMs: UtcMs;
  beforeValue: number;
  firstMs: UtcMs;
  firstValue: number;
}

/** What a break turned out to be. */
export type EnergyEvent = {
  /** glitch and spike: first and last reading left out; the others: the readings before and after. */
  fromMs: UtcMs;
  toMs: UtcMs;
  valueBefore: number;
  valueAfter: number;
  /** Energy booked for the step itself; 0 for readings that are left out. */
  energyWh: number;
} & { kind: 'reset' | 'rollover' | 'rebase' | 'register_change' | 'glitch' | 'spike' };

/** Readings between two breaks: they grow plausibly. */
interface Run {
  firstMs: UtcMs;
  firstValue: number;
  lastMs: UtcMs;
  lastValue: number;
}

/** An excursion upwards that lasts longer than this is no spike: the jump has stayed. */
const SPIKE_MS_MAX = DAY_MS;

/** After a longer silence than this a register may have counted what it lost before. */
const LONE_FALL_MS_MAX = HOUR_MS;

/** A register that has counted elsewhere for as long as this has not been on an excursion from a value at which it stood still. */
const COUNTED_MS_MIN = HOUR_MS;

/** A register that restarts every day, and shows as much as before zero after a longer silence than this, may have grown that much. */
const RESTART_MS_MAX = HOUR_MS;

/**
 * Tells resets, glitches, spikes and rebases apart (energy.md, table of the index). Works on the runs between the breaks, in time
 * order, from the last reading that was believed: a run that continues it is kept; a run away from it that comes back in one
 * impossible step is left out, however long it is; a fall that stays is a reset where the new value is reachable from zero, else
 * a rebase; an impossible rise that stays is a rebase.
 * The result depends on the breaks alone, never on the order in which readings arrived.
 * @param breaks of one series, in time order; of one local day where the register restarts every day
 */
export function classifyBreaks(breaks: readonly SeriesBreak[], rule: RegisterRule): EnergyEvent[] {
  const runs = runsBetween(breaks, rule.lastReadingMs);
  const events: EnergyEvent[] = [];
  const spike = firstOfDaySpike(breaks, rule);
  if (spike) events.push(spike);
  let index = spike ? 1 : 0;
  let believed = runs[index];
  /** The last rise that was believed though it is impossible by what was learnt. */
  let rise: { from: Run; to: Run } | undefined;
  while (believed && index + 1 < runs.length) {
    const next = runs[index + 1]!;
    const change = rule.changes.find((one) => one.atMs > believed!.lastMs && one.atMs <= next.firstMs);
    if (change) {
      const energyWh = change.finalValue - believed.lastValue + next.firstValue - change.initialValue;
      events.push(joinEvent('register_change', believed, next, Math.max(0, energyWh)));
    } else if (!continues(believed, next, rule)) {
      const back = returnIndex(runs, index, rule);
      const isStuck = back !== undefined && hasStoodStill(runs, index, back);
      if (isStuck && !rule.restartsDaily) {
        const stuck = { ...believed, firstMs: rule.firstReadingMs, firstValue: believed.lastValue };
        events.push(excursion(next, [stuck]));
        index += 1;
        believed = next;
        continue;
      }
      if (back !== undefined && !isStuck) {
        events.push(excursion(believed, runs.slice(index + 1, back)));
        index = back;
        believed = runs[back]!;
        continue;
      }
      const isStillRising = rise?.to === believed && goesOn(rise.from, believed, next, rule);
      const event = isStillRising ? undefined : stays(believed, next, runs[index + 2], rule);
      if (event) events.push(event);
      else rise = { from: believed, to: next };
    }
    index += 1;
    believed = next;
  }
  return events;
}

/** A lone first reading of the day that neither goes on from the day before nor can have come since midnight; undefined where it is none. */
function firstOfDaySpike(breaks: readonly SeriesBreak[], rule: RegisterRule): EnergyEvent | undefined {
  const { morning } = rule;
  const first = breaks[0];
  if (!morning || !first || first.fromMs !== morning.firstMs || first.toValue >= first.fromValue)
    return undefined;
  const { dayMs, beforeMs, beforeValue, firstMs, firstValue } = morning;
  const grown = firstValue - beforeValue;
  const goesOnFromBefore = grown >= -rule.jitterWh && grown <= reachWh(firstMs - beforeMs, rule);
  if (goesOnFromBefore || firstValue <= reachWh(firstMs - dayMs, rule)) return undefined;
  return {
    kind: 'spike',
    fromMs: firstMs,
    toMs: firstMs,
    valueBefore: beforeValue,
    valueAfter: firstValue,
    energyWh: 0,
  };
}

/**
 * Whether the very first run is what is wrong: the register shows exactly the same when it comes back to it, though it has counted elsewhere
 * in between. It is what a device shows while it sleeps, and the recording began with that; or the day did, with the day before.
 */
function hasStoodStill(runs: readonly Run[], from: number, back: number): boolean {
  return (
    runs[from]!.firstMs === Number.NEGATIVE_INFINITY &&
    runs[back]!.firstValue === runs[from]!.lastValue &&
    runs
      .slice(from + 1, back)
      .some((run) => run.lastValue > run.firstValue && run.lastMs - run.firstMs >= COUNTED_MS_MIN)
  );
}

function runsBetween(breaks: readonly SeriesBreak[], lastReadingMs: UtcMs): Run[] {
  return Array.from({ length: breaks.length + 1 }, (_, index) => {
    const before = breaks[index - 1];
    const after = breaks[index];
    return {
      firstMs: before?.toMs ?? Number.NEGATIVE_INFINITY,
      firstValue: before?.toValue ?? 0,
      lastMs: after?.fromMs ?? Math.max(lastReadingMs, before?.toMs ?? lastReadingMs),
      lastValue: after?.fromValue ?? Number.POSITIVE_INFINITY,
    };
  });
}

/** The most the register can have grown in the time, with its jitter for the rounding of what it shows. */
function reachWh(milliseconds: number, rule: RegisterRule): number {
  return rule.maxPowerW === undefined
    ? Number.POSITIVE_INFINITY
    : (rule.maxPowerW * milliseconds) / HOUR_MS + rule.jitterWh;
}

/** Whether a register that was last believed at the end of one run can show the start of another. */
function continues(from: Run, to: Run, rule: RegisterRule): boolean {
  return (
    to.firstValue >= from.lastValue - rule.jitterWh &&
    to.firstValue - from.lastValue <= reachWh(to.firstMs - from.lastMs, rule)
  );
}

/**
 * Where the series comes back to the run at `index`: the first later run that continues it and that cannot have been reached
 * from the excursion. Undefined where it does not come back: then the change has stayed.
 */
function returnIndex(runs: readonly Run[], index: number, rule: RegisterRule): number | undefined {
  return runs[index + 1]!.firstValue > runs[index]!.lastValue
    ? returnFromHigh(runs, index, rule)
    : returnFromLow(runs, index, rule);
}

function returnFromHigh(runs: readonly Run[], index: number, rule: RegisterRule): number | undefined {
  const from = runs[index]!;
  const endMs = runs[index + 1]!.firstMs + SPIKE_MS_MAX;
  for (let back = index + 2; back < runs.length && runs[back]!.firstMs <= endMs; back += 1) {
    const candidate = runs[back]!;
    if (continues(from, candidate, rule) && !continues(runs[back - 1]!, candidate, rule)) return back;
  }
  return undefined;
}

/** Reads the low values as what they are if the register was reset, which has excursions of its own; until that explains no more. */
function returnFromLow(runs: readonly Run[], index: number, rule: RegisterRule): number | undefined {
  const from = runs[index]!;
  let zeros = true;
  let lows: Low[] = [];
  for (let back = index + 2; back < runs.length; back += 1) {
    const before = runs[back - 1]!;
    if (hasClimbedBack(before, from, rule)) return undefined;
    // A spike among low values is not what the register comes back from.
    if (before.lastValue < from.lastValue) lows = followed(lows, before, rule);
    const low = lows[0]!;
    zeros &&= low.firstValue === 0 && low.lastValue === 0;
    const candidate = runs[back]!;
    if (!continues(from, candidate, rule)) continue;
    const isBackFromZero = zeros && !hasRestarted(low, from, candidate, rule);
    const isBackAtOnce = back === index + 2 && isLoneFall(from, before, candidate, rule);
    if (!isBackFromZero && !isBackAtOnce && originOf(candidate, lows, rule) >= 0) return undefined;
    return isLoneSpike(runs, back, lows, rule) ? undefined : back;
  }
  return undefined;
}

/**
 * Whether a fall is a single reading from which no reset can have begun, and which is over within the hour. A learnt limit is far above what
 * is usual, so that the way back is hardly ever impossible by it; by a configured one it is judged as any other.
 */
function isLoneFall(from: Run, low: Run, back: Run, rule: RegisterRule): boolean {
  const isLone = low.firstMs === low.lastMs && back.firstMs - low.lastMs <= LONE_FALL_MS_MAX;
  return rule.learnt && isLone && !isReset(from, low, rule);
}

/** A run of low values, and since when there have been such but for excursions. */
interface Low extends Run {
  sinceMs: UtcMs;
}

/** How many runs of low values, each lower than the one before, are kept in mind. */
const LOWS_MAX = 3;

/** The runs of low values, the last first, when another follows: it goes on from one of them, or begins anew. */
function followed(lows: readonly Low[], run: Run, rule: RegisterRule): Low[] {
  const origin = originOf(run, lows, rule);
  const sinceMs = lows[origin]?.sinceMs ?? run.firstMs;
  return [{ ...run, sinceMs }, ...lows.slice(origin + 1)].slice(0, LOWS_MAX);
}

/** The place of the low run that another goes on from: the last, or an earlier one past less than it lasted; -1 where it is none. */
function originOf(run: Run, lows: readonly Low[], rule: RegisterRule): number {
  return lows.findIndex(
    (low, place) =>
      continues(low, run, rule) && (place === 0 || run.firstMs - low.lastMs < low.lastMs - low.sinceMs),
  );
}

/**
 * Whether zeros of a register that restarts every day are its restart after all: what it shows after a longer silence may have grown since,
 * and so may what it shows straight after the value of the day before, unless that is still the same value.
 */
function hasRestarted(
  low: Run,
  from: Run,
  candidate: Run,
  { restartsDaily, morning }: RegisterRule,
): boolean {
  if (!restartsDaily) return false;
  const isCarriedOver =
    from.firstMs === Number.NEGATIVE_INFINITY &&
    morning?.firstValue === morning?.beforeValue &&
    morning?.beforeValue === from.lastValue;
  return (
    candidate.firstMs - low.lastMs > RESTART_MS_MAX ||
    (isCarriedOver && candidate.firstValue !== from.lastValue)
  );
}

/** Whether the register, after a fall, has reached by plain growth what it showed before: then it was reset, whatever comes later. */
function hasClimbedBack(low: Run, from: Run, rule: RegisterRule): boolean {
  const level = from.lastValue - rule.jitterWh;
  return low.firstValue < level && low.lastValue >= level;
}

/** How many runs after one that seems to come back are looked at for what confirms it. */
const CONFIRMING_MAX = 8;

/** Whether the run that seems to come back is itself the excursion: shorter than the low stretch, which goes on after it. */
function isLoneSpike(runs: readonly Run[], back: number, all: readonly Low[], rule: RegisterRule): boolean {
  // Zeros say nothing of what the register would go on from.
  const lows = all.filter(({ lastValue }) => lastValue > 0);
  const candidate = runs[back]!;
  const after = runs
    .slice(back + 1, back + 1 + CONFIRMING_MAX)
    .find((run) => continues(candidate, run, rule) || originOf(run, lows, rule) >= 0);
  if (!after || continues(candidate, after, rule)) return false;
  const low = lows[originOf(after, lows, rule)]!;
  return candidate.lastMs - candidate.firstMs < low.lastMs - low.sinceMs;
}

/** What a change that stays is: a reset, a rollover or a rebase; undefined for a rise that is believed after all. */
function stays(from: Run, to: Run, after: Run | undefined, rule: RegisterRule): EnergyEvent | undefined {
  const milliseconds = to.firstMs - from.lastMs;
  if (to.firstValue > from.lastValue) {
    // A learnt limit gives way to a rise that goes on at the same pace: a car that charges, the first sunny day.
    if (rule.learnt && after && goesOn(from, to, after, rule)) return undefined;
    return joinEvent('rebase', from, to, 0);
  }
  const { modulusWh } = rule;
  if (modulusWh !== undefined && from.lastValue >= 0.9 * modulusWh && to.firstValue <= 0.1 * modulusWh) {
    const energyWh = modulusWh - from.lastValue + to.firstValue;
    // Less than nothing: what it showed before is more than it can show.
    if (energyWh >= 0 && energyWh <= reachWh(milliseconds, rule))
      return joinEvent('rollover', from, to, energyWh);
  }
  if (isReset(from, to, rule)) return joinEvent('reset', from, to, to.firstValue);
  return joinEvent('rebase', from, to, 0);
}

/**
 * Whether the register can have counted from zero to what it shows after a fall. A learnt limit is far above what is usual, so by it a
 * lifetime register that still shows more than half of before has not started again: it has lost a little.
 */
function isReset(from: Run, to: Run, rule: RegisterRule): boolean {
  if (to.firstValue > reachWh(to.firstMs - from.lastMs, rule)) return false;
  return !rule.learnt || rule.restartsDaily || to.firstValue <= from.lastValue / 2;
}

function goesOn(from: Run, to: Run, after: Run, rule: RegisterRule): boolean {
  if (to.lastMs !== to.firstMs || after.firstValue <= to.lastValue || continues(to, after, rule))
    return false;
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
