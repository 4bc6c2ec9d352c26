import { REGISTER_WH_MAX } from '../config/energy-stream.ts';

/**
 * The constants of the energy rules: each with its unit, what it is for and why it has this value. SQL reads them as macros of the same name
 * (`interval_ms()`), TypeScript as `ruleConstants.interval_ms.value`. docs/rules.md lists them, with the golden case that holds each.
 */
export interface RuleConstant {
  value: number;
  unit: 'ms' | 'W' | 'Wh' | 'times' | 'days' | 'readings' | 'digits';
  meaning: string;
  reason: string;
}

export const ruleConstants = {
  interval_ms: {
    value: 900_000,
    unit: 'ms',
    meaning: 'length of an interval',
    reason: "the field's load profile; the days of every zone begin on a multiple of it",
  },
  hour_ms: { value: 3_600_000, unit: 'ms', meaning: 'an hour', reason: 'W and Wh are converted by it' },
  day_ms: { value: 86_400_000, unit: 'ms', meaning: 'a UTC day', reason: 'limits are learnt by UTC day' },
  wide_ms: {
    value: 7_200_000,
    unit: 'ms',
    meaning: 'two readings further apart make a bound between them an estimate',
    reason: 'production and consumption change much within two hours',
  },
  future_ms: {
    value: 600_000,
    unit: 'ms',
    meaning: 'a reading this much ahead of its store time is from the future',
    reason: 'clocks of devices run some minutes ahead; more is a wrong clock',
  },
  clock_set_ms: {
    value: 978_307_200_000,
    unit: 'ms',
    meaning: 'a reading before 2001-01-01T00:00Z is of a clock that was never set',
    reason: 'such clocks start in 1970, 1980 or 2000; energy would be spread over decades',
  },
  register_max_wh: {
    value: REGISTER_WH_MAX,
    unit: 'Wh',
    meaning: 'the largest value of a register',
    reason: 'a thousand TWh, more than a country produces in a year; sums stay exact',
  },
  power_max_w: {
    value: 1e10,
    unit: 'W',
    meaning: 'the largest value of power',
    reason: '10 GW, more than one source delivers; sums stay exact',
  },
  interval_max_wh: {
    value: 5e9,
    unit: 'Wh',
    meaning: 'the largest energy of one interval reading',
    reason: 'what 10 GW bring in half an hour; sums stay exact',
  },
  learnt_power_min_w: {
    value: 50_000,
    unit: 'W',
    meaning: 'the least limit that is learnt',
    reason: 'energy that was real must not be refused: a house that charges a car',
  },
  learnt_power_max_w: {
    value: 1e9,
    unit: 'W',
    meaning: 'the highest limit that is learnt, and the limit where nothing was learnt',
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
    reason: 'a limit that moved with every reading would have many days computed again',
  },
  busy_part: {
    value: 4,
    unit: 'times',
    meaning:
      'the usual power of power and of interval readings is this part of what the second busiest quarter of an hour needs',
    reason: 'power itself says more of what is possible than the growth of a register does',
  },
  busy_days_share: {
    value: 0.9,
    unit: 'times',
    meaning: 'the limit follows from a busy day: this share of the days has no more usual power',
    reason: 'the limit of a sunny day is needed on it; the busiest of four weeks may be a fault',
  },
  limit_days: {
    value: 28,
    unit: 'days',
    meaning:
      'the limits of a day follow from that day and the days before it, so many in all, and from those that come before it is closed',
    reason: 'four weeks hold every weekday four times and follow the season',
  },
  after_reset_times: {
    value: 4,
    unit: 'times',
    meaning:
      'after a restart a daily register counts at most this many times the usual power, by what is learnt',
    reason: 'an average over a restart shows less than before too',
  },
  informative_changes: {
    value: 20,
    unit: 'readings',
    meaning:
      'changes of the value that a day needs to say what is usual, and steps that it needs to say by how much it has grown',
    reason: 'the median of fewer is chance',
  },
  informative_steps: {
    value: 8,
    unit: 'readings',
    meaning: 'steps that a day needs to say how long its usual step is',
    reason: 'the median of fewer is chance',
  },
  day_growth_times: {
    value: 2,
    unit: 'times',
    meaning:
      'the limit that a lifetime register teaches is at most this many times the power that brings all growth of the day within one interval',
    reason: 'a register that hardly grows rises in faulty quarters only, so their median is a fault',
  },
  day_end_readings: {
    value: 5,
    unit: 'readings',
    meaning:
      'what a day has grown follows from the medians of so many readings at its beginning and at its end',
    reason: 'two faults in a row at either end say nothing then',
  },
  step_unit_ms: {
    value: 1_000,
    unit: 'ms',
    meaning: 'the usual step of a day is rounded to this, and is this long at least',
    reason:
      'time stamps jitter, and a step that moved with every reading would have many days computed again',
  },
  long_step_ms: {
    value: 60_000,
    unit: 'ms',
    meaning: 'a usual step from this length on is rounded to `long_step_unit_ms`',
    reason: 'stamps of slow devices jitter by seconds',
  },
  long_step_unit_ms: {
    value: 5_000,
    unit: 'ms',
    meaning: 'a long usual step is rounded to this',
    reason: 'what is meant to be 15 min is 15 min then, and its readings cover all of the time',
  },
  resolution_share: {
    value: 0.1,
    unit: 'times',
    meaning: 'this share of the quarters of an hour of a day has no more than its resolution',
    reason: 'a single value with more digits than all others says nothing of the resolution',
  },
  resolution_days_share: {
    value: 0.25,
    unit: 'times',
    meaning: 'this share of the days has no more than the resolution that holds for them',
    reason: 'a single day of other digits is a fault; a quarter of the days are not',
  },
  resolution_digits: {
    value: 2,
    unit: 'digits',
    meaning: 'the resolution of a day is rounded to so many significant digits',
    reason: 'the jitter need not move with the last digit of the smallest growth',
  },
  jitter_resolutions: {
    value: 2,
    unit: 'times',
    meaning: 'the learnt jitter is this many times the resolution',
    reason: 'rounding makes a register fall by one step, averages of it by two',
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
    meaning: 'power is integrated over at least this many usual steps, also beyond the longest gap',
    reason: 'hourly samples whose stamps jitter are complete',
  },
  gap_max_ms: {
    value: 3_600_000,
    unit: 'ms',
    meaning: 'the longest gap of power that is integrated',
    reason: 'after an hour nobody knows what the power was',
  },
  standing_power_w: {
    value: 100,
    unit: 'W',
    meaning: 'a register that stands still all day is broken where another method measured more on average',
    reason: 'less is standby that a coarse register may not show',
  },
  contradiction_share: {
    value: 0.1,
    unit: 'times',
    meaning:
      'methods whose energies of a day are further apart than this share of the larger one contradict each other',
    reason: 'power that is sampled every few minutes is within some percent of the register beside it',
  },
  contradiction_min_wh: {
    value: 200,
    unit: 'Wh',
    meaning: 'energies of a day that are no further apart than this do not contradict each other',
    reason: 'a tenth of a day with hardly any energy is chance',
  },
  substitution_share: {
    value: 0.25,
    unit: 'times',
    meaning:
      'a day on which a register had to be repaired is read from power where both are further apart than this share of the larger one',
    reason: 'coarse samples of power are off by more than a tenth, hardly ever by a quarter',
  },
  possible_times: {
    value: 1.5,
    unit: 'times',
    meaning:
      'a day is read from power where a register counts more than so many times what the highest power of a quarter of an hour brings in the time it covers',
    reason: 'no average is above the highest value; power that is sampled may miss a peak',
  },
  other_unit_times: {
    value: 100,
    unit: 'times',
    meaning: 'a register of so many times the energy of power says that power is in another unit',
    reason:
      'kW that are taken for W are a thousandth; a register in another unit is mostly ten times too high',
  },
  witness_share: {
    value: 0.9,
    unit: 'times',
    meaning: 'a method speaks of a day where it covers this share of what the chosen one covers',
    reason: 'what was not measured cannot agree or contradict',
  },
  standstill_max_ms: {
    value: 604_800_000,
    unit: 'ms',
    meaning: 'the longest standstill after which a register may catch up what it has counted',
    reason: 'a logger that repeats the last value is seen within a week',
  },
  spike_max_ms: {
    value: 86_400_000,
    unit: 'ms',
    meaning: 'an excursion upwards that lasts longer is no spike: the jump has stayed',
    reason: 'a wrong high value is corrected within a day, a replaced meter is not',
  },
  glitch_max_ms: {
    value: 34_560_000_000,
    unit: 'ms',
    meaning: 'an excursion downwards that lasts longer is no glitch: the fall has stayed',
    reason: 'a device that was lent out, or switched off, comes back within a year or so',
  },
  lone_fall_ms: {
    value: 3_600_000,
    unit: 'ms',
    meaning: 'by a learnt limit a single low reading that is back within this time was wrong',
    reason: 'after a longer silence a register may have counted what it lost before',
  },
  counted_min_ms: {
    value: 3_600_000,
    unit: 'ms',
    meaning: 'a register has counted where it grew plausibly for so long',
    reason: 'what grows for an hour is no average and no wrong digit',
  },
  beginning_max_ms: {
    value: 172_800_000,
    unit: 'ms',
    meaning: 'a register that has not counted so long after its first reading stands still',
    reason: 'even a solar plant under snow counts within two days, or is off',
  },
  restart_max_ms: {
    value: 3_600_000,
    unit: 'ms',
    meaning:
      'after a longer silence over midnight, while it shows the day before, or behind zeros a register that restarts every day may have restarted and grown what it shows',
    reason: 'most devices count no more than a day brings within the hour',
  },
  reset_share_max: {
    value: 0.5,
    unit: 'times',
    meaning:
      'a register was reset where it shows no more than this share of what it showed before; one that restarts late goes on in the morning from no less than this share of what it shows',
    reason: 'one that shows more has lost a little, and has not started again',
  },
  modulus_end_share: {
    value: 0.1,
    unit: 'times',
    meaning:
      'a register rolls over from the uppermost to the lowest part of its modulus, each this share of it',
    reason: 'registers are read long before they have counted a tenth of what they can show',
  },
  pace_times: {
    value: 4,
    unit: 'times',
    meaning:
      'a rise beyond a learnt limit is believed where the next one is less than this many times as fast or as slow',
    reason: 'a car that charges, or the first sunny day, goes on at one pace; faults do not',
  },
  catch_up_part: {
    value: 8,
    unit: 'times',
    meaning: 'what a register catches up after a standstill may be this part of what a learnt limit allows',
    reason: 'a learnt limit is for moments, a standstill lasts for hours',
  },
  unit_factor: {
    value: 10,
    unit: 'times',
    meaning: 'a register in another unit shows this many times what it showed, or one of so many parts',
    reason: 'a decimal place is read, or not',
  },
  unit_factor_kilo: {
    value: 1_000,
    unit: 'times',
    meaning: 'the same of units that are a prefix apart',
    reason: 'Wh, kWh and MWh',
  },
  unit_share_max: {
    value: 0.002,
    unit: 'times',
    meaning:
      'a change of unit shows where a register has grown by no more than this share of its value at once',
    reason: 'ten times and a thousand times are exact then, and hardly any jump is so by chance',
  },
  unit_jitters_min: {
    value: 50,
    unit: 'times',
    meaning: 'a change of unit shows in values of at least so many times the jitter',
    reason: 'a value of a few steps is a thousandth of many others by chance',
  },
  forever_ms: {
    value: 253_402_300_799_000,
    unit: 'ms',
    meaning: 'the end of what has no end yet',
    reason: 'the last second of the year 9999',
  },
} as const satisfies Record<string, RuleConstant>;

/**
 * Bounds on work: no rules of energy, but ends of loops that would otherwise have none. docs/rules.md says what is beyond them.
 */
export const workBounds = {
  /** Runs of low values, each lower than the one before, that are kept in mind while it is open whether a register comes back. */
  low_runs_max: 3,
  /** Runs after one that seems to come back, in which what confirms it is looked for. */
  confirming_max: 8,
  /** Breaks at which a register is believed, that are judged again after a change, to find one from which on nothing is different. */
  decided_ahead: 8,
  /** Samples that are kept of what is rejected, for each device, source, field, reason and day: enough to see what a device sends. */
  samples_max: 20,
} as const;

/** Two values that are no further apart (Wh) are the same: sums of floating-point numbers are off by less. No rule, and no bound either. */
const FLOAT_TOLERANCE_WH = 1e-6;

/** The bits of flags. The two wide ones mark bounds of intervals and never reach a day. */
export const flagBits = {
  estimated: 1,
  reset: 2,
  rollover: 4,
  rebase: 8,
  jitter: 16,
  spike: 32,
  gap: 64,
  partial: 128,
  incomplete: 256,
  carry_over: 512,
  glitch: 1024,
  contradicted: 2048,
  substituted: 4096,
  corrected: 8192,
  unavailable: 65_536,
  wide_start: 16_384,
  wide_end: 32_768,
} as const;

/** The flags of intervals that their day has as well. A wide bound is one of the day only where the day begins or ends. */
const DAY_FLAGS = flagBits.contradicted - 1 - flagBits.estimated;

/** The macros through which SQL reads the constants and the flags. */
export function constantMacros(): string {
  const flags = Object.entries(flagBits).map(([name, bit]) => `WHEN '${name}' THEN ${bit}`);
  const macros = [
    ...constantLiterals().map(([name, literal]) => [`${name}()`, literal]),
    ['flag(name)', `CASE name ${flags.join(' ')} END`],
  ];
  return macros.map(([head, body]) => `CREATE OR REPLACE TEMP MACRO ${head} AS ${body};`).join('\n');
}

function constantLiterals(): Array<[name: string, literal: string]> {
  return [
    ...Object.entries(ruleConstants).map(([name, { value, unit }]): [string, string] => [
      name,
      unit === 'ms' ? `${value}::BIGINT` : String(value),
    ]),
    ['day_flags', String(DAY_FLAGS)],
    ['samples_max', String(workBounds.samples_max)],
    ['float_tolerance_wh', `${FLOAT_TOLERANCE_WH}::DOUBLE`],
  ];
}

/** A statement with the constants and the flags in the place of their macros: planning a macro takes longer than reading a number. */
export function withConstants(sql: string): string {
  const literals = new Map(constantLiterals());
  return sql
    .replace(/\b(\w+)\(\)/g, (call, name: string) => {
      const literal = literals.get(name);
      return literal === undefined ? call : `(${literal})`;
    })
    .replace(/\bflag\('(\w+)'\)/g, (call, name: string) =>
      String(flagBits[name as keyof typeof flagBits] ?? call),
    );
}
