import type { EnergyMethod } from '../../src/config/energy-stream.ts';
import { DAY_MS, type DayBounds, dayBounds, HOUR_MS, localDateOf, type UtcMs } from '../../src/lib/time.ts';

/**
 * The energy of days as the rules say, in the plainest way there is: one series after the other, one day
 * after the other, nothing kept. Shares nothing with the roll-up but the bounds of local days. Says nothing
 * where the rules leave the answer open.
 */

/** The rules of a series, in Wh, W and ms. */
export interface OracleRule {
  method: EnergyMethod;
  maxPowerW: number;
  jitterWh: number;
  modulusWh?: number;
  net?: boolean;
  withinDay?: boolean;
  sampling?: 'instantaneous' | 'interval_average' | 'on_change';
  labelEnd?: boolean;
  intervalMs: number;
  maxGapMs: number;
  direction?: 'positive' | 'negative';
}

/** A valid reading: Wh, or W of power. */
export interface OracleReading {
  atMs: UtcMs;
  value: number;
}

export interface OracleDay {
  /** Not rounded if it is power, because half a Wh can be rounded up or down. */
  wh: number;
  /** Share of the day that measurements cover. */
  coverage: number;
}

/** Energy along a straight line: of the index (Wh) from one reading to the next, or of power (W). */
interface Line {
  fromMs: UtcMs;
  from: number;
  toMs: UtcMs;
  to: number;
  isCovered: boolean;
}

/** The days with energy or with measurements. */
export function oracleDays(
  rule: OracleRule,
  readings: readonly OracleReading[],
  timezone: string,
): Map<string, OracleDay> {
  const [first, last] = [readings[0], readings.at(-1)];
  if (!first || !last) return new Map();
  const days = dayBounds(
    localDateOf(first.atMs - rule.intervalMs, timezone),
    localDateOf(last.atMs + rule.intervalMs, timezone),
    timezone,
  );
  const isRegister = rule.method === 'total_energy' || rule.method === 'daily_energy';
  const lines =
    rule.method === 'total_energy'
      ? lifetimeLines(rule, readings, days)
      : rule.method === 'daily_energy'
        ? dailyLines(rule, readings, days)
        : powerLines(rule, readings);
  const result = new Map<string, OracleDay>();
  for (const { day, startMs, endMs } of days) {
    let [wh, coveredMs] = [0, 0];
    for (const line of lines) {
      const [fromMs, toMs] = [Math.max(line.fromMs, startMs), Math.min(line.toMs, endMs)];
      if (toMs <= fromMs) continue;
      const [from, to] = [valueAt(line, fromMs), valueAt(line, toMs)];
      wh += isRegister ? rounded(to) - rounded(from) : (((from + to) / 2) * (toMs - fromMs)) / HOUR_MS;
      if (line.isCovered) coveredMs += toMs - fromMs;
    }
    if (coveredMs > 0 || wh !== 0) result.set(day, { wh, coverage: coveredMs / (endMs - startMs) });
  }
  return result;
}

function valueAt({ fromMs, from, toMs, to }: Line, atMs: UtcMs): number {
  return atMs === toMs ? to : from + ((to - from) * (atMs - fromMs)) / (toMs - fromMs);
}

/** Halves away from zero. */
function rounded(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}

/**
 * A reading that counts, and the Wh that its step books if it is not plain growth. 'rebase' books none and
 * covers nothing.
 */
interface Kept extends OracleReading {
  booked?: number | 'rebase';
}

/** A lifetime register: every reading that counts is joined to the one before. */
function lifetimeLines(
  rule: OracleRule,
  readings: readonly OracleReading[],
  days: readonly DayBounds[],
): Line[] {
  const kept = rule.net ? [...readings] : keptOf(rule, readings);
  if (rule.withinDay) {
    return days.flatMap(({ startMs, endMs }) => {
      const inside = kept.filter(({ atMs }) => atMs >= startMs && atMs < endMs);
      return inside.length < 2 ? [] : linesBetween(inside, false);
    });
  }
  return linesBetween(kept, rule.net ?? false);
}

function linesBetween(kept: readonly Kept[], isNet: boolean): Line[] {
  const lines: Line[] = [];
  let mark = kept[0]?.value ?? 0;
  for (const [index, reading] of kept.entries()) {
    const before = kept[index - 1];
    if (!before) continue;
    if (reading.booked === undefined) {
      const to = isNet ? reading.value : Math.max(mark, reading.value);
      lines.push({ fromMs: before.atMs, from: mark, toMs: reading.atMs, to, isCovered: true });
      mark = to;
    } else {
      const grown = reading.booked === 'rebase' ? 0 : reading.booked;
      lines.push({
        fromMs: before.atMs,
        from: reading.value - grown,
        toMs: reading.atMs,
        to: reading.value,
        isCovered: reading.booked !== 'rebase',
      });
      mark = reading.value;
    }
  }
  return lines;
}

/** Leaves glitches and spikes out. Says for every fall and jump that stays how much energy it books. */
function keptOf(rule: OracleRule, readings: readonly OracleReading[]): Kept[] {
  const kept: Kept[] = [];
  for (let index = 0; index < readings.length; index += 1) {
    const reading = readings[index]!;
    const before = kept.at(-1);
    if (!before || continuesFrom(rule, before, reading)) {
      kept.push(reading);
      continue;
    }
    const back =
      reading.value > before.value
        ? endOfSpike(rule, before, readings, index)
        : endOfGlitch(rule, before, readings, index);
    if (back !== undefined) {
      index = back - 1;
      continue;
    }
    const standstillSinceMs = reading.value > before.value ? standsSince(readings, index) : undefined;
    if (
      standstillSinceMs !== undefined &&
      reading.value - before.value <= maxGrowthWh(rule, standstillSinceMs, reading.atMs)
    ) {
      // It was not read for a while: its growth in that time is spread over that time.
      while (kept.at(-1)!.atMs > standstillSinceMs) kept.pop();
      kept.push(reading);
      continue;
    }
    kept.push({ ...reading, booked: bookedFor(rule, before, reading) });
  }
  return kept;
}

/** Since when the register has shown the value before a reading, if that is at most a week. */
function standsSince(readings: readonly OracleReading[], at: number): UtcMs | undefined {
  const before = readings[at - 1]!;
  const moved = readings.slice(0, at).findLastIndex(({ value }) => value !== before.value);
  const standstillSinceMs = readings[moved + 1]!.atMs;
  return before.atMs - standstillSinceMs > 7 * DAY_MS ? undefined : standstillSinceMs;
}

function maxGrowthWh({ maxPowerW, jitterWh }: OracleRule, fromMs: UtcMs, toMs: UtcMs): number {
  return (maxPowerW * (toMs - fromMs)) / HOUR_MS + jitterWh;
}

/** Not a fall beyond the jitter, and not a rise beyond the possible energy. */
function continuesFrom(rule: OracleRule, from: OracleReading, to: OracleReading): boolean {
  return (
    to.value >= from.value - rule.jitterWh && to.value - from.value <= maxGrowthWh(rule, from.atMs, to.atMs)
  );
}

/** An isolated high reading: the next one continues from the reading before it. */
function endOfSpike(rule: OracleRule, before: OracleReading, readings: readonly OracleReading[], at: number) {
  const next = readings[at + 1];
  return next && next.value < readings[at]!.value - rule.jitterWh && continuesFrom(rule, before, next)
    ? at + 1
    : undefined;
}

/**
 * The reading where the series continues after low values. It is no glitch if the register can have grown
 * there from the low values, unless all of them are zero. A reading between low values that is shorter than
 * they have lasted is an excursion of theirs.
 */
function endOfGlitch(
  rule: OracleRule,
  before: OracleReading,
  readings: readonly OracleReading[],
  at: number,
) {
  for (let index = at + 1; index < readings.length; index += 1) {
    const reading = readings[index]!;
    const lows = readings.slice(at, index).filter(({ value }) => value < before.value);
    const isPossible = lows.some(
      (low) =>
        continuesFrom(rule, low, reading) &&
        (low === lows.at(-1) || reading.atMs - low.atMs < low.atMs - lows[0]!.atMs),
    );
    const last = lows.at(-1);
    // One average of zero and what comes back may lie between.
    const isAverage = last !== undefined && lows.length > 1 && reading.atMs - last.atMs <= HOUR_MS;
    const wereZeros = (isAverage ? lows.slice(0, -1) : lows).every(({ value }) => value === 0);
    if (continuesFrom(rule, before, reading) && (wereZeros || !isPossible)) return index;
    if (isPossible && reading.value >= before.value - rule.jitterWh) return undefined;
  }
  return undefined;
}

function bookedFor(rule: OracleRule, before: OracleReading, reading: OracleReading): number | 'rebase' {
  const { modulusWh } = rule;
  const reach = maxGrowthWh(rule, before.atMs, reading.atMs);
  if (reading.value > before.value) return 'rebase';
  if (modulusWh !== undefined && before.value >= 0.9 * modulusWh && reading.value <= 0.1 * modulusWh) {
    const grown = modulusWh - before.value + reading.value;
    if (grown >= 0 && grown <= reach) return grown;
  }
  // A register that still shows more than half of the value before has not restarted.
  return reading.value <= Math.min(reach, before.value / 2) ? reading.value : 'rebase';
}

/**
 * A register that restarts every day. Each day is computed by itself. A value that is still of the day before
 * gives no energy.
 */
function dailyLines(
  rule: OracleRule,
  readings: readonly OracleReading[],
  days: readonly DayBounds[],
): Line[] {
  const lines: Line[] = [];
  let before: OracleReading | undefined;
  let beforeEndMs = 0;
  for (const { startMs, endMs } of days) {
    const inside = readings.filter(({ atMs }) => atMs >= startMs && atMs < endMs);
    const kept = keptOf(rule, inside);
    const shown = before?.value;
    const fresh = kept.findIndex(({ value }) => value !== shown || value === 0);
    const isCarriedOver = kept.length > 0 && fresh !== 0;
    if (isCarriedOver && before) {
      // It is the same register until midnight, and the same value.
      lines.push({ fromMs: before.atMs, from: 0, toMs: beforeEndMs, to: 0, isCovered: true });
      const lastShown = kept[(fresh < 0 ? kept.length : fresh) - 1]!;
      if (fresh >= 0) lines.push({ fromMs: startMs, from: 0, toMs: lastShown.atMs, to: 0, isCovered: true });
    }
    if (fresh >= 0) {
      const [first, ...more] = kept.slice(fresh);
      const sinceMs = isCarriedOver ? kept[fresh - 1]!.atMs : before ? startMs : first!.atMs;
      if (first!.atMs > sinceMs)
        lines.push({ fromMs: sinceMs, from: 0, toMs: first!.atMs, to: first!.value, isCovered: true });
      // Zero after zero: nothing has happened in the night.
      if (!isCarriedOver && before?.value === 0 && first!.value === 0) {
        lines.push({ fromMs: before.atMs, from: 0, toMs: beforeEndMs, to: 0, isCovered: true });
      }
      lines.push(...linesBetween([{ atMs: first!.atMs, value: first!.value }, ...more], false));
    }
    if (kept.length > 0) [before, beforeEndMs] = [kept.at(-1), endMs];
  }
  return lines;
}

/** Power over time, one reading after the other, without those that are beyond the most that is possible. */
function powerLines(rule: OracleRule, all: readonly OracleReading[]): Line[] {
  const lines: Line[] = [];
  const mostValue =
    rule.method === 'interval_energy' ? (rule.maxPowerW * rule.intervalMs) / HOUR_MS : rule.maxPowerW;
  const readings = all.filter(({ value }) => Math.abs(value) <= mostValue);
  for (const [index, reading] of readings.entries()) {
    const before = readings[index - 1];
    const watts =
      rule.method === 'interval_energy' ? (reading.value * HOUR_MS) / rule.intervalMs : reading.value;
    if (rule.method === 'interval_energy' || rule.sampling === 'interval_average') {
      const startMs = rule.labelEnd ? reading.atMs - rule.intervalMs : reading.atMs;
      const last = lines.at(-1);
      // Zero to zero overnight is covered.
      if (last?.to === 0 && watts === 0) lines.push({ ...last, fromMs: last.toMs, toMs: startMs });
      lines.push({
        fromMs: startMs,
        from: watts,
        toMs: startMs + rule.intervalMs,
        to: watts,
        isCovered: true,
      });
    } else if (before && rule.sampling === 'on_change') {
      lines.push({
        fromMs: before.atMs,
        from: before.value,
        toMs: reading.atMs,
        to: before.value,
        isCovered: true,
      });
    } else if (before) {
      const isKnown =
        reading.atMs - before.atMs <= rule.maxGapMs || (before.value === 0 && reading.value === 0);
      if (isKnown)
        lines.push({
          fromMs: before.atMs,
          from: before.value,
          toMs: reading.atMs,
          to: watts,
          isCovered: true,
        });
    }
  }
  return rule.direction === undefined
    ? lines
    : lines.flatMap((line) => directed(line, rule.direction === 'negative' ? -1 : 1));
}

/** What flows in one direction only, cut where the line crosses zero. */
function directed(line: Line, sign: number): Line[] {
  const [from, to] = [line.from * sign, line.to * sign];
  const positive = (value: number) => Math.max(0, value);
  if (from * to >= 0) return [{ ...line, from: positive(from), to: positive(to) }];
  const crossMs = line.fromMs + ((line.toMs - line.fromMs) * from) / (from - to);
  return [
    { ...line, from: positive(from), toMs: crossMs, to: 0 },
    { ...line, fromMs: crossMs, from: 0, to: positive(to) },
  ];
}
