import type { LocalDate, UtcMs } from '../lib/time.ts';
import { flagBits as bits } from '../rollup/flag-bits.ts';
import type { TimeOfDayFormat } from './explain-words.ts';

/** The explained day. */
export interface Day {
  day: LocalDate;
  startMs: UtcMs;
  endMs: UtcMs;
  /** Writes its instants for sentences. */
  clock: TimeOfDayFormat;
}

export interface Span {
  fromMs: UtcMs;
  toMs: UtcMs;
}

/** The flag bits of lines. joined: a new index segment begins. */
export const lineFlagBits = {
  joined: bits.reset | bits.rollover | bits.rebase,
  rebase: bits.rebase,
  jitter: bits.jitter,
  carryOver: bits.carry_over,
} as const;

/**
 * The maximum number of plain rows of a day: one each 5 s. More would delay the landing thread, and nobody
 * reads them.
 */
export const EXPLAINED_ROWS_MAX = 20_000;
