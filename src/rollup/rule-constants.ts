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
  /** Runs after a possible return in which the return is confirmed. */
  confirming_max: 8,
  /** Breaks after a change that are judged again, to find one after which nothing is different. */
  decided_ahead: 8,
  /** Days around a change in which breaks are searched first. If that is not enough, all are searched. */
  near_break_days: 30,
  /** Breaks that are judged together. Their rows take about 60 MB. */
  breaks_at_once_max: 20_000,
  /** Days that are computed again after a scope at whose end a high-water mark has changed. */
  moved_mark_days: 2,
  /** Samples that are kept of rejected readings, for each device, source, field, reason and UTC day. */
  samples_max: 20,
  /** Characters of the text of such a sample. */
  sample_text_max: 200,
} as const;
