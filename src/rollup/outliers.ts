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
import { ruleConstants, workBounds } from './rule-constants.ts';
import type { Runs } from './runs-between.ts';

/**
 * Finds the run at which the series comes back to the run at `index`: the first later run that continues it
 * and that cannot be reached from the outliers between. Undefined if it does not come back: then the change
 * has stayed.
 */
export function findReturn(runs: Runs, index: number, rule: RegisterRule): number | undefined {
  return runs.at(index + 1)!.firstValue > runs.at(index)!.lastValue
    ? findReturnFromHigh(runs, index)
    : findReturnFromLow(runs, index, rule);
}

/**
 * True if a single reading is left out because the next one is below it and below the believed run. A high
 * reading is left out after any fall. A low reading can be the average of a value and a zero. It is left out
 * only if the limit is learnt.
 */
export function isSkippedReading(from: Run, run: Run, after: Run | undefined, rule: RegisterRule): boolean {
  if (run.firstMs !== run.lastMs || !after) return false;
  const isHigh = run.firstValue > from.lastValue;
  const level = isHigh ? from.lastValue : run.firstValue;
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

/**
 * Finds the way back from low values. Low values are taken for a reset register as long as a reset explains
 * them.
 */
function findReturnFromLow(runs: Runs, index: number, rule: RegisterRule): number | undefined {
  const from = runs.at(index)!;
  const endMs = from.lastMs + ruleConstants.glitch_max_ms.value;
  let isAllZeros = true;
  let lows: Low[] = [];
  for (let back = index + 2; ; back += 1) {
    const before = runs.at(back - 1)!;
    if (hasClimbedBack(before, from)) return undefined;
    // A spike among low values is not a low value.
    if (before.lastValue < from.lastValue) lows = appendLowRun(lows, before, from, rule);
    const candidate = runs.at(back);
    if (!candidate || candidate.firstMs > endMs) return undefined;
    const low = lows[0]!;
    const isAverage: boolean = isAllZeros && back > index + 2 && isAverageOnTheWayUp(from, low, candidate);
    isAllZeros &&= isAverage || (low.firstValue === 0 && low.lastValue === 0);
    if (!continues(from, candidate)) continue;
    const isBackFromZero = isAllZeros && !hasRestarted(low, from, candidate, rule);
    const isBackAtOnce = back === index + 2 && isLoneFall(from, before, candidate, rule);
    if (!isBackFromZero && !isBackAtOnce && findOrigin(candidate, lows) >= 0) return undefined;
    return isLoneSpike(runs, back, isAverage ? [] : lows) ? undefined : back;
  }
}

/**
 * True for a single reading after zeros that is the average of a zero and the value that continues the
 * believed run.
 */
function isAverageOnTheWayUp(from: Run, low: Run, candidate: Run): boolean {
  const isLone =
    low.firstMs === low.lastMs && candidate.firstMs - low.lastMs <= ruleConstants.lone_fall_ms.value;
  return low.firstValue > 0 && isLone && continues(from, candidate);
}

/**
 * True if a fall is a single reading, is not a reset, and is over within the hour. A learnt limit is high, so
 * the rise after a fall is hardly ever beyond it. A configured limit is tight: a rise beyond it shows that
 * the fall was an outlier, so this rule is not needed.
 */
function isLoneFall(from: Run, low: Run, back: Run, rule: RegisterRule): boolean {
  const isLone = low.firstMs === low.lastMs && back.firstMs - low.lastMs <= ruleConstants.lone_fall_ms.value;
  return rule.learnt && isLone && !isReset(from, low, rule);
}

/** A run of low values. */
interface Low extends Run {
  /** Start of the first low run that continues up to this one. Outliers between them do not count. */
  sinceMs: UtcMs;
  /** True if the register has counted in these runs, so it has certainly started again. */
  counts: boolean;
}

/** Adds a run to the low runs, the newest first. It continues one of them, or it is a new one. */
function appendLowRun(lows: readonly Low[], run: Run, from: Run, rule: RegisterRule): Low[] {
  const origin = findOrigin(run, lows);
  const sinceMs = lows[origin]?.sinceMs ?? run.firstMs;
  const counts = lows[origin]?.counts || isCarriedOver(from, rule) || hasCounted(run);
  return [{ ...run, sinceMs, counts }, ...lows.slice(origin + 1)].slice(0, workBounds.low_runs_max);
}

/**
 * The index of the low run that another run continues; -1 if there is none. It is the newest low run, or an
 * earlier one if that lasted longer than the interruption.
 */
function findOrigin(run: Run, lows: readonly Low[]): number {
  return lows.findIndex(
    (low, place) =>
      (low.counts ? continues : continuesAfterReset)(low, run) &&
      (place === 0 || run.firstMs - low.lastMs < low.lastMs - low.sinceMs),
  );
}

/**
 * True if zeros of a daily register are its restart. The register can have grown to this value in two cases:
 * after a longer silence, or directly after the value of the day before if it does not still show that value.
 */
function hasRestarted(low: Run, from: Run, candidate: Run, rule: RegisterRule): boolean {
  if (!rule.restartsDaily) return false;
  return (
    candidate.firstMs - low.lastMs > ruleConstants.restart_max_ms.value ||
    (isCarriedOver(from, rule) && candidate.firstValue !== from.lastValue)
  );
}

/**
 * True if the register has grown back to the value before the fall. Then it was reset. Later runs do not
 * change this.
 */
function hasClimbedBack(low: Run, from: Run): boolean {
  const level = from.lastValue - low.jitterWh;
  return low.firstValue < level && low.lastValue >= level;
}

/**
 * True if the run that seems to come back is itself the outlier: it is shorter than the low runs, and these
 * continue after it.
 */
function isLoneSpike(runs: Runs, back: number, all: readonly Low[]): boolean {
  // Zeros do not show at which value the register would continue.
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
 * True if a register has counted in the believed run, or has stood still there for long. Before that, the run
 * can be zeros or an average, because a recording can begin at night.
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
 * True if a register continues in another unit: at exactly 10 or 1000 times its value, or a tenth or a
 * thousandth. Its energy is unknown until it comes back, or until a person declares the unit.
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
    // A rounded factor proves nothing if more growth is possible.
    if (possibleWh > exactWh && roundedWh > exactWh) return false;
    return less > 0 && more > less && offWh >= -roundedWh && offWh <= grownWh + roundedWh;
  });
}

/** The position of the run that continues the value before the change of unit; undefined if there is none. */
export function returnInUnit(runs: Runs, index: number): number | undefined {
  for (let place = index + 2; ; place += 1) {
    const run = runs.at(place);
    if (!run || continues(runs.at(index)!, run)) return run && place;
  }
}

/** True if a register has counted between two runs, above the first of them. */
export function hasCountedAbove(runs: Runs, from: number, back: number): boolean {
  const { lastValue } = runs.at(from)!;
  return hasCountedBetween(runs, from, back, (run) => run.firstValue > lastValue);
}

/** True if a register has counted in the runs between two, which can continue each other. */
function hasCountedBetween(runs: Runs, from: number, back: number, isOf: (run: Run) => boolean): boolean {
  let together: Run | undefined;
  for (let place = from + 1; place < back; place += 1) {
    const run = runs.at(place)!;
    together = isOf(run) ? joinRuns(together, run) : undefined;
    if (together && hasCounted(together)) return true;
  }
  return false;
}

/** Joins a run with the run before, if it continues that run. */
export function joinRuns(before: Run | undefined, run: Run): Run {
  if (!before || !continues(before, run)) return run;
  return { ...run, firstMs: before.firstMs, firstValue: before.firstValue };
}

/**
 * True if the very first run is wrong: the register comes back to exactly its value, although it has counted
 * in between. A device shows that value while it sleeps, or the day began with the value of the day before.
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
