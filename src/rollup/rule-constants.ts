import { dayConstants } from './day-constants.ts';
import { eventConstants } from './event-constants.ts';
import { limitConstants } from './limit-constants.ts';
import { rangeConstants } from './range-constants.ts';
import type { RuleConstant } from './rule-constant-type.ts';

/**
 * All constants of the energy rules. SQL reads them as macros of the same name (`interval_ms()`), TypeScript
 * as `ruleConstants.interval_ms.value`. docs/rules.md lists them with the golden case that fails if the
 * constant changes.
 */
export const ruleConstants = {
  ...rangeConstants,
  ...limitConstants,
  ...dayConstants,
  ...eventConstants,
} as const satisfies Record<string, RuleConstant>;

/**
 * Limits of work. They are not rules of energy: they bound loops, reads and memory. docs/rules.md says what
 * happens beyond them.
 */
export const workBounds = {
  /** Runs of low values that are remembered while a register can come back from them. */
  low_runs_max: 3,
  /** The return of a register must be confirmed within this number of runs. */
  confirming_max: 8,
  /**
   * This number of breaks after a change is judged again, to find the first one that the change does not
   * reach.
   */
  decided_ahead: 8,
  /**
   * Breaks are searched first within this number of days around a change. If that is not enough, all are
   * searched.
   */
  near_break_days: 30,
  /** Breaks that are judged together. Their rows take about 60 MB. */
  breaks_at_once_max: 20_000,
  /**
   * If a high-water mark has changed at the end of a scope, this number of days after it is computed again.
   */
  moved_mark_days: 2,
  /** Samples that are kept of rejected readings, for each device, source, field, reason and UTC day. */
  samples_max: 20,
  /** Characters of the text of a sample. */
  sample_text_max: 200,
} as const;
