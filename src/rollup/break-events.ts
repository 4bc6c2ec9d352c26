import type { EnergyEvent, RegisterRule, Run } from './register-rule.ts';

/** The event at a break between two runs that both count. */
export function joinEvent(
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

/** The event for runs that are left out: a spike above the believed run, a glitch below it. */
export function outlierEvent(from: Run, runs: readonly Run[]): EnergyEvent {
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

/**
 * The glitch from the first reading of the series to the end of a run, because the recording began with wrong
 * values.
 */
export function beginningGlitch(
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

/**
 * The standstill event. Its readings repeat an old value and are left out, so the growth is spread over the
 * whole time.
 */
export function standstillEvent(from: Run, to: Run): EnergyEvent {
  return {
    kind: 'standstill',
    fromMs: to.standstillSinceMs! + 1,
    toMs: from.lastMs,
    valueBefore: from.lastValue,
    valueAfter: to.firstValue,
    energyWh: 0,
  };
}
