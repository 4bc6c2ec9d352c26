import type { Offset } from '../contract/offset.ts';
import type { MessageColumns } from '../decode/message-columns.ts';
import type { UtcMs } from '../lib/time.ts';

/** What one read came to, whoever the server is. */
export type ReadOutcome = BatchOutcome | ErrorOutcome;

export interface BatchOutcome {
  kind: 'batch';
  /** In the order in which they came, those delivered before included. Valid until the interpreter's next answer. */
  columns: MessageColumns;
  /** Where the server says to read on; undefined where it says nothing. */
  nextOffset: Offset | undefined;
  /** Whether the server says that this was all there is; undefined where it says nothing. */
  upToDate: boolean | undefined;
  epoch: string | undefined;
  earliestOffset: Offset | undefined;
  clamped: 'retention' | 'future' | undefined;
}

export interface ErrorOutcome {
  kind: 'error';
  /** The contract's name where the server speaks it, else the server's own, else `Http<status>`. */
  code: string;
  status: number;
  message: string;
  /** Whether the same question may succeed later. */
  retryable: boolean;
  /**
   * Whether the position that was asked for is what is wrong. `maybe`: a 400 or 404 that does not say, as servers
   * answer whose errors are not documented.
   */
  aboutPosition: 'yes' | 'maybe' | 'no';
  retryAfterMs: number | undefined;
  earliestOffset: Offset | undefined;
  nextOffset: Offset | undefined;
  epoch: string | undefined;
}

/** A stretch of the stream that could not be read. */
export interface Gap {
  /** expired: retention took it. rejected: the server no longer knows the position. recreated: the log is another one.
   * lost_tail: the log no longer holds its own newest messages. */
  reason: 'expired' | 'rejected' | 'recreated' | 'lost_tail';
  /** The position that should have been read, in the numbers of the log it came from. */
  from: Offset | undefined;
  /** The first position that could be read again, in the numbers of the log it comes from. */
  to: Offset | undefined;
  /** Append times of the last message before and the first one after. */
  fromTimeMs: UtcMs | undefined;
  toTimeMs: UtcMs | undefined;
}
