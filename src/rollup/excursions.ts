import type { UtcMs } from '../time.ts';
import {
  continues,
  isCarriedOver,
  isReset,
  type RegisterRule,
  type Run,
  reachWh,
  recounts,
} from './register-rule.ts';
import { ruleConstants } from './rules.ts';
import type { Runs } from './runs.ts';

/**
 * Where the series comes back to the run at `index`: the first later run that continues it and that cannot have been reached
 * from the excursion. Undefined where it does not come back: then the change has stayed.
 */
export function returnIndex(runs: Runs, index: number, rule: RegisterRule): number | undefined {
  return runs.at(index + 1)!.firstValue > runs.at(index)!.lastValue
    ? returnFromHigh(runs, index)
    : returnFromLow(runs, index, rule);
}

/**
 * A single reading that says nothing of the next, which is below it and below what was before: an impossible high one, whatever the fall
 * is; or by a learnt limit one on the way down, such as the average of what a register showed before and after it was read as zero.
 */
export function isPassedOver(from: Run, one: Run, after: Run | undefined, rule: RegisterRule): boolean {
  if (one.firstMs !== one.lastMs || !after) return false;
  const isHigh = one.firstValue > from.lastValue;
  const level = isHigh ? from.lastValue : one.firstValue;
  return (isHigh || rule.learnt) && after.firstValue < level - after.jitterWh;
}

function returnFromHigh(runs: Runs, index: number): number | undefined {
  const from = runs.at(index)!;
  const high = runs.at(index + 1)!;
  const endMs = high.firstMs + ruleConstants.spike_max_ms.value;
  for (let back = index + 2; ; back += 1) {
    const candidate = runs.at(back);
    if (!candidate || candidate.firstMs > endMs) return undefined;
    if (candidate.firstValue >= high.firstValue) continue;
    if (continues(from, candidate) && !continues(runs.at(back - 1)!, candidate)) return back;
  }
}

/** Reads the low values as what they are if the register was reset, which has excursions of its own; until that explains no more. */
function returnFromLow(runs: Runs, index: number, rule: RegisterRule): number | undefined {
  const from = runs.at(index)!;
  const endMs = from.lastMs + ruleConstants.glitch_max_ms.value;
  let zeros = true;
  let lows: Low[] = [];
  for (let back = index + 2; ; back += 1) {
    const before = runs.at(back - 1)!;
    if (hasClimbedBack(before, from)) return undefined;
    // A spike among low values is not what the register comes back from.
    if (before.lastValue < from.lastValue) lows = followed(lows, before, from, rule);
    const candidate = runs.at(back);
    if (!candidate || candidate.firstMs > endMs) return undefined;
    const low = lows[0]!;
    const isAverage: boolean = zeros && back > index + 2 && isOnTheWayUp(from, low, candidate);
    zeros &&= isAverage || (low.firstValue === 0 && low.lastValue === 0);
    if (!continues(from, candidate)) continue;
    const isBackFromZero = zeros && !hasRestarted(low, from, candidate, rule);
    const isBackAtOnce = back === index + 2 && isLoneFall(from, before, candidate, rule);
    if (!isBackFromZero && !isBackAtOnce && originOf(candidate, lows) >= 0) return undefined;
    return isLoneSpike(runs, back, isAverage ? [] : lows) ? undefined : back;
  }
}

/** Whether a single reading between zeros and what is at or above the value before them is an average of both. */
function isOnTheWayUp(from: Run, low: Run, candidate: Run): boolean {
  const isLone =
    low.firstMs === low.lastMs && candidate.firstMs - low.lastMs <= ruleConstants.lone_fall_ms.value;
  return low.firstValue > 0 && isLone && continues(from, candidate);
}

/**
 * Whether a fall is a single reading from which no reset can have begun, and which is over within the hour. A learnt limit is far above what
 * is usual, so that the way back is hardly ever impossible by it; by a configured one it is judged as any other.
 */
function isLoneFall(from: Run, low: Run, back: Run, rule: RegisterRule): boolean {
  const isLone = low.firstMs === low.lastMs && back.firstMs - low.lastMs <= ruleConstants.lone_fall_ms.value;
  return rule.learnt && isLone && !isReset(from, low, rule);
}

/** A run of low values, since when there have been such but for excursions, and whether it has started again for certain: it has counted. */
interface Low extends Run {
  sinceMs: UtcMs;
  counts: boolean;
}

/** How many runs of low values, each lower than the one before, are kept in mind. */
const LOWS_MAX = 3;

/** The runs of low values, the last first, when another follows: it goes on from one of them, or begins anew. */
function followed(lows: readonly Low[], run: Run, from: Run, rule: RegisterRule): Low[] {
  const origin = originOf(run, lows);
  const sinceMs = lows[origin]?.sinceMs ?? run.firstMs;
  const counts = lows[origin]?.counts || isCarriedOver(from, rule) || hasCounted(run);
  return [{ ...run, sinceMs, counts }, ...lows.slice(origin + 1)].slice(0, LOWS_MAX);
}

/** The place of the low run that another goes on from: the last, or an earlier one past less than it lasted; -1 where it is none. */
function originOf(run: Run, lows: readonly Low[]): number {
  return lows.findIndex(
    (low, place) =>
      (low.counts ? continues : recounts)(low, run) &&
      (place === 0 || run.firstMs - low.lastMs < low.lastMs - low.sinceMs),
  );
}

/**
 * Whether zeros of a register that restarts every day are its restart after all: what it shows after a longer silence may have grown since,
 * and so may what it shows straight after the value of the day before, unless that is still the same value.
 */
function hasRestarted(low: Run, from: Run, candidate: Run, rule: RegisterRule): boolean {
  if (!rule.restartsDaily) return false;
  return (
    candidate.firstMs - low.lastMs > ruleConstants.restart_max_ms.value ||
    (isCarriedOver(from, rule) && candidate.firstValue !== from.lastValue)
  );
}

/** Whether the register, after a fall, has reached by plain growth what it showed before: then it was reset, whatever comes later. */
function hasClimbedBack(low: Run, from: Run): boolean {
  const level = from.lastValue - low.jitterWh;
  return low.firstValue < level && low.lastValue >= level;
}

/** How many runs after one that seems to come back are looked at for what confirms it. */
const CONFIRMING_MAX = 8;

/** Whether the run that seems to come back is itself the excursion: shorter than the low stretch, which goes on after it. */
function isLoneSpike(runs: Runs, back: number, all: readonly Low[]): boolean {
  // Zeros say nothing of what the register would go on from.
  const lows = all.filter(({ lastValue }) => lastValue > 0);
  if (lows.length === 0) return false;
  const candidate = runs.at(back)!;
  for (let place = back + 1; place <= back + CONFIRMING_MAX; place += 1) {
    const after = runs.at(place);
    if (!after || continues(candidate, after)) return false;
    const low = lows[originOf(after, lows)];
    if (low) return candidate.lastMs - candidate.firstMs < low.lastMs - low.sinceMs;
  }
  return false;
}

/**
 * Whether something is known of a register at a run that is believed: it has counted there. Until it has, it may be read as zero, or as an average over
 * its start, as where a recording begins at night.
 */
export function hasBegun(
  run: Run,
  { firstReadingMs, firstReadingValue, restartsDaily }: RegisterRule,
): boolean {
  if (restartsDaily) return true;
  const isFirst = run.firstMs === Number.NEGATIVE_INFINITY;
  return (
    hasCounted(isFirst ? { ...run, firstMs: firstReadingMs, firstValue: firstReadingValue } : run) ||
    run.lastMs - firstReadingMs > ruleConstants.beginning_max_ms.value
  );
}

/** What a register shows in another unit is this many times what it showed before, or one of so many parts. */
const UNIT_FACTORS = [10, 1_000];

/**
 * Whether a register goes on in another unit: at exactly 10 or 1000 times of what it showed, or a part of that. Its energy cannot be told until it is back,
 * or somebody says which unit it is.
 */
export function isOtherUnit(from: Run, to: Run): boolean {
  if (from.lastValue <= 0) return false;
  const grownWh = Math.min(
    reachWh(to.firstMs - from.lastMs, to),
    ruleConstants.unit_share_max.value * from.lastValue,
  );
  const [less, more] = [Math.min(from.lastValue, to.firstValue), Math.max(from.lastValue, to.firstValue)];
  if (less < ruleConstants.unit_steps_min.value * to.jitterWh) return false;
  return UNIT_FACTORS.some((factor) => {
    const isPart = to.firstValue < from.lastValue;
    const offWh = isPart ? to.firstValue * factor - from.lastValue : to.firstValue / factor - from.lastValue;
    const roundedWh = to.jitterWh * (isPart ? factor : 1);
    return less > 0 && more > less && offWh >= -roundedWh && offWh <= grownWh + roundedWh;
  });
}

/** Where a register is back at what it showed before it changed its unit; undefined where it is not. */
export function backInUnit(runs: Runs, index: number): number | undefined {
  for (let place = index + 2; ; place += 1) {
    const run = runs.at(place);
    if (!run || continues(runs.at(index)!, run)) return run && place;
  }
}

/** Whether a register has counted between two runs, above the first of them. */
export function hasCountedAbove(runs: Runs, from: number, back: number): boolean {
  const { lastValue } = runs.at(from)!;
  return hasCountedBetween(runs, from, back, (run) => run.firstValue > lastValue);
}

/** Whether a register has counted in the runs between two, each of which may go on from the one before. */
function hasCountedBetween(runs: Runs, from: number, back: number, isOf: (run: Run) => boolean): boolean {
  let together: Run | undefined;
  for (let place = from + 1; place < back; place += 1) {
    const run = runs.at(place)!;
    together = isOf(run) ? joined(together, run) : undefined;
    if (together && hasCounted(together)) return true;
  }
  return false;
}

/** A run and the one before it, where it goes on from that. */
export function joined(before: Run | undefined, run: Run): Run {
  if (!before || !continues(before, run)) return run;
  return { ...run, firstMs: before.firstMs, firstValue: before.firstValue };
}

/**
 * Whether the very first run is what is wrong: the register shows exactly the same when it comes back to it, though it has counted elsewhere
 * in between. It is what a device shows while it sleeps, and the recording began with that; or the day did, with the day before.
 */
export function hasStoodStill(runs: Runs, from: number, back: number): boolean {
  if (runs.at(from)!.firstMs !== Number.NEGATIVE_INFINITY) return false;
  if (runs.at(back)!.firstValue !== runs.at(from)!.lastValue) return false;
  return hasCountedBetween(runs, from, back, (run) => run.firstValue > 0);
}

function hasCounted(run: Run): boolean {
  return (
    run.lastValue - run.firstValue > run.jitterWh &&
    run.lastMs - run.firstMs >= ruleConstants.counted_min_ms.value
  );
}
