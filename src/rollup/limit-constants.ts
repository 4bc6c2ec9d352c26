import { HOUR_MS } from '../lib/time.ts';
import type { RuleConstant } from './rule-constant-type.ts';

/** How the possible and the usual values of a day are learnt (chapter 45). */
export const limitConstants = {
  learnt_power_min_w: {
    value: 50_000,
    unit: 'W',
    meaning: 'the lowest limit that is learnt',
    reason: 'real energy must not be refused, such as that of a house that charges a car',
  },
  learnt_power_max_w: {
    value: 1e9,
    unit: 'W',
    meaning: 'the highest limit that is learnt, and the limit if nothing was learnt',
    reason: '1 GW, more than one source delivers',
  },
  limit_times: {
    value: 32,
    unit: 'times',
    meaning: 'a learnt limit is this many times the usual power',
    reason: 'the busiest quarter of an hour is many times the median one',
  },
  usual_power_base: {
    value: 2,
    unit: 'times',
    meaning: 'the usual power of a day is rounded up to a power of this number',
    reason: 'if the limit changed with every reading, many days would be computed again',
  },
  busy_part: {
    value: 4,
    unit: 'times',
    meaning:
      'for power and interval readings, the usual power is the power of the second busiest quarter of an hour divided by this',
    reason: 'power itself shows better than the growth of a register how much is possible',
  },
  busy_days_share: {
    value: 0.9,
    unit: 'times',
    meaning: 'the limit follows from a busy day: this share of the days has no more usual power',
    reason: 'a sunny day needs the limit of a sunny day; the busiest of four weeks can be a fault',
  },
  limit_days: {
    value: 28,
    unit: 'days',
    meaning:
      'the limits of a day follow from that day and the days before it, this many together, and from the days that end before it is closed',
    reason: 'four weeks contain every weekday four times and follow the season',
  },
  after_reset_times: {
    value: 4,
    unit: 'times',
    meaning:
      'if the limit is learnt, a daily register counts at most this many times its usual power after a restart',
    reason: 'an average over a restart also shows less than before',
  },
  informative_changes: {
    value: 20,
    unit: 'readings',
    meaning:
      'changed values that a day needs to show what is usual, and steps that it needs to show its growth',
    reason: 'the median of fewer values is chance',
  },
  informative_steps: {
    value: 8,
    unit: 'readings',
    meaning: 'steps that a day needs to show its usual step',
    reason: 'the median of fewer values is chance',
  },
  day_growth_times: {
    value: 2,
    unit: 'times',
    meaning:
      'the limit that a lifetime register teaches is at most this many times the power that produces the growth of the whole day in one interval',
    reason: 'a register that hardly grows rises only in faulty quarters, so their median is a fault',
  },
  day_end_readings: {
    value: 5,
    unit: 'readings',
    meaning:
      'the growth of a day is the difference of two medians: of this many readings at its beginning and at its end',
    reason: 'two faults in a row at either end do not change a median of five',
  },
  step_unit_ms: {
    value: 1_000,
    unit: 'ms',
    meaning: 'the usual step of a day is rounded to this, and is at least this long',
    reason: 'time stamps jitter; if the step changed with every reading, many days would be computed again',
  },
  long_step_ms: {
    value: 60_000,
    unit: 'ms',
    meaning: 'a usual step of at least this length is rounded to `long_step_unit_ms`',
    reason: 'the time stamps of slow devices jitter by seconds',
  },
  long_step_unit_ms: {
    value: 5_000,
    unit: 'ms',
    meaning: 'a long usual step is rounded to this',
    reason: 'readings about every 15 min then have a step of 15 min, and cover all of the time',
  },
  resolution_share: {
    value: 0.1,
    unit: 'times',
    meaning: 'this share of the quarters of an hour of a day has at most the resolution of the day',
    reason: 'a single value with more digits than all others proves nothing',
  },
  resolution_days_share: {
    value: 0.25,
    unit: 'times',
    meaning: 'this share of the days has at most the resolution that is used',
    reason: 'a single day with other digits is a fault; a quarter of the days are not',
  },
  resolution_digits: {
    value: 2,
    unit: 'digits',
    meaning: 'the resolution of a day is rounded to this many significant digits',
    reason: 'the jitter need not change with the last digit of the smallest growth',
  },
  jitter_resolutions: {
    value: 2,
    unit: 'times',
    meaning: 'the learnt jitter is this many times the resolution',
    reason: 'rounding can lower a register by its resolution once, averages of rounded values twice',
  },
  gap_steps: {
    value: 3,
    unit: 'times',
    meaning: 'power is integrated over at most this many usual steps',
    reason: 'one or two lost samples are bridged, an outage is not',
  },
  gap_steps_min: {
    value: 1.5,
    unit: 'times',
    meaning:
      'power is integrated over at least this many usual steps, even if that is longer than `gap_max_ms`',
    reason: 'hourly samples whose time stamps jitter are complete',
  },
  gap_max_ms: {
    value: HOUR_MS,
    unit: 'ms',
    meaning: 'the longest gap over which power is integrated',
    reason: 'after an hour nobody knows what the power was',
  },
} as const satisfies Record<string, RuleConstant>;
