import type { RuleConstant } from './rule-constant-type.ts';

/** From which method a day is read, and when methods contradict each other (chapter 80). */
export const dayConstants = {
  covering_share: {
    value: 0.5,
    unit: 'times',
    meaning:
      'a method does not cover a day if another method covers more of it, by more than this share of the day',
    reason: 'half a day of missing data is worse than a method that is later in the order',
  },
  full_coverage_share: {
    value: 0.999,
    unit: 'times',
    meaning: 'a day with less coverage than this is `partial`',
    reason: 'the time between two samples at midnight is not missing data',
  },
  standing_power_w: {
    value: 100,
    unit: 'W',
    meaning:
      'a register that stands still all day is broken if another method measured more than this on average',
    reason: 'less is standby, which a coarse register does not always show',
  },
  standing_steps_min: {
    value: 2,
    unit: 'times',
    meaning:
      'a register that stands still all day is broken only if the other method also measured more than this many times the energy that the register may not show yet',
    reason: 'less can be growth within one step of the register',
  },
  contradiction_share: {
    value: 0.1,
    unit: 'times',
    meaning:
      'methods contradict each other if their energies of a day differ by more than this share of the larger energy, plus the least difference (see `contradiction_min_wh`)',
    reason: 'power that is sampled every few minutes is within some percent of the register beside it',
  },
  contradiction_share_estimated: {
    value: 0.5,
    unit: 'times',
    meaning: 'the same for a day that begins or ends at an estimate',
    reason: 'the energy on the wrong side of midnight can be a large part of the day',
  },
  contradiction_min_wh: {
    value: 200,
    unit: 'Wh',
    meaning:
      'the least difference of two energies of a day is this, plus the energy that both registers may not show yet. A smaller difference never counts',
    reason: 'a tenth of a day with hardly any energy is chance',
  },
  missed_share_times: {
    value: 2,
    unit: 'times',
    meaning:
      'if the smaller of two energies covers less time, the share by which they may differ grows by this many times the missed share of the time',
    reason: 'power is not constant, so the missed time can have had more than its even share',
  },
  substitution_share: {
    value: 0.25,
    unit: 'times',
    meaning:
      'a day on which a register had to be repaired is read from power if the two differ by more than this share of the larger one',
    reason: 'coarse samples of power are wrong by more than a tenth, but hardly ever by a quarter',
  },
  possible_times: {
    value: 1.5,
    unit: 'times',
    meaning:
      'power can bring at most the highest power of a quarter of an hour during all of the covered time. A day is read from power if the register counts more than this many times that energy',
    reason: 'an average is never above the highest value, but sampled power can miss a peak',
  },
  other_unit_times: {
    value: 100,
    unit: 'times',
    meaning: 'if a register counts this many times the energy of power, power is in another unit',
    reason: 'kW that are read as W are a thousandth; a register in another unit is mostly ten times too high',
  },
  witness_share: {
    value: 0.9,
    unit: 'times',
    meaning: 'a method is compared with the chosen one if it covers at least this share of its time',
    reason: 'time that was not measured cannot agree or contradict',
  },
} as const satisfies Record<string, RuleConstant>;
