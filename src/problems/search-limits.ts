import { DAY_MS } from '../lib/time.ts';

/** Bounds of the searches for problems. Each search reads summaries, and the newest messages. */
export const searchLimits = {
  /** Rows of one search. */
  rowsMax: 1_000,
  /** Names are searched in this number of the newest messages of a table. */
  messagesMax: 20_000,
  /** A misread unit or a wrong modulus is searched in this much time before the newest reading. */
  monthMs: 30 * DAY_MS,
  /** Readings of a wrong method or limit are searched in this much time before the newest reading. */
  weekMs: 7 * DAY_MS,
} as const;
