import type { Offset } from '../contract/offset.ts';
import { instantAt } from '../decode/message-columns.ts';
import { SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { LocatedMessages } from './locate-new-messages.ts';
import type { AttemptBounds, FailStep, Position, RestartStep } from './position.ts';
import type { BatchOutcome, ErrorOutcome, Gap } from './read-outcome.ts';

/** A restart reads again from this long before the last message, because store times may be equal. */
const RESTART_OVERLAP_MS = SECOND_MS;

/** The reason for a restart, and the facts that are still valid. */
interface LogInterruption {
  reason: Gap['reason'];
  epoch?: string | undefined;
  to?: Offset | undefined;
  /** The log still has all messages before this offset. */
  tail?: Offset | undefined;
}

/**
 * What has happened to the log of a position that the server refuses. A position past the end is a lost end
 * only if the epochs show the same log. Otherwise it is another log.
 */
export function interruptionOf(position: Position, error: ErrorOutcome): LogInterruption {
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

/**
 * Reads again from one second before the last message. It reads from the start if that has failed before, if
 * nothing was delivered yet, or if the log has another name.
 */
export function restartReading(
  position: Position,
  broken: LogInterruption,
  bounds: AttemptBounds,
  because: string,
  error?: ErrorOutcome,
): RestartStep | FailStep {
  const restarts = position.restarts + 1;
  if (restarts > bounds.restartsMax) {
    return {
      kind: 'fail',
      code: error?.code ?? 'TooManyRestarts',
      message: `no position is accepted, ${position.restarts} restarts were tried: ${because}`,
      retryable: error === undefined || error.aboutPosition === 'yes',
    };
  }
  const isFirst = position.ask.kind === 'offset';
  const there = isFirst ? inNewLog(position, broken) : position;
  // All messages of another log are new. Its clock does not matter.
  const isKnownNew = broken.reason === 'recreated' && broken.epoch !== undefined;
  const fromTime = isFirst && !isKnownNew ? position.lastStoreTimeMs : undefined;
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

/** The position after a break: the gap is noted, and offsets that are no longer valid are removed. */
export function inNewLog(position: Position, { reason, epoch, to, tail }: LogInterruption): Position {
  const isOtherLog = reason === 'recreated';
  const { lastOffset } = position;
  return {
    ...position,
    epoch: isOtherLog ? epoch : position.epoch,
    lastOffset: isOtherLog ? undefined : beforeTail(lastOffset, tail),
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

/** The last delivered offset, or the last one that the log still has if it has lost its end. */
function beforeTail(lastOffset: Offset | undefined, tail: Offset | undefined): Offset | undefined {
  return tail !== undefined && lastOffset !== undefined && lastOffset >= tail ? tail - 1n : lastOffset;
}

/** The gap to report with this batch; undefined if there is none. */
export function gapOf(position: Position, batch: BatchOutcome, located: LocatedMessages): Gap | undefined {
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
    to: gap.to ?? located.firstOffset ?? batch.nextOffset ?? batch.earliestOffset,
    toTimeMs: endOf(gap, batch, located),
  };
}

/**
 * A new log may still have messages from before the gap. The gap ends at the first message that is later than
 * the last delivered one.
 */
function endOf({ fromTimeMs }: Gap, { columns }: BatchOutcome, found: LocatedMessages): UtcMs | undefined {
  const { firstStoreTimeMs } = found;
  if (firstStoreTimeMs === undefined || fromTimeMs === undefined || firstStoreTimeMs > fromTimeMs)
    return firstStoreTimeMs;
  let endMs: UtcMs | undefined;
  for (let row = 0; row < columns.count; row++) {
    const storeTimeMs = instantAt(columns.storeTime, row);
    if (storeTimeMs > fromTimeMs && (endMs === undefined || storeTimeMs < endMs)) endMs = storeTimeMs;
  }
  return endMs ?? fromTimeMs;
}
