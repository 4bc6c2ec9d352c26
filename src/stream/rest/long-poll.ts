import type { Offset } from '../../contract/offset.ts';
import type { ReadStart } from '../../contract/read-start.ts';
import { limits } from '../../contract/wire-limits.ts';
import type { Clock } from '../../lib/time.ts';
import type { StartTimer } from '../../lib/timer.ts';
import { openCursor } from '../log/read-cursor.ts';
import type { LogReadOutcome, ReadFilter, StreamLog } from '../log/stream-log.ts';
import { createHoldTimer } from './hold-timer.ts';

export interface PollRequest {
  start: ReadStart;
  limit: number;
  bytesMax: number;
  /** How long the request may be held in total. */
  holdMs: number;
  filter: ReadFilter;
  /** Who reads; see `LogReadRequest`. */
  reader?: string;
}

export interface PollAnswer {
  /** The stored bytes of messages, one after another. */
  parts: Uint8Array[];
  count: number;
  nextOffset: Offset;
  upToDate: boolean;
  earliestOffset: Offset;
  epoch: string;
  clamped?: 'retention' | 'future';
}

interface PollDependencies {
  clock: Clock;
  startTimer: StartTimer;
  retentionMs: number;
  /**
   * Ends the wait: the caller has disconnected, or the service is draining. The messages read so far are
   * returned.
   */
  signal: AbortSignal;
}

/**
 * Reads a batch, and waits for more messages as the contract says. It returns at once if the limit or the
 * byte cap is reached. Otherwise it returns when no visible message has arrived for 1 s after the caller had
 * everything, and after `holdMs` at the latest.
 * @throws StreamError OffsetExpired or OffsetAhead if the position cannot be read and no message was read
 *   before
 */
export async function poll(
  log: StreamLog,
  request: PollRequest,
  dependencies: PollDependencies,
): Promise<PollAnswer> {
  const { limit, bytesMax, holdMs, filter, reader } = request;
  const cursor = await openCursor(log, request.start, dependencies);
  const holdTimer = createHoldTimer({ ...dependencies, holdMs, idleMs: limits.idleTimeoutMs });
  const parts: Uint8Array[] = [];
  let count = 0;
  let bytes = 0;
  /** The last batch of this answer. */
  let last: (LogReadOutcome & { kind: 'batch' }) | undefined;
  const answer = ({ nextOffset, upToDate, bounds }: LogReadOutcome & { kind: 'batch' }): PollAnswer => ({
    parts,
    count,
    nextOffset,
    upToDate,
    earliestOffset: bounds.earliest,
    epoch: bounds.epoch,
    ...(cursor.clamped && { clamped: cursor.clamped }),
  });
  const readFrom = (from: Offset | 'oldest'): Promise<LogReadOutcome> =>
    log.read({
      from,
      limit: limit - count,
      bytesMax: bytesMax - bytes,
      oneAtLeast: count === 0,
      filter,
      signal: dependencies.signal,
      ...(reader !== undefined && { reader }),
    });

  try {
    for (;;) {
      const outcome = await cursor.read(readFrom, { mayRestart: count === 0 });
      // All messages of an answer come from one log.
      if (count > 0 && last !== undefined && outcome.bounds.epoch !== last.bounds.epoch)
        return answer({ ...last, upToDate: false });
      if (outcome.kind !== 'batch') return answer({ ...last!, upToDate: false, bounds: outcome.bounds });
      parts.push(...outcome.parts);
      count += outcome.count;
      bytes += outcome.bytes;
      last = outcome;
      cursor.moveTo(outcome.nextOffset);
      if (outcome.upToDate) holdTimer.noteExhausted(outcome.count > 0);
      if (outcome.full || holdTimer.isOver(outcome.upToDate)) return answer(outcome);
      if (outcome.upToDate) await holdTimer.during(cursor.waitForMore);
    }
  } finally {
    holdTimer.end();
  }
}
