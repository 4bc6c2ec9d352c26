import { setImmediate as nextTurn } from 'node:timers/promises';
import { StreamError } from '../contract/errors.ts';
import { limits } from '../contract/limits.ts';
import { type Offset, offsetOf } from '../contract/offset.ts';
import type { Clock, UtcMs } from '../time.ts';
import type { LogBounds, ReadFilter, ReadOutcome, StreamLog } from './log.ts';
import { createPatience } from './patience.ts';
import type { StartTimer } from './timer.ts';

/** Where a read starts, as its caller put it. */
export type ReadStart =
  | { kind: 'oldest' }
  | { kind: 'offset'; offset: Offset }
  | { kind: 'timestamp'; timestampMs: UtcMs };

export interface PollRequest {
  start: ReadStart;
  limit: number;
  bytesMax: number;
  /** How long the request may be held in all. */
  holdMs: number;
  filter: ReadFilter;
}

export interface PollAnswer {
  /** Stored messages as they are, one after another. */
  parts: Uint8Array[];
  count: number;
  nextOffset: Offset;
  upToDate: boolean;
  earliestOffset: Offset;
  epoch: string;
  clamped?: 'retention' | 'future';
}

export interface PollDependencies {
  clock: Clock;
  startTimer: StartTimer;
  retentionMs: number;
  /** Ends the wait: the caller has gone, or the service is draining. What there is by then is returned. */
  signal: AbortSignal;
}

/**
 * Reads a batch, and waits for more as the contract says: at once at the limit or the byte cap; else 1 s after the
 * backlog was exhausted or after the last message that this caller may see; and after `holdMs` in all.
 * @throws StreamError OffsetExpired or OffsetAhead where the position cannot be read and nothing has been yet
 */
export async function poll(
  log: StreamLog,
  request: PollRequest,
  dependencies: PollDependencies,
): Promise<PollAnswer> {
  const start = await resolveStart(log, request.start, dependencies);
  const patience = createPatience({ ...dependencies, holdMs: request.holdMs, idleMs: limits.idleTimeoutMs });
  const parts: Uint8Array[] = [];
  let count = 0;
  let bytes = 0;
  let position = start.from;
  const answer = (nextOffset: Offset, upToDate: boolean, bounds: LogBounds): PollAnswer => ({
    parts,
    count,
    nextOffset,
    upToDate,
    earliestOffset: bounds.earliest,
    epoch: bounds.epoch,
    ...(start.clamped && { clamped: start.clamped }),
  });

  try {
    for (;;) {
      if (position !== 'oldest' && position < start.notBefore)
        position = earlier(start.notBefore, (await log.bounds()).next);
      const outcome: ReadOutcome = await log.read({
        from: position,
        limit: request.limit - count,
        bytesMax: request.bytesMax - bytes,
        oneAtLeast: count === 0,
        filter: request.filter,
      });
      if (outcome.kind !== 'batch') {
        if (count > 0 && position !== 'oldest') return answer(position, false, outcome.bounds);
        if (outcome.kind === 'ahead' || start.kind === 'offset') throw positionError(outcome);
        // Nothing was delivered yet and no position was asked for, so there is no gap in starting again.
        position = 'oldest';
        if (start.kind === 'timestamp') start.clamped = 'retention';
        continue;
      }
      parts.push(...outcome.parts);
      count += outcome.count;
      bytes += outcome.bytes;
      position = outcome.nextOffset;
      if (outcome.upToDate) patience.exhausted(outcome.count > 0);
      if (outcome.full || patience.isOver(outcome.upToDate))
        return answer(position, outcome.upToDate, outcome.bounds);
      if (outcome.upToDate) await patience.during((stop) => log.waitFor(outcome.nextOffset, stop));
      else await nextTurn();
    }
  } finally {
    patience.end();
  }
}

interface ResolvedStart {
  kind: ReadStart['kind'];
  from: Offset | 'oldest';
  /**
   * No message before this is returned. It may lie past the tail: a clock that steps back can still bring messages
   * that are older than the timestamp that was asked for.
   */
  notBefore: Offset;
  clamped?: 'retention' | 'future';
}

async function resolveStart(
  log: StreamLog,
  start: ReadStart,
  { clock, retentionMs }: PollDependencies,
): Promise<ResolvedStart> {
  const { kind } = start;
  switch (kind) {
    case 'oldest':
      return { kind, from: 'oldest', notBefore: 0n };
    case 'offset':
      return { kind, from: start.offset, notBefore: 0n };
    case 'timestamp': {
      const nowMs = clock.now();
      if (start.timestampMs < nowMs - retentionMs)
        return { kind, from: 'oldest', notBefore: 0n, clamped: 'retention' };
      const { next } = await log.bounds();
      if (start.timestampMs > nowMs) return { kind, from: next, notBefore: 0n, clamped: 'future' };
      const notBefore = offsetOf(start.timestampMs);
      return { kind, from: earlier(notBefore, next), notBefore };
    }
    default:
      return kind satisfies never;
  }
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

function earlier(a: Offset, b: Offset): Offset {
  if (a < b) return a;
  return b;
}
