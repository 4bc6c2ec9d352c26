import type { Offset } from '../contract/offset.ts';
import type { ReadStart } from '../contract/read-start.ts';
import type { MessageColumns } from '../decode/message-columns.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
import type { UtcMs } from '../lib/time.ts';
import type { Gap } from './read-outcome.ts';

/**
 * The start of a read, as a server is asked for it. A consumer never begins at the newest message, because it
 * could not report the missing messages.
 */
export type Ask = Exclude<ReadStart, { kind: 'newest' }>;

export function sameAsk(one: Ask, other: Ask): boolean {
  if (one.kind === 'offset' && other.kind === 'offset') return one.offset === other.offset;
  if (one.kind === 'timestamp' && other.kind === 'timestamp') return one.timestampMs === other.timestampMs;
  return one.kind === other.kind;
}

/** The position of a consumer. A plain value that can be stored, compared and sent to another thread. */
export interface Position {
  ask: Ask;
  /** The epoch of the log that the offsets belong to, if the server names it. */
  epoch: string | undefined;
  /** The newest delivered message. Older ones are dropped when they arrive again. */
  lastOffset: Offset | undefined;
  lastStoreTimeMs: UtcMs | undefined;
  /** True if the server has returned the requested offset itself. */
  inclusive: boolean;
  /**
   * A gap that was found. It is reported once, with the first batch after it, so that both are stored
   * together.
   */
  gap: Gap | undefined;
  /** Attempts in a row without success: failed reads, restarts, reads without progress. */
  failures: number;
  restarts: number;
  stalls: number;
}

/** After this many attempts in a row the consumer gives up. */
export interface AttemptBounds {
  failuresMax: number;
  restartsMax: number;
  stallsMax: number;
}
export const defaultBounds: AttemptBounds = { failuresMax: 7, restartsMax: 4, stallsMax: 5 };

/** The result of one read: what to do with its messages, and the new position. */
export type Step = DeliverStep | AgainStep | RestartStep | FailStep;

export interface DeliverStep {
  kind: 'deliver';
  position: Position;
  /** The messages of the batch, see `BatchOutcome`. */
  columns: MessageColumns;
  /**
   * The messages of the batch to keep; see `keepNew`. They may be none, for example at the head of a quiet
   * stream.
   */
  keep: {
    rows: 'all' | Uint32Array;
    afterOffset: Offset | undefined;
    throughOffset: Offset | undefined;
  };
  messages: number;
  /** Messages that were left out: duplicates, and messages beyond the position, which arrive again. */
  duplicates: number;
  beyond: number;
  outOfOrder: number;
  upToDate: boolean;
  gap: Gap | undefined;
}
/** Waits, longer with each attempt, and then asks for `position.ask` again. */
export interface AgainStep {
  kind: 'again';
  position: Position;
  attempt: number;
  retryAfterMs: number | undefined;
  because: string;
}
/** Asks for `position.ask`, which has changed, without waiting. */
export interface RestartStep {
  kind: 'restart';
  position: Position;
  because: string;
}
export interface FailStep {
  kind: 'fail';
  code: string;
  message: string;
  /** True if a later start may succeed; false if the configuration must change. */
  retryable: boolean;
  /** The wait that the server asks for. */
  retryAfterMs?: number | undefined;
}

/** The error of a reader that gives up: a TransientError if a later start may succeed. */
export function giveUpError({ code, message, retryable, retryAfterMs }: FailStep): Error {
  return retryable
    ? new TransientError(code, message, { details: { retryAfterMs } })
    : new TerminalError(code, message);
}

/** The position of a consumer at a start, or at its checkpoint. */
export function startPosition(
  ask: Ask,
  known: { epoch?: string; lastOffset?: Offset; lastStoreTimeMs?: UtcMs } = {},
): Position {
  return {
    ask,
    epoch: known.epoch,
    lastOffset: known.lastOffset,
    lastStoreTimeMs: known.lastStoreTimeMs,
    inclusive: false,
    gap: undefined,
    failures: 0,
    restarts: 0,
    stalls: 0,
  };
}
