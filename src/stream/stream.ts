import { StreamError } from '../contract/stream-errors.ts';
import { limits } from '../contract/wire-limits.ts';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import type { StreamLog } from './log/stream-log.ts';
import { type PollAnswer, type PollRequest, poll } from './rest/long-poll.ts';

export interface StreamOptions {
  /** Opens the log of a workgroup; called once for each, when it is first needed. */
  openLog(workgroupId: string): StreamLog | Promise<StreamLog>;
  retentionMs: number;
  clock: Clock;
  startTimer: StartTimer;
  logger: Logger;
}

/** The real-time service, whatever it is reached through: a log for each workgroup, held reads, an orderly end. */
export interface Stream {
  /**
   * @throws StreamError Draining once the service ends, StorageUnavailable where the log cannot be opened
   */
  logOf(workgroupId: string): Promise<StreamLog>;
  /**
   * A held read: see `poll`. Draining ends it early, with what there is, and so does the end of the holder's time.
   * @throws StreamError InvalidToken within a second after the holder's grant was withdrawn
   */
  poll(
    log: StreamLog,
    request: PollRequest,
    callerGone: AbortSignal,
    holder?: ReadHolder,
  ): Promise<PollAnswer>;
  /** Aborts when `drain` is called: what is held open should end, with a position to resume from. */
  readonly draining: AbortSignal;
  /** Takes no new work and lets held requests go. */
  drain(): void;
  /** Drains, then closes the logs. */
  close(): Promise<void>;
}

/** Who holds a read. */
export interface ReadHolder {
  /** Nothing is read for the holder from then on. */
  expiresAtMs: UtcMs;
  /** Looked at while the read is held. @throws StreamError once the grant no longer holds */
  recheck(): void;
}

const RETRY_AFTER_SECONDS = 2;
/** How soon a read ends whose token was revoked. */
const RECHECK_EVERY_MS = SECOND_MS;
/** Messages that are too old are not served anyway; this is how often their storage is given back. */
const TRIM_EVERY_MS = 15_000;

export function createStream(options: StreamOptions): Stream {
  const { clock, startTimer, retentionMs, logger } = options;
  const logs = new Map<string, Promise<StreamLog>>();
  const draining = new AbortController();
  let trimming: Promise<void> = Promise.resolve();
  let closing: Promise<void> | undefined;

  const trimAll = async () => {
    for (const [workgroup, opened] of logs) {
      try {
        await (await opened).trim();
      } catch (error) {
        logger.warn({ workgroup, problem: errorMessage(error) }, 'stream.trim-failed');
      }
    }
  };
  const scheduleTrim = () =>
    startTimer(TRIM_EVERY_MS, () => {
      trimming = trimAll().then(() => {
        if (closing === undefined) stopTimer = scheduleTrim();
      });
    });
  let stopTimer = scheduleTrim();

  const open = (workgroup: string): Promise<StreamLog> => {
    // All who ask meanwhile get the same log, or hear the same.
    const opened = (async () => options.openLog(workgroup))().catch((cause: unknown): never => {
      logs.delete(workgroup);
      logger.error({ workgroup, problem: errorMessage(cause) }, 'stream.open-failed');
      const error = new StreamError(
        'StorageUnavailable',
        'the log cannot be opened now',
        {},
        RETRY_AFTER_SECONDS,
      );
      error.cause = cause;
      throw error;
    });
    logs.set(workgroup, opened);
    return opened;
  };

  /** Looks each second whether the holder may go on, and calls back once it may not. */
  const watchHolder = ({ expiresAtMs, recheck }: ReadHolder, end: () => void) => {
    let refusal: { error: unknown } | undefined;
    let stopTimer = () => {};
    const look = () => {
      const leftMs = expiresAtMs - clock.now();
      if (leftMs <= 0) return end();
      try {
        recheck();
      } catch (error) {
        refusal = { error };
        return end();
      }
      stopTimer = startTimer(Math.min(RECHECK_EVERY_MS, leftMs), look);
    };
    look();
    return {
      throwIfRefused() {
        if (refusal !== undefined) throw refusal.error;
      },
      stop: () => stopTimer(),
    };
  };

  return {
    async logOf(workgroupId) {
      if (draining.signal.aborted)
        throw new StreamError('Draining', 'the service is shutting down', {}, RETRY_AFTER_SECONDS);
      return logs.get(workgroupId) ?? open(workgroupId);
    },
    async poll(from, request, callerGone, holder) {
      const stop = new AbortController();
      const end = () => stop.abort();
      const watch = holder && watchHolder(holder, end);
      draining.signal.addEventListener('abort', end);
      callerGone.addEventListener('abort', end);
      if (draining.signal.aborted || callerGone.aborted) end();
      try {
        const answer = await poll(from, request, { clock, startTimer, retentionMs, signal: stop.signal });
        watch?.throwIfRefused();
        return answer;
      } finally {
        watch?.stop();
        draining.signal.removeEventListener('abort', end);
        callerGone.removeEventListener('abort', end);
      }
    },
    draining: draining.signal,
    drain: () => draining.abort(),
    close() {
      closing ??= (async () => {
        draining.abort();
        stopTimer();
        await trimming;
        const opened = await Promise.allSettled(logs.values());
        for (const result of opened) if (result.status === 'fulfilled') await result.value.close();
      })();
      return closing;
    },
  };
}

/** Bytes an answer has beside its messages, at most. */
const READ_HEAD_BYTES_MAX = 512;

/** What one REST answer may hold in messages, so that its body stays within the contract's size. */
export const readMessagesBytesMax = limits.readBytesMax - READ_HEAD_BYTES_MAX;
