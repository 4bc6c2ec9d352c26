import { earlierOffset, type Offset, offsetOf } from '../../contract/offset.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import type { Clock, UtcMs } from '../../lib/time.ts';
import type { ReadOutcome, StreamLog } from './stream-log.ts';

/** Where a read starts, as its caller put it. `newest` is after everything that is stored now. */
export type ReadStart =
  | { kind: 'oldest' }
  | { kind: 'newest' }
  | { kind: 'offset'; offset: Offset }
  | { kind: 'timestamp'; timestampMs: UtcMs };

/** The same in offsets of a log. */
export interface ResolvedStart {
  kind: ReadStart['kind'];
  from: Offset | 'oldest';
  /**
   * No message before this is returned. It may lie past the tail: a clock that steps back can still bring messages
   * that are older than the timestamp that was asked for.
   */
  notBefore: Offset;
  clamped?: 'retention' | 'future';
}

export async function resolveStart(
  log: Pick<StreamLog, 'bounds'>,
  start: ReadStart,
  { clock, retentionMs }: { clock: Clock; retentionMs: number },
): Promise<ResolvedStart> {
  const { kind } = start;
  switch (kind) {
    case 'oldest':
      return { kind, from: 'oldest', notBefore: 0n };
    case 'newest':
      return { kind, from: (await log.bounds()).next, notBefore: 0n };
    case 'offset':
      return { kind, from: start.offset, notBefore: 0n };
    case 'timestamp': {
      const nowMs = clock.now();
      if (start.timestampMs < nowMs - retentionMs)
        return { kind, from: 'oldest', notBefore: 0n, clamped: 'retention' };
      const { next } = await log.bounds();
      if (start.timestampMs > nowMs) return { kind, from: next, notBefore: 0n, clamped: 'future' };
      const notBefore = offsetOf(start.timestampMs);
      return { kind, from: earlierOffset(notBefore, next), notBefore };
    }
    default:
      return kind satisfies never;
  }
}

/** Passes over what is stored before `notBefore`, as far as the log has come. */
export async function skipTo(
  log: Pick<StreamLog, 'bounds'>,
  notBefore: Offset,
  position: Offset,
): Promise<Offset> {
  if (position >= notBefore) return position;
  return earlierOffset(notBefore, (await log.bounds()).next);
}

/**
 * Starts again from the oldest message where the start cannot be read. Nothing was delivered yet, so there is no gap,
 * unless a position was asked for.
 * @throws StreamError OffsetExpired or OffsetAhead where there would be one
 */
export function startAgain(
  start: ResolvedStart,
  outcome: Exclude<ReadOutcome, { kind: 'batch' }>,
): ResolvedStart {
  if (outcome.kind === 'ahead' || start.kind === 'offset') throw positionError(outcome);
  return { ...start, from: 'oldest', ...(start.kind === 'timestamp' && { clamped: 'retention' }) };
}

/** What a caller hears whose position cannot be read: where the log begins and ends now, and which log it is. */
export function positionError(outcome: Exclude<ReadOutcome, { kind: 'batch' }>): StreamError {
  const { earliest, next, epoch } = outcome.bounds;
  switch (outcome.kind) {
    case 'expired':
      return new StreamError('OffsetExpired', 'messages at or after this offset are gone', {
        parameter: 'offset',
        earliestOffset: earliest,
        nextOffset: next,
        epoch,
      });
    case 'ahead':
      return new StreamError('OffsetAhead', 'the offset lies past the end of this log', {
        parameter: 'offset',
        nextOffset: next,
        epoch,
      });
    default:
      return outcome satisfies never;
  }
}
