import { earlierOffset, type Offset, offsetOf } from '../../contract/offset.ts';
import type { ReadStart } from '../../contract/read-start.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import type { Clock } from '../../lib/time.ts';
import type { LogReadOutcome, StreamLog } from './stream-log.ts';

/** The outcome of a read if its position is not in the log. */
export type Unreadable = Exclude<LogReadOutcome, { kind: 'batch' }>;

/**
 * The position of one reader of a log. REST reads and subscriptions use it, for replay and for live messages.
 */
export interface ReadCursor {
  /** Where the next read begins. */
  readonly position: Offset | 'oldest';
  /** Set if the start was moved to the oldest message or to the end of the log. */
  readonly clamped: 'retention' | 'future' | undefined;
  /**
   * Reads at the position and leaves the position where it is. If the position is not in the log and
   * `mayRestart` is true, it reads from the oldest message instead.
   * @param options.mayRestart true until the caller has delivered messages, because a restart would then
   *   leave a gap
   * @throws StreamError OffsetExpired or OffsetAhead instead of a restart, if the caller had asked for an
   *   offset
   */
  read<Batch extends { kind: 'batch' }>(
    readFrom: (from: Offset | 'oldest') => Promise<Batch | Unreadable>,
    options: { mayRestart: boolean },
  ): Promise<Batch | Unreadable>;
  /** Moves the position. */
  moveTo(position: Offset): void;
  /** Resolves if a message at or after the position is stored, the signal aborts or the log closes. */
  waitForMore(signal: AbortSignal): Promise<void>;
}

interface ResolvedStart {
  position: Offset | 'oldest';
  /**
   * Messages before this offset are skipped. It may lie past the end of the log. If the clock is then set
   * back, new messages may be older than the requested timestamp.
   */
  notBefore?: Offset;
  clamped?: 'retention' | 'future';
}

export async function openCursor(
  log: Pick<StreamLog, 'bounds' | 'waitFor'>,
  start: ReadStart,
  options: { clock: Clock; retentionMs: number },
): Promise<ReadCursor> {
  const resolved = await resolveStart(log, start, options);
  const { notBefore = 0n } = resolved;
  let { position, clamped } = resolved;

  const skipOlder = async () => {
    if (position !== 'oldest' && position < notBefore)
      position = earlierOffset(notBefore, (await log.bounds()).next);
  };
  const restart = (outcome: Unreadable) => {
    // The read began at the oldest message, whose offset was then gone because the log changed. The next read
    // begins at the oldest message again.
    if (position === 'oldest') return;
    if (start.kind === 'offset' || outcome.kind === 'ahead') throw positionError(outcome);
    position = 'oldest';
    if (start.kind === 'timestamp') clamped = 'retention';
  };

  return {
    get position() {
      return position;
    },
    get clamped() {
      return clamped;
    },
    async read(readFrom, { mayRestart }) {
      for (;;) {
        await skipOlder();
        const outcome = await readFrom(position);
        if (outcome.kind === 'batch' || !mayRestart) return outcome;
        restart(outcome);
      }
    },
    moveTo(next) {
      position = next;
    },
    waitForMore: (signal) => log.waitFor(position === 'oldest' ? 0n : position, signal),
  };
}

async function resolveStart(
  log: Pick<StreamLog, 'bounds'>,
  start: ReadStart,
  { clock, retentionMs }: { clock: Clock; retentionMs: number },
): Promise<ResolvedStart> {
  switch (start.kind) {
    case 'oldest':
      return { position: 'oldest' };
    case 'newest':
      return { position: (await log.bounds()).next };
    case 'offset':
      return { position: start.offset };
    case 'timestamp': {
      const nowMs = clock.now();
      if (start.timestampMs < nowMs - retentionMs) return { position: 'oldest', clamped: 'retention' };
      const { next } = await log.bounds();
      if (start.timestampMs > nowMs) return { position: next, clamped: 'future' };
      const notBefore = offsetOf(start.timestampMs);
      return { position: earlierOffset(notBefore, next), notBefore };
    }
    default:
      return start satisfies never;
  }
}

/** The error for a position that is not in the log. It names where the log begins and ends, and its epoch. */
export function positionError(outcome: Unreadable): StreamError {
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
