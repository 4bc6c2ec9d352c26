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
import { createHeldReads, type HeldReads } from './rest/held-reads.ts';

interface StreamOptions {
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
  /** Runs a held read, see `HeldReads`. */
  poll: HeldReads['poll'];
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

interface LogCounts {
  workgroupId: string;
  /** Messages that this process has appended. */
  messagesAppended: number;
  /** Reads that are held now. */
  heldReads: number;
  /** When the oldest message was stored. Undefined if there is none, or if it is not known yet. */
  oldestMs: UtcMs | undefined;
}

const RETRY_AFTER_SECONDS = 2;
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
  const draining = new AbortController();
  const heldReads = createHeldReads({ clock, startTimer, retentionMs, draining: draining.signal });
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

  /** Messages that are older cannot be read. */
  const readableMs = () => clock.now() - retentionMs;

  const trimAll = async () => {
    for (const [workgroup, log] of logs) {
      if (closing !== undefined) return;
      try {
        if (options.readHead) await log.closeIfIdle(closeIdleAfterMs);
        if (isTrimmable(log, readableMs())) await log.trim();
      } catch (error) {
        logger.warn({ workgroup, error: errorMessage(error) }, 'stream.trim-failed');
      }
    }
  };
  const trims = repeat(TRIM_EVERY_MS, startTimer, () => {
    trimming = trimAll();
    return trimming;
  });

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
    poll: heldReads.poll,
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
        heldReads: heldReads.countOf(log),
        oldestMs: oldestMsOf(log, readableMs()),
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

/** A closed log is opened to be trimmed once, when its newest message is too old. */
function isTrimmable({ isOpen, lastHead }: IdleClosingLog, readableMs: UtcMs): boolean {
  return isOpen || (lastHead !== undefined && !lastHead.isEmpty && offsetMs(lastHead.next) < readableMs);
}

/** Old messages of a closed log are trimmed later, but nobody can read them. */
function oldestMsOf({ oldest, lastHead }: IdleClosingLog, readableMs: UtcMs): UtcMs | undefined {
  if (oldest === undefined || (lastHead && offsetMs(lastHead.next) < readableMs)) return undefined;
  return Math.max(readableMs, offsetMs(oldest));
}
