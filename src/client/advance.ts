import type { Offset } from '../contract/offset.ts';
import type { UtcMs } from '../lib/time.ts';
import { type Survey, survey } from './locate-new-messages.ts';
import {
  type Ask,
  type AttemptBounds,
  defaultBounds,
  type Position,
  type Step,
  sameAsk,
} from './position.ts';
import type { BatchOutcome, ErrorOutcome, ReadOutcome } from './read-outcome.ts';
import { breakOf, gapOf, inNewLog, restart } from './restart.ts';

const DUPLICATES_OF_A_QUIET_STREAM_MAX = 1;

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
  if (position.gap && batch.clamped === 'future') {
    // The server's clock is behind the one that our last message was stamped by: its time says nothing.
    const broken = { reason: position.gap.reason, epoch: position.epoch };
    return restart(position, broken, bounds, 'the server has moved our time to its tail');
  }
  const asked = position.ask.kind === 'offset' ? position.ask.offset : undefined;
  const wentBack = asked !== undefined && batch.nextOffset !== undefined && batch.nextOffset < asked;
  // A position behind the one that was asked for is not followed: the messages themselves say how far the read got.
  const named = wentBack ? undefined : batch.nextOffset;
  const found = survey(batch.columns, {
    lastOffset: position.lastOffset,
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
  return {
    kind: 'deliver',
    position: {
      ask,
      epoch: batch.epoch ?? position.epoch,
      lastOffset: found.lastOffset,
      lastStoreTimeMs: latest(position.lastStoreTimeMs, found.lastStoreTimeMs),
      inclusive,
      gap: undefined,
      failures: 0,
      // Only a server that accepts its own positions has recovered; else it would be restarted for ever.
      restarts: asked === undefined ? position.restarts : 0,
      stalls: 0,
    },
    keep: { rows: found.rows, afterOffset: position.lastOffset, throughOffset: found.throughOffset },
    messages: found.messages,
    duplicates: found.duplicates,
    beyond: found.beyond,
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
      because: 'nothing new has come, though the stream is not at its end',
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
    message: `${stalls} reads of the same position brought nothing new, though the stream is not at its end`,
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

function latest(left: UtcMs | undefined, right: UtcMs | undefined): UtcMs | undefined {
  return left === undefined || (right !== undefined && right > left) ? right : left;
}
