import { REGISTER_WH_MAX } from '../config/energy-stream.ts';
import { DAY_MS, HOUR_MS, INTERVAL_MS, MINUTE_MS } from '../lib/time.ts';
import type { RuleConstant } from './rule-constant-type.ts';

/** Units of time, and the values and times that a reading can have (chapters 00, 10 and 20). */
export const rangeConstants = {
  interval_ms: {
    value: INTERVAL_MS,
    unit: 'ms',
    meaning: 'length of an interval',
    reason: "the field's load profile; the days of every time zone begin on a multiple of it",
  },
  hour_ms: { value: HOUR_MS, unit: 'ms', meaning: 'an hour', reason: 'converts between W and Wh' },
  day_ms: { value: DAY_MS, unit: 'ms', meaning: 'a UTC day', reason: 'limits are learnt by UTC day' },
  silence_ms: {
    value: 2 * HOUR_MS,
    unit: 'ms',
    meaning:
      'if two readings are further apart, the time between them is a silence, and a bound inside it is an estimate',
    reason: 'production and consumption change much within two hours',
  },
  // Inputs look for readings that come again a little further ahead: `CLOCK_MS` of find-stored.ts.
  future_ms: {
    value: 10 * MINUTE_MS,
    unit: 'ms',
    meaning: 'a reading this much later than its store time is from the future',
    reason: 'clocks of devices are some minutes fast; more is a wrong clock',
  },
  clock_set_ms: {
    value: 978_307_200_000,
    unit: 'ms',
    meaning: 'a reading before 2001-01-01T00:00Z comes from a clock that was never set',
    reason: 'such clocks start in 1970, 1980 or 2000; energy would be spread over decades',
  },
  register_max_wh: {
    value: REGISTER_WH_MAX,
    unit: 'Wh',
    meaning: 'the largest valid value of a register',
    reason: 'a thousand TWh, more than a country produces in a year; sums stay exact',
  },
  power_max_w: {
    value: 1e10,
    unit: 'W',
    meaning: 'the largest valid value of power',
    reason: '10 GW, more than one source delivers; sums stay exact',
  },
  interval_max_wh: {
    value: 5e9,
    unit: 'Wh',
    meaning: 'the largest valid energy of one interval reading',
    reason: 'the energy of 10 GW in half an hour; sums stay exact',
  },
} as const satisfies Record<string, RuleConstant>;
