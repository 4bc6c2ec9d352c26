import { type Clock, SECOND_MS, type UtcMs } from '../../lib/time.ts';
import type { StartTimer } from '../../lib/timer.ts';
import type { StreamLog } from '../log/stream-log.ts';
import { type PollAnswer, type PollRequest, poll } from './long-poll.ts';

/** The reads of a stream service that may be held at the end of a log. */
export interface HeldReads {
  /**
   * Runs a held read; see `poll` of long-poll.ts. It returns early, with the messages so far, if the service
   * drains or the holder's token expires.
   * @throws StreamError InvalidToken within a second after the holder's token was revoked
   */
  poll(
    log: StreamLog,
    request: PollRequest,
    callerGone: AbortSignal,
    holder?: ReadHolder,
  ): Promise<PollAnswer>;
  /** Reads of a log that are held now. */
  countOf(log: StreamLog): number;
}

/** The holder of a read. */
interface ReadHolder {
  /** Nothing is read for the holder after this instant. */
  expiresAtMs: UtcMs;
  /**
   * Called regularly during a held read.
   * @returns false if the holder may now read other devices, so that the read must end with the messages so
   *   far
   * @throws StreamError if the token is not valid any more, or if the workgroup is not configured any more
   */
  recheck(): boolean;
}

interface HeldReadsOptions {
  clock: Clock;
  startTimer: StartTimer;
  retentionMs: number;
  /** Aborts when the service drains. */
  draining: AbortSignal;
}

/** A read ends within this time after its token was revoked. */
const RECHECK_EVERY_MS = SECOND_MS;

export function createHeldReads(options: HeldReadsOptions): HeldReads {
  const { clock, startTimer, retentionMs, draining } = options;
  const heldReads = new Map<StreamLog, number>();
  const countRead = (log: StreamLog, change: 1 | -1) => {
    const count = (heldReads.get(log) ?? 0) + change;
    if (count > 0) heldReads.set(log, count);
    else heldReads.delete(log);
  };

  return {
    async poll(from, request, callerGone, holder) {
      const stop = new AbortController();
      const end = () => stop.abort();
      const watch = holder && watchHolder(holder, options, end);
      draining.addEventListener('abort', end);
      callerGone.addEventListener('abort', end);
      if (draining.aborted || callerGone.aborted) end();
      countRead(from, 1);
      try {
        const answer = await poll(from, request, { clock, startTimer, retentionMs, signal: stop.signal });
        watch?.throwIfRefused();
        return answer;
      } finally {
        countRead(from, -1);
        watch?.stop();
        draining.removeEventListener('abort', end);
        callerGone.removeEventListener('abort', end);
      }
    },
    countOf: (log) => heldReads.get(log) ?? 0,
  };
}

/** Checks each second if the read may continue, and calls `end` if not. */
function watchHolder(
  { expiresAtMs, recheck }: ReadHolder,
  { clock, startTimer }: Pick<HeldReadsOptions, 'clock' | 'startTimer'>,
  end: () => void,
) {
  let refusal: { error: unknown } | undefined;
  let stopTimer = () => {};
  const check = () => {
    const leftMs = expiresAtMs - clock.now();
    if (leftMs <= 0) return end();
    try {
      if (!recheck()) return end();
    } catch (error) {
      refusal = { error };
      return end();
    }
    stopTimer = startTimer(Math.min(RECHECK_EVERY_MS, leftMs), check);
  };
  check();
  return {
    throwIfRefused() {
      if (refusal !== undefined) throw refusal.error;
      // The answer may have come between two checks, so the token is checked once more. If the token has
      // expired, its holder still gets the messages from before.
      if (expiresAtMs > clock.now()) recheck();
    },
    stop: () => stopTimer(),
  };
}
