import type { Offset } from '../contract/offset.ts';
import type { UtcMs } from '../time.ts';
import type { BatchOutcome, ErrorOutcome, Gap, ReadOutcome } from './outcome.ts';
import { type Survey, survey } from './survey.ts';

/** What to ask a server for. */
export type Ask =
  | { kind: 'oldest' }
  | { kind: 'timestamp'; timestampMs: UtcMs }
  | { kind: 'offset'; offset: Offset };

/** Where a consumer stands. A plain value: it may be kept, compared and sent to another thread. */
export interface Position {
  ask: Ask;
  /** The log that offsets belong to, where the server says. */
  epoch: string | undefined;
  /** The newest message that has been delivered; older ones are dropped when they come again. */
  lastOffset: Offset | undefined;
  lastStoreTimeMs: UtcMs | undefined;
  /** Delivered, but beyond `ask`: they will come again. */
  aheadOffsets: readonly Offset[];
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
  keep: { rows: 'all' | Uint32Array; afterOffset: Offset | undefined };
  messages: number;
  duplicates: number;
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

/** Re-read before the last message, so that equal and nearly equal append times are not missed. */
const RESTART_OVERLAP_MS = 1_000;
const AHEAD_OFFSETS_MAX = 1_000;
const DUPLICATES_OF_A_QUIET_STREAM_MAX = 1;

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
    aheadOffsets: [],
    inclusive: false,
    gap: undefined,
    failures: 0,
    restarts: 0,
    stalls: 0,
  };
}

/**
 * The whole of a consumer's judgement: from where it stands and what a read came to, what to do.
 * Pure, so it can run where the batch is landed. Every message is delivered once and in order as long as the server keeps
 * it; what the server has lost is reported as a gap; what it repeats is dropped; and nothing is tried for ever.
 */
export function advance(
  position: Position,
  outcome: ReadOutcome,
  bounds: AttemptBounds = defaultBounds,
): Step {
  switch (outcome.kind) {
    case 'batch':
      return afterBatch(position, outcome, bounds);
    case 'error':
      return afterError(position, outcome, bounds);
    default:
      return outcome satisfies never;
  }
}

function afterBatch(before: Position, batch: BatchOutcome, bounds: AttemptBounds): Step {
  let position = before;
  if (position.epoch !== undefined && batch.epoch !== undefined && batch.epoch !== position.epoch) {
    // The offset that was asked for meant another log, so what came may have begun too late.
    if (position.ask.kind === 'offset') {
      return restart(position, { reason: 'recreated', epoch: batch.epoch }, bounds, 'the log was recreated');
    }
    position = inNewLog(position, { reason: 'recreated', epoch: batch.epoch });
  }
  const asked = position.ask.kind === 'offset' ? position.ask.offset : undefined;
  const wentBack = asked !== undefined && batch.nextOffset !== undefined && batch.nextOffset < asked;
  // A position behind the one that was asked for is not followed: the messages themselves say how far the read got.
  const named = wentBack ? undefined : batch.nextOffset;
  const found = survey(batch.columns, {
    lastOffset: position.lastOffset,
    ahead: new Set(position.aheadOffsets),
    nextOffset: named,
    asked,
  });
  const inclusive = position.inclusive || found.hasAsked;
  const ask = nextAsk(position.ask, named, found.arrivedLast, inclusive);
  const hasMoved = !sameAsk(ask, position.ask) || found.lastOffset !== position.lastOffset;
  const isNew = found.messages > found.unplaced || (hasMoved && found.messages > 0);
  const isSuspicious =
    batch.upToDate === false ||
    // Nothing at all and zero: some servers say so at the head.
    (wentBack && batch.nextOffset !== 0n) ||
    found.unplaced > 0 ||
    (batch.upToDate === undefined &&
      asked !== undefined &&
      found.duplicates > DUPLICATES_OF_A_QUIET_STREAM_MAX);
  if (!hasMoved && !isNew && isSuspicious) return afterStall(position, batch, found, bounds);

  const gap = gapOf(position, batch, found);
  const known = new Set([...position.aheadOffsets, ...found.aheadOffsets]);
  const lastOffset = found.lastOffset;
  return {
    kind: 'deliver',
    position: {
      ask,
      epoch: batch.epoch ?? position.epoch,
      lastOffset,
      lastStoreTimeMs: latest(position.lastStoreTimeMs, found.lastStoreTimeMs),
      aheadOffsets: [...known]
        .filter((offset) => lastOffset === undefined || offset > lastOffset)
        .slice(-AHEAD_OFFSETS_MAX),
      inclusive,
      gap: undefined,
      failures: 0,
      // Only a server that accepts its own positions has recovered; else it would be restarted for ever.
      restarts: asked === undefined ? position.restarts : 0,
      stalls: 0,
    },
    keep: { rows: found.rows, afterOffset: position.lastOffset },
    messages: found.messages,
    duplicates: found.duplicates,
    outOfOrder: found.outOfOrder,
    upToDate: batch.upToDate ?? (found.messages === 0 && !hasMoved),
    gap,
  };
}

/**
 * Where to read on. A server that names no position has got to its last message. Whether it would return that message
 * again when asked for it is unknown until it has: so it is asked for, which costs a duplicate at worst, and only a
 * server known to return it is asked for the next one.
 */
function nextAsk(
  ask: Ask,
  named: Offset | undefined,
  arrivedLast: Offset | undefined,
  inclusive: boolean,
): Ask {
  if (named !== undefined) return { kind: 'offset', offset: named };
  if (arrivedLast === undefined) return ask;
  const reached = inclusive ? arrivedLast + 1n : arrivedLast;
  return ask.kind === 'offset' && reached < ask.offset ? ask : { kind: 'offset', offset: reached };
}

function afterStall(position: Position, batch: BatchOutcome, found: Survey, bounds: AttemptBounds): Step {
  const stalls = position.stalls + 1;
  if (stalls < bounds.stallsMax) {
    return {
      kind: 'again',
      position: { ...position, stalls, failures: 0 },
      attempt: stalls,
      retryAfterMs: undefined,
      because: 'the server returned nothing new, yet says that there is more',
    };
  }
  // Old offsets on messages newer than any that was delivered, or a log that ends before our position: it is another one.
  const isLater =
    found.duplicateStoreTimeMs !== undefined &&
    position.lastStoreTimeMs !== undefined &&
    found.duplicateStoreTimeMs > position.lastStoreTimeMs;
  const endsBefore =
    batch.columns.count === 0 &&
    position.ask.kind === 'offset' &&
    batch.nextOffset !== undefined &&
    batch.nextOffset < position.ask.offset;
  if (isLater || endsBefore) {
    return restart(
      position,
      { reason: 'recreated', epoch: batch.epoch },
      bounds,
      'the log ends before our position: it must be another one',
    );
  }
  return {
    kind: 'fail',
    code: 'NoProgress',
    message: `${stalls} reads of the same position brought nothing new, yet the server says that there is more`,
    retryable: true,
  };
}

function afterError(position: Position, error: ErrorOutcome, bounds: AttemptBounds): Step {
  if (error.aboutPosition !== 'no' && position.ask.kind !== 'oldest') {
    return restart(position, breakOf(position, error), bounds, `${error.code}: ${error.message}`, error);
  }
  if (!error.retryable) return { kind: 'fail', code: error.code, message: error.message, retryable: false };
  const failures = position.failures + 1;
  if (failures >= bounds.failuresMax) {
    return {
      kind: 'fail',
      code: error.code,
      message: `${failures} reads in a row failed: ${error.message}`,
      retryable: true,
    };
  }
  return {
    kind: 'again',
    position: { ...position, failures },
    attempt: failures,
    retryAfterMs: error.retryAfterMs,
    because: `${error.code}: ${error.message}`,
  };
}

/** How the stream broke off, and what that leaves of what we know. */
interface Break {
  reason: Gap['reason'];
  epoch?: string | undefined;
  to?: Offset | undefined;
  /** The log still holds everything before this. */
  tail?: Offset | undefined;
}

function breakOf(position: Position, error: ErrorOutcome): Break {
  const isOtherLog =
    position.epoch !== undefined && error.epoch !== undefined && position.epoch !== error.epoch;
  if (isOtherLog) return { reason: 'recreated', epoch: error.epoch };
  if (error.status === 416 || error.code === 'OffsetAhead') {
    const isSameLog = position.epoch !== undefined && error.epoch === position.epoch;
    return isSameLog && error.nextOffset !== undefined
      ? { reason: 'lost_tail', tail: error.nextOffset }
      : { reason: 'recreated', epoch: error.epoch };
  }
  const isExpired = error.status === 410 || error.code === 'OffsetExpired';
  return isExpired ? { reason: 'expired', to: error.earliestOffset } : { reason: 'rejected' };
}

/** Reads on from one second before the last message, or from the start where that has failed or nothing was delivered. */
function restart(
  position: Position,
  broken: Break,
  bounds: AttemptBounds,
  because: string,
  error?: ErrorOutcome,
): Step {
  const restarts = position.restarts + 1;
  if (restarts > bounds.restartsMax) {
    return {
      kind: 'fail',
      code: error?.code ?? 'TooManyRestarts',
      message: `no position is accepted, ${position.restarts} restarts were tried: ${because}`,
      retryable: error === undefined || error.aboutPosition === 'yes',
    };
  }
  const there = position.ask.kind === 'offset' ? inNewLog(position, broken) : position;
  const fromTime = position.ask.kind === 'offset' ? position.lastStoreTimeMs : undefined;
  return {
    kind: 'restart',
    position: {
      ...there,
      ask:
        fromTime === undefined
          ? { kind: 'oldest' }
          : { kind: 'timestamp', timestampMs: Math.max(0, fromTime - RESTART_OVERLAP_MS) },
      restarts,
      failures: 0,
      stalls: 0,
    },
    because,
  };
}

/** The same consumer behind a break: the gap is noted, and offsets that the log no longer vouches for are forgotten. */
function inNewLog(position: Position, { reason, epoch, to, tail }: Break): Position {
  const isOtherLog = reason === 'recreated';
  const { lastOffset } = position;
  return {
    ...position,
    epoch: isOtherLog ? epoch : position.epoch,
    lastOffset: isOtherLog
      ? undefined
      : tail !== undefined && lastOffset !== undefined && lastOffset >= tail
        ? tail - 1n
        : lastOffset,
    aheadOffsets: isOtherLog ? [] : position.aheadOffsets,
    inclusive: isOtherLog ? false : position.inclusive,
    gap: {
      reason,
      from: position.gap?.from ?? (position.ask.kind === 'offset' ? position.ask.offset : lastOffset),
      to: to ?? tail,
      fromTimeMs: position.lastStoreTimeMs,
      toTimeMs: undefined,
    },
  };
}

/** The gap to report with this batch, if there is one. */
function gapOf(position: Position, batch: BatchOutcome, found: Survey): Gap | undefined {
  const isClamped =
    batch.clamped === 'retention' &&
    position.ask.kind === 'timestamp' &&
    position.lastStoreTimeMs !== undefined;
  const gap: Gap | undefined =
    position.gap ??
    (isClamped
      ? {
          reason: 'expired',
          from: position.lastOffset,
          to: undefined,
          fromTimeMs: position.lastStoreTimeMs,
          toTimeMs: undefined,
        }
      : undefined);
  if (gap === undefined) return undefined;
  return {
    ...gap,
    to: gap.to ?? found.firstOffset ?? batch.nextOffset ?? batch.earliestOffset,
    toTimeMs: found.firstStoreTimeMs,
  };
}

function sameAsk(left: Ask, right: Ask): boolean {
  if (left.kind === 'offset') return right.kind === 'offset' && left.offset === right.offset;
  if (left.kind === 'timestamp') return right.kind === 'timestamp' && left.timestampMs === right.timestampMs;
  return left.kind === right.kind;
}

function latest(left: UtcMs | undefined, right: UtcMs | undefined): UtcMs | undefined {
  return left === undefined || (right !== undefined && right > left) ? right : left;
}
