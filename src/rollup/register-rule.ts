import { HOUR_MS, type UtcMs } from '../lib/time.ts';
import { ruleConstants } from './rule-constants.ts';

/** Two neighbouring readings that are not plain growth, with the limits of their day. Values are Wh. */
export interface SeriesBreak extends RegisterLimits {
  fromMs: UtcMs;
  fromValue: number;
  toMs: UtcMs;
  toValue: number;
  /**
   * For a rise: the time since which the register has shown the value before the rise. Undefined if it has
   * shown this value for longer than a standstill can last.
   */
  standstillSinceMs: UtcMs | undefined;
}

/** The limits of a day. */
interface RegisterLimits {
  /**
   * The limit (W), configured or learnt. Undefined for a net register, which has none: then every rise is
   * possible.
   */
  maxPowerW: number | undefined;
  /** The limit (W) after a restart, which is lower if it is learnt. Undefined: the same as `maxPowerW`. */
  maxPowerAfterResetW: number | undefined;
  /** How far the register can fall although nothing has happened (Wh). */
  jitterWh: number;
}

/** The rules of a register that hold on every day. */
export interface RegisterRule {
  /** True if the limit is learnt, not configured. */
  learnt: boolean;
  modulusWh: number | undefined;
  /** Declared changes of the register: last value of the old one and first value of the new one (Wh). */
  changes: ReadonlyArray<{ atMs: UtcMs; finalValue: number; initialValue: number }>;
  /** True if the register restarts every day. Then zero is a normal value. */
  restartsDaily: boolean;
  /**
   * For a daily register: the first reading of the day and the last one before it; undefined if one of them
   * does not exist.
   */
  morning: Morning | undefined;
  firstReadingMs: UtcMs;
  /** Value of the first reading (Wh). */
  firstReadingValue: number;
  lastReadingMs: UtcMs;
  /**
   * The decided break before the first one, and the time of the last reading that was needed to decide it.
   * Undefined if judging begins with the series.
   */
  start?: { ms: UtcMs; value: number; lookedMs: UtcMs };
}

interface Morning {
  dayMs: UtcMs;
  beforeMs: UtcMs;
  beforeValue: number;
  firstMs: UtcMs;
  firstValue: number;
}

/** What happened at a break. */
export type EnergyEvent = {
  /**
   * glitch, spike and standstill: first and last time that is left out; the others: time of the readings
   * before and after.
   */
  fromMs: UtcMs;
  toMs: UtcMs;
  valueBefore: number;
  valueAfter: number;
  /** Energy that the event books (Wh); 0 if readings are left out. */
  energyWh: number;
} & { kind: 'reset' | 'rollover' | 'rebase' | 'register_change' | 'glitch' | 'spike' | 'standstill' };

/**
 * The readings between two breaks. They grow plausibly. The limits of a run are the limits of the day on
 * which it begins.
 */
export interface Run extends RegisterLimits {
  firstMs: UtcMs;
  firstValue: number;
  lastMs: UtcMs;
  lastValue: number;
  /** `standstillSinceMs` of the break before the run. */
  standstillSinceMs: UtcMs | undefined;
}

/**
 * The maximum energy (Wh) that a register can count in a time. The jitter is added, because the shown values
 * are rounded.
 */
export function maxGrowthWh(milliseconds: number, { maxPowerW, jitterWh }: RegisterLimits): number {
  return maxPowerW === undefined ? Number.POSITIVE_INFINITY : (maxPowerW * milliseconds) / HOUR_MS + jitterWh;
}

/** The maximum energy (Wh) that a register can count in a time after a restart. */
function maxGrowthAfterResetWh(milliseconds: number, limits: RegisterLimits): number {
  const { maxPowerAfterResetW, jitterWh } = limits;
  return maxPowerAfterResetW === undefined
    ? maxGrowthWh(milliseconds, limits)
    : (maxPowerAfterResetW * milliseconds) / HOUR_MS + jitterWh;
}

/** True if the register can have counted plainly from the end of one run to the start of another. */
export function continues(from: Run, to: Run): boolean {
  return isGrowth(from, to, maxGrowthWh(to.firstMs - from.lastMs, to));
}

/** Like `continues`, but with the limit after a restart. It is for runs of low values. */
export function continuesAfterReset(low: Run, to: Run): boolean {
  return isGrowth(low, to, maxGrowthAfterResetWh(to.firstMs - low.lastMs, to));
}

function isGrowth(from: Run, to: Run, mostWh: number): boolean {
  const grownWh = to.firstValue - from.lastValue;
  return grownWh >= -to.jitterWh && grownWh <= mostWh;
}

/** True if a run still shows the value of the day before. These readings show nothing about the day. */
export function isCarriedOver(run: Run, { morning }: RegisterRule): boolean {
  return (
    run.firstMs === Number.NEGATIVE_INFINITY &&
    morning?.firstValue === morning?.beforeValue &&
    morning?.beforeValue === run.lastValue
  );
}

/**
 * True if a register can have counted from zero to its value after a fall. If it showed the value of the day
 * before, it had the time since midnight. A register that still shows more than half of the value before was
 * not reset: it has lost a little.
 */
export function isReset(from: Run, to: Run, rule: RegisterRule): boolean {
  if (isCarriedOver(from, rule))
    return to.firstValue <= maxGrowthAfterResetWh(to.firstMs - rule.morning!.dayMs, to);
  if (to.firstValue > maxGrowthAfterResetWh(to.firstMs - from.lastMs, to)) return false;
  return to.firstValue <= ruleConstants.reset_share_max.value * from.lastValue;
}
