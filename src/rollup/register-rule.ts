import { HOUR_MS, type UtcMs } from '../time.ts';

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
  /** Most power (W) with which it counts after a restart, where that is learnt: little more than is usual. */
  recountPowerW: number | undefined;
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

export interface Morning {
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
export interface Run {
  firstMs: UtcMs;
  firstValue: number;
  lastMs: UtcMs;
  lastValue: number;
}

/** The most the register can have grown in the time, with its jitter for the rounding of what it shows. */
export function reachWh(milliseconds: number, rule: RegisterRule): number {
  return rule.maxPowerW === undefined
    ? Number.POSITIVE_INFINITY
    : (rule.maxPowerW * milliseconds) / HOUR_MS + rule.jitterWh;
}

/** The most that it can have counted since a restart. */
function recountWh(milliseconds: number, rule: RegisterRule): number {
  const { recountPowerW, jitterWh } = rule;
  return recountPowerW === undefined
    ? reachWh(milliseconds, rule)
    : (recountPowerW * milliseconds) / HOUR_MS + jitterWh;
}

/** Whether a register that was last believed at the end of one run can show the start of another. */
export function continues(from: Run, to: Run, rule: RegisterRule): boolean {
  return isGrowth(from, to, reachWh(to.firstMs - from.lastMs, rule), rule);
}

/** The same of a run of low values, which is said to follow a restart. */
export function recounts(low: Run, to: Run, rule: RegisterRule): boolean {
  return isGrowth(low, to, recountWh(to.firstMs - low.lastMs, rule), rule);
}

function isGrowth(from: Run, to: Run, mostWh: number, { jitterWh }: RegisterRule): boolean {
  const grownWh = to.firstValue - from.lastValue;
  return grownWh >= -jitterWh && grownWh <= mostWh;
}

/** Whether a run is what the register showed the day before: until it shows something else nothing is known of the day. */
export function isCarriedOver(run: Run, { morning }: RegisterRule): boolean {
  return (
    run.firstMs === Number.NEGATIVE_INFINITY &&
    morning?.firstValue === morning?.beforeValue &&
    morning?.beforeValue === run.lastValue
  );
}

/**
 * Whether the register can have counted from zero to what it shows after a fall; after the day before since midnight. A learnt limit is far
 * above what is usual, so by it a register that still shows more than half of before has not started again: it has lost a little.
 */
export function isReset(from: Run, to: Run, rule: RegisterRule): boolean {
  if (isCarriedOver(from, rule)) return to.firstValue <= recountWh(to.firstMs - rule.morning!.dayMs, rule);
  if (to.firstValue > recountWh(to.firstMs - from.lastMs, rule)) return false;
  return !rule.learnt || to.firstValue <= from.lastValue / 2;
}
