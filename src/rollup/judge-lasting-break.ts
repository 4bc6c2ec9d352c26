import { joinEvent, standstillEvent } from './break-events.ts';
import {
  continues,
  type EnergyEvent,
  isReset,
  maxGrowthWh,
  type RegisterRule,
  type Run,
} from './register-rule.ts';
import { ruleConstants } from './rule-constants.ts';

/**
 * The event of a break after which the register does not come back: reset, rollover, rebase or standstill.
 * Undefined for a rise that is real although it is beyond a learnt limit.
 */
export function judgeLastingBreak(
  from: Run,
  to: Run,
  after: Run | undefined,
  rule: RegisterRule,
): EnergyEvent | undefined {
  if (to.firstValue > from.lastValue) {
    // A rise that continues at the same pace is real, such as a car that charges or the first sunny day.
    if (rule.learnt && after && continuesAtPace(from, to, after)) return undefined;
    if (hasCaughtUp(from, to, rule)) return standstillEvent(from, to);
    return joinEvent('rebase', from, to, 0);
  }
  if (hasRolledOver(from, to, rule)) return joinEvent('rollover', from, to, rollOverWh(from, to, rule)!);
  if (isReset(from, to, rule)) return joinEvent('reset', from, to, to.firstValue);
  return joinEvent('rebase', from, to, 0);
}

/** True if the register passed its modulus and the energy is possible. */
export function hasRolledOver(from: Run, to: Run, rule: RegisterRule): boolean {
  const grownWh = rollOverWh(from, to, rule);
  return grownWh !== undefined && grownWh <= maxGrowthWh(to.firstMs - from.lastMs, to);
}

/** The energy (Wh) of a register that passed its modulus; undefined if it did not. */
function rollOverWh(from: Run, to: Run, { modulusWh }: RegisterRule): number | undefined {
  if (modulusWh === undefined) return undefined;
  const endShare = ruleConstants.modulus_end_share.value;
  if (from.lastValue < (1 - endShare) * modulusWh || to.firstValue > endShare * modulusWh) return undefined;
  const energyWh = modulusWh - from.lastValue + to.firstValue;
  // Negative if the register showed more than its modulus before. Then the modulus is wrong.
  return energyWh < 0 ? undefined : energyWh;
}

/** True if the register repeated an old value, and its rise is possible over the whole standstill. */
function hasCaughtUp(from: Run, to: Run, rule: RegisterRule): boolean {
  if (to.standstillSinceMs === undefined || to.standstillSinceMs >= from.lastMs || to.maxPowerW === undefined)
    return false;
  // A daily register that still shows the value of the day before does not stand still.
  if (rule.morning && to.standstillSinceMs < rule.morning.dayMs) return false;
  const maxPowerW = rule.learnt ? to.maxPowerW / ruleConstants.catch_up_divisor.value : to.maxPowerW;
  return (
    to.firstValue - from.lastValue <= maxGrowthWh(to.firstMs - to.standstillSinceMs, { ...to, maxPowerW })
  );
}

/**
 * True if a rise to a single reading is followed by another rise beyond the limit at about the same speed.
 */
export function continuesAtPace(from: Run, to: Run, after: Run): boolean {
  if (to.lastMs !== to.firstMs || after.firstValue <= to.lastValue || continues(to, after)) return false;
  const rate = (to.firstValue - from.lastValue) / (to.firstMs - from.lastMs);
  const nextRate = (after.firstValue - to.lastValue) / (after.firstMs - to.lastMs);
  const times = ruleConstants.pace_times.value;
  return nextRate > rate / times && nextRate < rate * times;
}
