import { DAY_MS, HOUR_MS } from '../lib/time.ts';
import type { RuleConstant } from './rule-constant-type.ts';

/** What happened at a break of a register (chapters 50 to 60, and the classifier). */
export const eventConstants = {
  standstill_max_ms: {
    value: 7 * DAY_MS,
    unit: 'ms',
    meaning: 'the longest standstill after which a register can catch up what it has counted',
    reason: 'somebody notices within a week that a logger repeats the last value',
  },
  spike_max_ms: {
    value: DAY_MS,
    unit: 'ms',
    meaning: 'high values that last longer are not a spike: the jump has stayed',
    reason: 'a wrong high value is corrected within a day, a replaced meter is not',
  },
  glitch_max_ms: {
    value: 400 * DAY_MS,
    unit: 'ms',
    meaning: 'low values that last longer are not a glitch: the fall has stayed',
    reason: 'a device that was lent or switched off comes back within about a year',
  },
  lone_fall_ms: {
    value: HOUR_MS,
    unit: 'ms',
    meaning: 'if the limit is learnt, a single low reading that is back within this time was wrong',
    reason: 'after a longer silence the register can have counted what it had lost',
  },
  counted_min_ms: {
    value: HOUR_MS,
    unit: 'ms',
    meaning: 'a register has counted if it grew plausibly for this long',
    reason: 'a value that grows for an hour is neither an average nor a wrong digit',
  },
  beginning_max_ms: {
    value: 2 * DAY_MS,
    unit: 'ms',
    meaning: 'a register that has not counted within this time after its first reading stands still',
    reason: 'even a solar plant under snow counts within two days, or is off',
  },
  restart_max_ms: {
    value: HOUR_MS,
    unit: 'ms',
    meaning:
      'after a longer silence a daily register can have restarted and grown to its value: over midnight, after the value of the day before, or after zeros',
    reason: 'within an hour most devices count less than the day before',
  },
  reset_share_max: {
    value: 0.5,
    unit: 'times',
    meaning: 'a register was reset if it shows at most this share of the value before',
    reason: 'a register that shows more has lost a little, and has not started again',
  },
  late_restart_share_min: {
    value: 0.5,
    unit: 'times',
    meaning:
      'a daily register that restarts late continues in the morning if the value of the evening is at least this share of the new one',
    reason:
      'a register that shows more than twice the value of the evening has more likely restarted at midnight',
  },
  modulus_end_share: {
    value: 0.1,
    unit: 'times',
    meaning:
      'a register rolls over from the top part of its modulus to the bottom part, each this share of it',
    reason: 'registers are read long before they have counted a tenth of their modulus',
  },
  pace_times: {
    value: 4,
    unit: 'times',
    meaning:
      'a rise beyond a learnt limit is real if the next rise is less than this many times faster or slower',
    reason: 'a car that charges, or the first sunny day, continues at one pace; faults do not',
  },
  catch_up_divisor: {
    value: 8,
    unit: 'times',
    meaning: 'after a standstill a register can catch up what a learnt limit allows divided by this',
    reason: 'a learnt limit is for moments, a standstill lasts for hours',
  },
  unit_factor: {
    value: 10,
    unit: 'times',
    meaning:
      'a register in another unit shows this many times the value before, or the value divided by this',
    reason: 'a decimal place is read or not',
  },
  unit_factor_kilo: {
    value: 1_000,
    unit: 'times',
    meaning: 'the same for units that are a prefix apart',
    reason: 'Wh, kWh and MWh',
  },
  unit_share_max: {
    value: 0.002,
    unit: 'times',
    meaning:
      'a change of unit is only recognized if the register grew by at most this share of its value at the same time',
    reason: 'then ten times and a thousand times are exact, and hardly any jump is so by chance',
  },
  unit_jitters_min: {
    value: 50,
    unit: 'times',
    meaning: 'a change of unit is only recognized in values of at least this many times the jitter',
    reason: 'a value of a few steps is a thousandth of many other values by chance',
  },
  forever_ms: {
    value: 253_402_300_799_000,
    unit: 'ms',
    meaning: 'the end of an event that has no end yet',
    reason: 'the last second of the year 9999',
  },
} as const satisfies Record<string, RuleConstant>;
