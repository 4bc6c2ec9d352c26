import { REGISTER_WH_MAX } from '../energy-stream.ts';

/**
 * The constants of the energy rules: each with its unit, what it is for and why it has this value. SQL reads them as macros of the same name
 * (`interval_ms()`), TypeScript as `rule.interval_ms`. docs/rules.md lists them, with the golden case that holds each.
 */
export interface RuleConstant {
  value: number;
  unit: 'ms' | 'W' | 'Wh' | 'times' | 'days' | 'readings';
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
    meaning: 'the highest limit that is learnt, and the limit where nothing is known',
    reason: '1 GW, more than one source delivers',
  },
  limit_times: {
    value: 32,
    unit: 'times',
    meaning: 'a learnt limit is this many times the usual power',
    reason: 'the busiest quarter of an hour is many times the median one',
  },
  limit_days: {
    value: 28,
    unit: 'days',
    meaning: 'the limits of a day follow from so many days, the day itself the last',
    reason: 'four weeks hold every weekday four times and follow the season',
  },
  recount_times: {
    value: 4,
    unit: 'times',
    meaning:
      'after a restart a daily register counts at most this many times the usual power, by what is learnt',
    reason: 'an average over a restart shows less than before too',
  },
  informative_changes: {
    value: 20,
    unit: 'readings',
    meaning: 'changes that a day needs to say what is usual',
    reason: 'the median of fewer is chance',
  },
  informative_steps: {
    value: 8,
    unit: 'readings',
    meaning: 'pairs that a day needs to say how far its readings are apart',
    reason: 'the median of fewer is chance',
  },
  jitter_steps: {
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
    meaning: 'the longest excursion downwards that counts elsewhere meanwhile',
    reason: 'a device that was lent out comes back within a year; zeros may last longer',
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
      'after a longer silence behind zeros a register that restarts every day may have grown what it shows',
    reason: 'most devices count no more than a day brings within the hour',
  },
  catch_up_part: {
    value: 8,
    unit: 'times',
    meaning: 'what a register catches up after a standstill may be this part of what a learnt limit allows',
    reason: 'a learnt limit is for moments, a standstill lasts for hours',
  },
  unit_share_max: {
    value: 0.002,
    unit: 'times',
    meaning:
      'a change of unit shows where a register has grown by no more than this share of its value at once',
    reason: 'ten times and a thousand times are exact then, and hardly any jump is so by chance',
  },
  unit_steps_min: {
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

/** Samples that are kept of what is rejected, for each device, source, field, reason and day: enough to see what a device sends. */
const SAMPLES_MAX = 20;

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
    ['samples_max', String(SAMPLES_MAX)],
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
