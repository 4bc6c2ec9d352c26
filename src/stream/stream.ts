import { setImmediate as nextTurn } from 'node:timers/promises';
import { offsetMs } from '../contract/offset.ts';
import { StreamError, unavailable } from '../contract/stream-errors.ts';
import { errorMessage, TerminalError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { repeat } from '../lib/repeat.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import { createIdleClosingLog, type IdleClosingLog } from './log/idle-closing-log.ts';
import type { LogHead, StreamLog } from './log/stream-log.ts';
import { type PollAnswer, type PollRequest, poll } from './rest/long-poll.ts';

export interface StreamOptions {
  /** Opens the log of a workgroup. It is called at the first use, and again after an idle log was closed. */
  openLog(workgroupId: string): StreamLog | Promise<StreamLog>;
  /**
   * Reads the end of a log that is not open; undefined if there is no log yet. Without it, idle logs stay
   * open.
   */
  readHead?: ((workgroupId: string) => Promise<LogHead | undefined>) | undefined;
  /** True if other processes append to the logs too. */
  isShared?: boolean;
  /** An idle log is closed after this time. */
  closeIdleAfterMs?: number;
  retentionMs: number;
  clock: Clock;
  startTimer: StartTimer;
  logger: Logger;
}

/** The stream service without its transports: a log for each workgroup, held reads, and an orderly end. */
export interface Stream {
  /** @throws StreamError Draining during a shutdown, StorageUnavailable if the log cannot be opened */
  logOf(workgroupId: string): Promise<StreamLog>;
  /** The log of a workgroup, which is opened at its first use. It returns the errors of the opening then. */
  lazyLogOf(workgroupId: string): IdleClosingLog;
  /** The end of the log of a workgroup; undefined if there is no log yet. It opens no log. */
  headOf(workgroupId: string): Promise<LogHead | undefined>;
  /** Calls back after each append of this process. */
  onAppended(listener: (workgroupId: string) => void): void;
  /**
   * Runs a held read; see `poll`. It returns early, with the messages so far, if the service drains or the
   * holder's token expires.
   * @throws StreamError InvalidToken within a second after the holder's token was revoked
   */
  poll(
    log: StreamLog,
    request: PollRequest,
    callerGone: AbortSignal,
    holder?: ReadHolder,
  ): Promise<PollAnswer>;
  /** What this process knows about the logs that it has used. It opens no log. */
  counts(): LogCounts[];
  /** Aborts when `drain` is called. Open requests should then end and return a position to resume from. */
  readonly draining: AbortSignal;
  /** Refuses new work and ends held requests. */
  drain(): void;
  /** Closes the log of a workgroup that is not configured any more. The next `logOf` opens it again. */
  closeLog(workgroupId: string): Promise<void>;
  /** Drains, then closes the logs. */
  close(): Promise<void>;
}

export interface LogCounts {
  workgroupId: string;
  /** Messages that this process has appended. */
  messagesAppended: number;
  /** Reads that are held now. */
  heldReads: number;
  /** When the oldest message was stored. Undefined if there is none, or if it is not known yet. */
  oldestMs: UtcMs | undefined;
}

/** The holder of a read. */
export interface ReadHolder {
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

const RETRY_AFTER_SECONDS = 2;
/** A read ends within this time after its token was revoked. */
const RECHECK_EVERY_MS = SECOND_MS;
/** The storage of old messages is freed this often. They are not served in the meantime. */
const TRIM_EVERY_MS = 15 * SECOND_MS;
const CLOSE_IDLE_AFTER_MS = MINUTE_MS;

export function createStream(options: StreamOptions): Stream {
  const { clock, startTimer, retentionMs, logger } = options;
  const closeIdleAfterMs = options.closeIdleAfterMs ?? CLOSE_IDLE_AFTER_MS;
  const logs = new Map<string, IdleClosingLog>();
  const listeners: Array<(workgroupId: string) => void> = [];
  /** Logs that are being closed. The same log must not be open twice. */
  const closings = new Map<string, Promise<void>>();
  const heldReads = new Map<StreamLog, number>();
  const draining = new AbortController();
  let trimming: Promise<void> = Promise.resolve();
  let closing: Promise<void> | undefined;

  const lazyLogOf = (workgroupId: string): IdleClosingLog => {
    let log = logs.get(workgroupId);
    if (log === undefined) {
      log = createIdleClosingLog({
        open: () => open(workgroupId),
        onAppended: () => {
          for (const listener of listeners) listener(workgroupId);
        },
      });
      logs.set(workgroupId, log);
    }
    return log;
  };

  const open = async (workgroup: string): Promise<StreamLog> => {
    try {
      await closings.get(workgroup);
      return await options.openLog(workgroup);
    } catch (cause) {
      logger.error({ workgroup, error: errorMessage(cause) }, 'stream.open-failed');
      const message =
        cause instanceof TerminalError
          ? `the log cannot be opened: ${cause.message}`
          : 'the log cannot be opened now';
      throw unavailable(message, RETRY_AFTER_SECONDS, cause);
    }
  };

  /** A closed log is opened to be trimmed once, when its newest message is too old. */
  const isTrimmable = ({ isOpen, lastHead }: IdleClosingLog) =>
    isOpen ||
    (lastHead !== undefined && !lastHead.isEmpty && offsetMs(lastHead.next) + retentionMs < clock.now());

  const trimAll = async () => {
    for (const [workgroup, log] of logs) {
      if (closing !== undefined) return;
      try {
        if (options.readHead) await log.closeIfIdle(closeIdleAfterMs);
        if (isTrimmable(log)) await log.trim();
      } catch (error) {
        logger.warn({ workgroup, error: errorMessage(error) }, 'stream.trim-failed');
      }
    }
  };
  const trims = repeat(TRIM_EVERY_MS, startTimer, () => {
    trimming = trimAll();
    return trimming;
  });

  /** Old messages of a closed log are trimmed later, but nobody can read them. */
  const oldestMsOf = ({ oldest, lastHead }: IdleClosingLog): UtcMs | undefined => {
    const readableMs = clock.now() - retentionMs;
    if (oldest === undefined || (lastHead && offsetMs(lastHead.next) < readableMs)) return undefined;
    return Math.max(readableMs, offsetMs(oldest));
  };
  const countRead = (log: StreamLog, change: 1 | -1) => {
    const count = (heldReads.get(log) ?? 0) + change;
    if (count > 0) heldReads.set(log, count);
    else heldReads.delete(log);
  };

  /** Checks each second if the read may continue, and calls `end` if not. */
  const watchHolder = ({ expiresAtMs, recheck }: ReadHolder, end: () => void) => {
    let refusal: { error: unknown } | undefined;
    let stopTimer = () => {};
    const look = () => {
      const leftMs = expiresAtMs - clock.now();
      if (leftMs <= 0) return end();
      try {
        if (!recheck()) return end();
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
        // The answer may have come between two checks. A token that has expired still gets what came before.
        if (expiresAtMs > clock.now()) recheck();
      },
      stop: () => stopTimer(),
    };
  };

  return {
    async logOf(workgroupId) {
      if (draining.signal.aborted)
        throw new StreamError('Draining', 'the service is shutting down', {}, RETRY_AFTER_SECONDS);
      const log = lazyLogOf(workgroupId);
      await log.open();
      return log;
    },
    lazyLogOf,
    async headOf(workgroupId) {
      const log = logs.get(workgroupId);
      const { readHead, isShared = false } = options;
      if (readHead && (isShared || !log?.isOpen))
        return (isShared ? undefined : log?.lastHead) ?? readHead(workgroupId);
      const { epoch, earliest, next } = await lazyLogOf(workgroupId).bounds();
      return { epoch, next, isEmpty: earliest === next };
    },
    onAppended: (listener) => void listeners.push(listener),
    async poll(from, request, callerGone, holder) {
      const stop = new AbortController();
      const end = () => stop.abort();
      const watch = holder && watchHolder(holder, end);
      draining.signal.addEventListener('abort', end);
      callerGone.addEventListener('abort', end);
      if (draining.signal.aborted || callerGone.aborted) end();
      countRead(from, 1);
      try {
        const answer = await poll(from, request, { clock, startTimer, retentionMs, signal: stop.signal });
        watch?.throwIfRefused();
        return answer;
      } finally {
        countRead(from, -1);
        watch?.stop();
        draining.signal.removeEventListener('abort', end);
        callerGone.removeEventListener('abort', end);
      }
    },
    async closeLog(workgroupId) {
      const log = logs.get(workgroupId);
      if (log === undefined) return;
      logs.delete(workgroupId);
      const closed = trimming
        .then(() => log.close())
        .catch((error: unknown) =>
          logger.warn({ workgroup: workgroupId, error: errorMessage(error) }, 'stream.close-failed'),
        )
        .finally(() => closings.delete(workgroupId));
      closings.set(workgroupId, closed);
      await closed;
    },
    counts: () =>
      [...logs].map(([workgroupId, log]) => ({
        workgroupId,
        messagesAppended: log.messagesAppended,
        heldReads: heldReads.get(log) ?? 0,
        oldestMs: oldestMsOf(log),
      })),
    draining: draining.signal,
    drain: () => draining.abort(),
    close() {
      closing ??= (async () => {
        draining.abort();
        await trims.stop();
        await Promise.all(closings.values());
        // Held reads return what they have.
        await nextTurn();
        for (const log of logs.values()) await log.close();
      })();
      return closing;
    },
  };
}
