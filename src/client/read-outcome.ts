import type { Offset } from '../contract/offset.ts';
import type { MessageColumns } from '../decode/message-columns.ts';
import type { UtcMs } from '../lib/time.ts';

/** The outcome of one read, of any server. */
export type ReadOutcome = BatchOutcome | ErrorOutcome;

export interface BatchOutcome {
  kind: 'batch';
  /**
   * The messages in the order of the answer, duplicates included. Valid until the interpreter's next answer.
   */
  columns: MessageColumns;
  /** The server's next position; undefined if it names none. */
  nextOffset: Offset | undefined;
  /** True if the server states that there is no more; undefined if it does not state it. */
  upToDate: boolean | undefined;
  epoch: string | undefined;
  earliestOffset: Offset | undefined;
  clamped: 'retention' | 'future' | undefined;
}

export interface ErrorOutcome {
  kind: 'error';
  /** The contract's code if the server uses it, otherwise the server's own code or `Http<status>`. */
  code: string;
  status: number;
  message: string;
  /** True if the same request may succeed later. */
  retryable: boolean;
  /** Tells if the requested position is wrong. `maybe`: a 400 or 404 without an explanation. */
  aboutPosition: 'yes' | 'maybe' | 'no';
  retryAfterMs: number | undefined;
  earliestOffset: Offset | undefined;
  nextOffset: Offset | undefined;
  epoch: string | undefined;
}

/** A part of the stream that could not be read. */
export interface Gap {
  /**
   * expired: older than the retention. rejected: the server does not know the position any more. recreated:
   * it is another log. lost_tail: the log has lost its newest messages.
   */
  reason: 'expired' | 'rejected' | 'recreated' | 'lost_tail';
  /** The position that should have been read, an offset of the old log. */
  from: Offset | undefined;
  /** The first position that could be read again, an offset of the new log. */
  to: Offset | undefined;
  /** Store times of the last message before the gap and of the first one after it. */
  fromTimeMs: UtcMs | undefined;
  toTimeMs: UtcMs | undefined;
}
