import type { UtcMs } from '../lib/time.ts';
import {
  continues,
  continuesAfterReset,
  isCarriedOver,
  isReset,
  maxGrowthWh,
  type RegisterRule,
  type Run,
} from './register-rule.ts';
import { ruleConstants, workBounds } from './rules.ts';
import type { Runs } from './runs-between.ts';

/**
 * Where the series comes back to the run at `index`: the first later run that continues it and that cannot have been reached
 * from the excursion. Undefined where it does not come back: then the change has stayed.
 */
export function findReturn(runs: Runs, index: number, rule: RegisterRule): number | undefined {
  return runs.at(index + 1)!.firstValue > runs.at(index)!.lastValue
    ? findReturnFromHigh(runs, index)
    : findReturnFromLow(runs, index, rule);
}

/**
 * Whether a single reading is left out, because the next one is below it and below the believed run. An impossible high one is, whatever the fall
 * is. A low one is by a learnt limit: it may be the average of what a register showed before a zero and the zero.
 */
export function isSkippedReading(from: Run, one: Run, after: Run | undefined, rule: RegisterRule): boolean {
  if (one.firstMs !== one.lastMs || !after) return false;
  const isHigh = one.firstValue > from.lastValue;
  const level = isHigh ? from.lastValue : one.firstValue;
  return (isHigh || rule.learnt) && after.firstValue < level - after.jitterWh;
}

function findReturnFromHigh(runs: Runs, index: number): number | undefined {
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

/** Looks for the way back from low values. They are read as those of a register that was reset, as long as that explains them. */
function findReturnFromLow(runs: Runs, index: number, rule: RegisterRule): number | undefined {
  const from = runs.at(index)!;
  const endMs = from.lastMs + ruleConstants.glitch_max_ms.value;
  let zeros = true;
  let lows: Low[] = [];
  for (let back = index + 2; ; back += 1) {
    const before = runs.at(back - 1)!;
    if (hasClimbedBack(before, from)) return undefined;
    // A register does not come back from a spike among low values, but from the low values.
    if (before.lastValue < from.lastValue) lows = appendLowRun(lows, before, from, rule);
    const candidate = runs.at(back);
    if (!candidate || candidate.firstMs > endMs) return undefined;
    const low = lows[0]!;
    const isAverage: boolean = zeros && back > index + 2 && isAverageOnTheWayUp(from, low, candidate);
    zeros &&= isAverage || (low.firstValue === 0 && low.lastValue === 0);
    if (!continues(from, candidate)) continue;
    const isBackFromZero = zeros && !hasRestarted(low, from, candidate, rule);
    const isBackAtOnce = back === index + 2 && isLoneFall(from, before, candidate, rule);
    if (!isBackFromZero && !isBackAtOnce && findOrigin(candidate, lows) >= 0) return undefined;
    return isLoneSpike(runs, back, isAverage ? [] : lows) ? undefined : back;
  }
}

/** Whether a single reading between zeros and what is at or above the value before them is an average of both. */
function isAverageOnTheWayUp(from: Run, low: Run, candidate: Run): boolean {
  const isLone =
    low.firstMs === low.lastMs && candidate.firstMs - low.lastMs <= ruleConstants.lone_fall_ms.value;
  return low.firstValue > 0 && isLone && continues(from, candidate);
}

/**
 * Whether a fall is a single reading that is no reset, and that is over within the hour. Only by a learnt limit: that is far above what is usual, so
 * that the way back is hardly ever impossible by it. By a configured one the way back shows what the fall was.
 */
function isLoneFall(from: Run, low: Run, back: Run, rule: RegisterRule): boolean {
  const isLone = low.firstMs === low.lastMs && back.firstMs - low.lastMs <= ruleConstants.lone_fall_ms.value;
  return rule.learnt && isLone && !isReset(from, low, rule);
}

/** A run of low values. */
interface Low extends Run {
  /** When the first of the low runs began that go on from each other to this one; excursions between them count for nothing. */
  sinceMs: UtcMs;
  /** The register has counted in them, so it has started again for certain. */
  counts: boolean;
}

/** The runs of low values, the last first, when another follows: it goes on from one of them, or begins anew. */
function appendLowRun(lows: readonly Low[], run: Run, from: Run, rule: RegisterRule): Low[] {
  const origin = findOrigin(run, lows);
  const sinceMs = lows[origin]?.sinceMs ?? run.firstMs;
  const counts = lows[origin]?.counts || isCarriedOver(from, rule) || hasCounted(run);
  return [{ ...run, sinceMs, counts }, ...lows.slice(origin + 1)].slice(0, workBounds.low_runs_max);
}

/** The place of the low run that another goes on from: the last, or an earlier one past less than it lasted; -1 where it is none. */
function findOrigin(run: Run, lows: readonly Low[]): number {
  return lows.findIndex(
    (low, place) =>
      (low.counts ? continues : continuesAfterReset)(low, run) &&
      (place === 0 || run.firstMs - low.lastMs < low.lastMs - low.sinceMs),
  );
}

/**
 * Whether zeros of a register that restarts every day are its restart after all. What it shows after a longer silence may have grown since. So may what
 * it shows straight after the value of the day before, unless it is still that value.
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

/** Whether the run that seems to come back is itself the excursion: shorter than the low stretch, which goes on after it. */
function isLoneSpike(runs: Runs, back: number, all: readonly Low[]): boolean {
  // Zeros say nothing of what the register would go on from.
  const lows = all.filter(({ lastValue }) => lastValue > 0);
  if (lows.length === 0) return false;
  const candidate = runs.at(back)!;
  for (let place = back + 1; place <= back + workBounds.confirming_max; place += 1) {
    const after = runs.at(place);
    if (!after || continues(candidate, after)) return false;
    const low = lows[findOrigin(after, lows)];
    if (low) return candidate.lastMs - candidate.firstMs < low.lastMs - low.sinceMs;
  }
  return false;
}

/**
 * Whether a register has begun: it has counted in the believed run, or stood still there for long. Until then it may be read as zero, or as an average
 * over its start, because a recording may begin at night.
 */
export function hasStartedCounting(
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

/**
 * Whether a register goes on in another unit: at exactly 10 or 1000 times of what it showed, or a part of that. Nobody knows its energy until it is back,
 * or until somebody says which unit it is.
 */
export function isOtherUnit(from: Run, to: Run): boolean {
  if (from.lastValue <= 0) return false;
  const possibleWh = maxGrowthWh(to.firstMs - from.lastMs, to);
  const exactWh = ruleConstants.unit_share_max.value * from.lastValue;
  const grownWh = Math.min(possibleWh, exactWh);
  const [less, more] = [Math.min(from.lastValue, to.firstValue), Math.max(from.lastValue, to.firstValue)];
  if (less < ruleConstants.unit_jitters_min.value * to.jitterWh) return false;
  const { unit_factor, unit_factor_kilo } = ruleConstants;
  return [unit_factor.value, unit_factor_kilo.value].some((factor) => {
    const isPart = to.firstValue < from.lastValue;
    const offWh = isPart ? to.firstValue * factor - from.lastValue : to.firstValue / factor - from.lastValue;
    const roundedWh = to.jitterWh * (isPart ? factor : 1);
    // Where more growth is possible, a factor that is rounded proves nothing.
    if (possibleWh > exactWh && roundedWh > exactWh) return false;
    return less > 0 && more > less && offWh >= -roundedWh && offWh <= grownWh + roundedWh;
  });
}

/** Where a register is back at what it showed before it changed its unit; undefined where it is not. */
export function returnInUnit(runs: Runs, index: number): number | undefined {
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
    together = isOf(run) ? joinRuns(together, run) : undefined;
    if (together && hasCounted(together)) return true;
  }
  return false;
}

/** A run and the one before it, where it goes on from that. */
export function joinRuns(before: Run | undefined, run: Run): Run {
  if (!before || !continues(before, run)) return run;
  return { ...run, firstMs: before.firstMs, firstValue: before.firstValue };
}

/**
 * Whether the very first run is wrong: the register shows exactly the same when it comes back to it, though it has counted elsewhere
 * in between. That is a value which a device shows while it sleeps, and the recording began with it. Or the day began with the value of the day before.
 */
export function startedAsleep(runs: Runs, from: number, back: number): boolean {
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
