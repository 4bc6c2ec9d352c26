import type { LocalDate, UtcMs } from '../lib/time.ts';
import { flagBits as bits } from '../rollup/flag-bits.ts';
import type { Clock } from './explain-words.ts';

/** The day that is explained. */
export interface Day {
  day: LocalDate;
  startMs: UtcMs;
  endMs: UtcMs;
  /** How its instants stand in sentences. */
  clock: Clock;
}

export interface Span {
  fromMs: UtcMs;
  toMs: UtcMs;
}

/** The bits of lines, as the roll-up sets them. joined: the index begins anew. */
export const flagBits = {
  joined: bits.reset | bits.rollover | bits.rebase,
  rebase: bits.rebase,
  jitter: bits.jitter,
  carryOver: bits.carry_over,
} as const;

/** The plain rows of a day that are told at most: one each 5 s. More would hold the thread up that lands, for nobody to read. */
export const ROWS_MAX = 20_000;
