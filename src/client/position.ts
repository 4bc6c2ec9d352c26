import type { Offset } from '../contract/offset.ts';
import type { UtcMs } from '../lib/time.ts';
import type { Gap } from './read-outcome.ts';

/** What to ask a server for. */
export type Ask =
  | { kind: 'oldest' }
  | { kind: 'timestamp'; timestampMs: UtcMs }
  | { kind: 'offset'; offset: Offset };

export function sameAsk(one: Ask, other: Ask): boolean {
  if (one.kind === 'offset' && other.kind === 'offset') return one.offset === other.offset;
  if (one.kind === 'timestamp' && other.kind === 'timestamp') return one.timestampMs === other.timestampMs;
  return one.kind === other.kind;
}

/** Where a consumer stands. A plain value: it may be kept, compared and sent to another thread. */
export interface Position {
  ask: Ask;
  /** The log that offsets belong to, where the server says. */
  epoch: string | undefined;
  /** The newest message that has been delivered; older ones are dropped when they come again. */
  lastOffset: Offset | undefined;
  lastStoreTimeMs: UtcMs | undefined;
  /** The server has returned the very offset that was asked for. */
  inclusive: boolean;
  /** A gap that has been met; it is reported with the first batch behind it, so that it can be stored with it, once. */
  gap: Gap | undefined;
  /** Tries in a row that came to nothing: failed reads, reads from another place, reads without progress. */
  failures: number;
  restarts: number;
  stalls: number;
}

/** How often something may go wrong in a row before the consumer gives up. */
export interface AttemptBounds {
  failuresMax: number;
  restartsMax: number;
  stallsMax: number;
}
export const defaultBounds: AttemptBounds = { failuresMax: 7, restartsMax: 4, stallsMax: 5 };

/** What follows from one read: what to do with what came, and where to stand then. */
export type Step = DeliverStep | AgainStep | RestartStep | FailStep;

export interface DeliverStep {
  kind: 'deliver';
  position: Position;
  /** What to keep of the batch; see `keepNew`. Nothing may be left, as at the head of a quiet stream. */
  keep: {
    rows: 'all' | Uint32Array;
    afterOffset: Offset | undefined;
    throughOffset: Offset | undefined;
  };
  messages: number;
  /** Messages left out: delivered before, and beyond the position (they come again). */
  duplicates: number;
  beyond: number;
  outOfOrder: number;
  upToDate: boolean;
  gap: Gap | undefined;
}
/** Wait (longer with each attempt), then ask `position.ask` again. */
export interface AgainStep {
  kind: 'again';
  position: Position;
  attempt: number;
  retryAfterMs: number | undefined;
  because: string;
}
/** Ask `position.ask`, which is another place, without waiting. */
export interface RestartStep {
  kind: 'restart';
  position: Position;
  because: string;
}
export interface FailStep {
  kind: 'fail';
  code: string;
  message: string;
  /** Whether starting over later may help, as opposed to a change of configuration. */
  retryable: boolean;
}

/** A consumer that has read nothing yet, or stands where its checkpoint says. */
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
