import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Offset } from '../../contract/offset.ts';
import { limits } from '../../contract/wire-limits.ts';
import type { Clock } from '../../lib/time.ts';
import type { StartTimer } from '../../lib/timer.ts';
import { type ReadStart, resolveStart, skipTo, startAgain } from '../log/read-start.ts';
import type { LogBounds, ReadFilter, ReadOutcome, StreamLog } from '../log/stream-log.ts';
import { createHoldTimer } from './hold-timer.ts';

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
  let start = await resolveStart(log, request.start, dependencies);
  const holdTimer = createHoldTimer({
    ...dependencies,
    holdMs: request.holdMs,
    idleMs: limits.idleTimeoutMs,
  });
  const parts: Uint8Array[] = [];
  let count = 0;
  let bytes = 0;
  let position = start.from;
  /** The log as it was when the last of `parts` was read. */
  let reached: { position: Offset; bounds: LogBounds } | undefined;
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
      if (position !== 'oldest') position = await skipTo(log, start.notBefore, position);
      const outcome: ReadOutcome = await log.read({
        from: position,
        limit: request.limit - count,
        bytesMax: request.bytesMax - bytes,
        oneAtLeast: count === 0,
        filter: request.filter,
      });
      // Messages of two logs never share an answer.
      if (count > 0 && reached !== undefined && outcome.bounds.epoch !== reached.bounds.epoch)
        return answer(reached.position, false, reached.bounds);
      if (outcome.kind !== 'batch') {
        if (count > 0 && position !== 'oldest') return answer(position, false, outcome.bounds);
        start = startAgain(start, outcome);
        position = start.from;
        continue;
      }
      parts.push(...outcome.parts);
      count += outcome.count;
      bytes += outcome.bytes;
      position = outcome.nextOffset;
      reached = { position, bounds: outcome.bounds };
      if (outcome.upToDate) holdTimer.exhausted(outcome.count > 0);
      if (outcome.full || holdTimer.isOver(outcome.upToDate))
        return answer(position, outcome.upToDate, outcome.bounds);
      if (outcome.upToDate) await holdTimer.during((stop) => log.waitFor(outcome.nextOffset, stop));
      else await nextTurn();
    }
  } finally {
    holdTimer.end();
  }
}
