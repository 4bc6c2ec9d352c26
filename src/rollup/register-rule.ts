import { HOUR_MS, type UtcMs } from '../lib/time.ts';
import { ruleConstants } from './rules.ts';

/** A step between two neighbouring readings that no plain growth explains, with the limits of its day. Values are Wh. */
export interface SeriesBreak extends Limits {
  fromMs: UtcMs;
  fromValue: number;
  toMs: UtcMs;
  toValue: number;
  /** Where it rises: since when the register has shown the value before; undefined where that was longer ago than a standstill may last. */
  standstillSinceMs: UtcMs | undefined;
}

/** What is plausible on a day. */
export interface Limits {
  /** The limit (W), configured or learnt; undefined where there is none: then every rise is possible. */
  maxPowerW: number | undefined;
  /** The limit (W) after a restart, where it is learnt: little more than the usual power. */
  maxPowerAfterResetW: number | undefined;
  /** By how much the register may fall though nothing has happened (Wh). */
  jitterWh: number;
}

/** What holds for a register on every day. */
export interface RegisterRule {
  /** Whether the limit is learnt, not configured: then a rise that goes on is believed. */
  learnt: boolean;
  modulusWh: number | undefined;
  /** Declared changes of the register: what the old one ended at and the new one started from (Wh). */
  changes: ReadonlyArray<{ atMs: UtcMs; finalValue: number; initialValue: number }>;
  /** The register restarts every day: zero is a value like any other. */
  restartsDaily: boolean;
  /** Of such a register: when the day began, its first reading, and the last one of the days before; undefined where there is none. */
  morning: Morning | undefined;
  firstReadingMs: UtcMs;
  /** What the register shows at first. */
  firstReadingValue: number;
  lastReadingMs: UtcMs;
  /** The break that is decided before the first one, and up to when readings were looked at for it; undefined where the series begins. */
  start?: { ms: UtcMs; value: number; lookedMs: UtcMs };
}

export interface Morning {
  dayMs: UtcMs;
  beforeMs: UtcMs;
  beforeValue: number;
  firstMs: UtcMs;
  firstValue: number;
}

/** What a break is. */
export type EnergyEvent = {
  /** glitch, spike and standstill: first and last time left out; the others: the readings before and after. */
  fromMs: UtcMs;
  toMs: UtcMs;
  valueBefore: number;
  valueAfter: number;
  /** Energy booked for the step itself; 0 for readings that are left out. */
  energyWh: number;
} & { kind: 'reset' | 'rollover' | 'rebase' | 'register_change' | 'glitch' | 'spike' | 'standstill' };

/** The readings between two breaks: they grow plausibly. Limits are those of the day on which it begins. */
export interface Run extends Limits {
  firstMs: UtcMs;
  firstValue: number;
  lastMs: UtcMs;
  lastValue: number;
  /** As in the break before it. */
  standstillSinceMs: UtcMs | undefined;
}

/** The most a register can have grown in the time, with its jitter for the rounding of what it shows. */
export function maxGrowthWh(milliseconds: number, { maxPowerW, jitterWh }: Limits): number {
  return maxPowerW === undefined ? Number.POSITIVE_INFINITY : (maxPowerW * milliseconds) / HOUR_MS + jitterWh;
}

/** The most that it can have counted since a restart. */
function maxGrowthAfterResetWh(milliseconds: number, limits: Limits): number {
  const { maxPowerAfterResetW, jitterWh } = limits;
  return maxPowerAfterResetW === undefined
    ? maxGrowthWh(milliseconds, limits)
    : (maxPowerAfterResetW * milliseconds) / HOUR_MS + jitterWh;
}

/** Whether a register that was last believed at the end of one run can show the start of another. */
export function continues(from: Run, to: Run): boolean {
  return isGrowth(from, to, maxGrowthWh(to.firstMs - from.lastMs, to));
}

/** The same of a run of low values: after a restart the register counts by a limit of its own. */
export function continuesAfterReset(low: Run, to: Run): boolean {
  return isGrowth(low, to, maxGrowthAfterResetWh(to.firstMs - low.lastMs, to));
}

function isGrowth(from: Run, to: Run, mostWh: number): boolean {
  const grownWh = to.firstValue - from.lastValue;
  return grownWh >= -to.jitterWh && grownWh <= mostWh;
}

/** Whether a run still shows the value of the day before. Such readings say nothing of the day. */
export function isCarriedOver(run: Run, { morning }: RegisterRule): boolean {
  return (
    run.firstMs === Number.NEGATIVE_INFINITY &&
    morning?.firstValue === morning?.beforeValue &&
    morning?.beforeValue === run.lastValue
  );
}

/**
 * Whether the register can have counted from zero to what it shows after a fall. After the value of the day before it has had the time since midnight.
 * A register that still shows more than half of before has not started again: it has lost a little.
 */
export function isReset(from: Run, to: Run, rule: RegisterRule): boolean {
  if (isCarriedOver(from, rule))
    return to.firstValue <= maxGrowthAfterResetWh(to.firstMs - rule.morning!.dayMs, to);
  if (to.firstValue > maxGrowthAfterResetWh(to.firstMs - from.lastMs, to)) return false;
  return to.firstValue <= ruleConstants.reset_share_max.value * from.lastValue;
}
