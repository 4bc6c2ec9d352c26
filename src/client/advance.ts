import type { Offset } from '../contract/offset.ts';
import type { UtcMs } from '../lib/time.ts';
import { type LocatedMessages, locateNewMessages } from './locate-new-messages.ts';
import {
  type Ask,
  type AttemptBounds,
  defaultBounds,
  type Position,
  type Step,
  sameAsk,
} from './position.ts';
import type { BatchOutcome, ErrorOutcome, ReadOutcome } from './read-outcome.ts';
import { gapOf, inNewLog, interruptionOf, restartReading } from './restart-reading.ts';

const DUPLICATES_OF_A_QUIET_STREAM_MAX = 1;

/**
 * Decides the next step of a consumer after a read. It is a pure function, so it can run in the thread that
 * lands the batch. Each message is delivered once and in order while the server has it. Messages that the
 * server has lost are reported as a gap. Repeated messages are dropped. The number of attempts is bounded.
 */
export function advancePosition(
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
    // The requested offset was of another log, so the answer may have begun too late.
    if (position.ask.kind === 'offset') {
      return restartReading(
        position,
        { reason: 'recreated', epoch: batch.epoch },
        bounds,
        'the log was recreated',
      );
    }
    position = inNewLog(position, { reason: 'recreated', epoch: batch.epoch });
  }
  if (position.gap && batch.clamped === 'future') {
    // The server's clock is behind the time of our last message, so its clamped answer proves nothing.
    const broken = { reason: position.gap.reason, epoch: position.epoch };
    return restartReading(position, broken, bounds, 'the server has moved our time to the end of its log');
  }
  const askedOffset = position.ask.kind === 'offset' ? position.ask.offset : undefined;
  const wentBack =
    askedOffset !== undefined && batch.nextOffset !== undefined && batch.nextOffset < askedOffset;
  // A next position before the requested one is not used. The messages show how far the read got.
  const named = wentBack ? undefined : batch.nextOffset;
  const located = locateNewMessages(batch.columns, {
    lastOffset: position.lastOffset,
    nextOffset: named,
    asked: askedOffset,
  });
  const inclusive = position.inclusive || located.hasAsked;
  const ask = nextAsk(position.ask, named, located.arrivedLast, inclusive);
  const hasMoved = !sameAsk(ask, position.ask) || located.lastOffset !== position.lastOffset;
  const isNew = located.messages > located.unplaced;
  const isSuspicious =
    batch.upToDate === false ||
    // Some servers answer 0 and no messages at the head of the stream.
    (wentBack && batch.nextOffset !== 0n) ||
    located.unplaced > 0 ||
    (batch.upToDate === undefined &&
      askedOffset !== undefined &&
      located.duplicates > DUPLICATES_OF_A_QUIET_STREAM_MAX);
  if (!hasMoved && !isNew && isSuspicious) return afterStall(position, batch, located, bounds);

  const gap = gapOf(position, batch, located);
  return {
    kind: 'deliver',
    position: {
      ask,
      epoch: batch.epoch ?? position.epoch,
      lastOffset: located.lastOffset,
      lastStoreTimeMs: latest(position.lastStoreTimeMs, located.lastStoreTimeMs),
      inclusive,
      gap: undefined,
      failures: 0,
      // The server has recovered only if it accepts its own positions. Otherwise the reader would restart for
      // ever.
      restarts: askedOffset === undefined ? position.restarts : 0,
      stalls: 0,
    },
    columns: batch.columns,
    keep: { rows: located.rows, afterOffset: position.lastOffset, throughOffset: located.throughOffset },
    messages: located.messages,
    duplicates: located.duplicates,
    beyond: located.beyond,
    outOfOrder: located.outOfOrder,
    upToDate: batch.upToDate ?? (located.messages === 0 && !hasMoved),
    gap,
  };
}

/**
 * The next position to ask for. If the server names none, it is the last message: asking for it again shows
 * if the server includes the requested offset. That costs one duplicate at most. Only if the server is known
 * to include it, the offset after it is asked for.
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

function afterStall(
  position: Position,
  batch: BatchOutcome,
  found: LocatedMessages,
  bounds: AttemptBounds,
): Step {
  const stalls = position.stalls + 1;
  if (stalls < bounds.stallsMax) {
    return {
      kind: 'again',
      position: { ...position, stalls, failures: 0 },
      attempt: stalls,
      retryAfterMs: undefined,
      because: 'the read returned nothing new, but the stream has more messages',
    };
  }
  // Old offsets on new messages, or an end before our position, show that it is another log.
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
    return restartReading(
      position,
      { reason: 'recreated', epoch: batch.epoch },
      bounds,
      'the log ends before our position: it must be another one',
    );
  }
  return {
    kind: 'fail',
    code: 'NoProgress',
    message: `${stalls} reads of the same position returned nothing new, but the stream has more messages`,
    retryable: true,
  };
}

function afterError(position: Position, error: ErrorOutcome, bounds: AttemptBounds): Step {
  if (error.aboutPosition !== 'no' && position.ask.kind !== 'oldest') {
    return restartReading(
      position,
      interruptionOf(position, error),
      bounds,
      `${error.code}: ${error.message}`,
      error,
    );
  }
  if (!error.retryable) return { kind: 'fail', code: error.code, message: error.message, retryable: false };
  const failures = position.failures + 1;
  if (failures >= bounds.failuresMax) {
    return {
      kind: 'fail',
      code: error.code,
      message: `${failures} reads in a row failed: ${error.message}`,
      retryable: true,
      retryAfterMs: error.retryAfterMs,
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
