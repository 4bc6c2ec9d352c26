import type { LocalDate, UtcMs } from '../time.ts';
import type { Clock } from './words.ts';

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

/** The bits of lines, as the roll-up sets them; see table quality_flag. joined: the index begins anew (reset, rollover, rebase). */
export const flagBits = { joined: 2 | 4 | 8, rebase: 8, jitter: 16, carryOver: 512 } as const;

/** The plain rows of a day that are told at most: one each 5 s. More would hold the thread up that lands, for nobody to read. */
export const ROWS_MAX = 20_000;
