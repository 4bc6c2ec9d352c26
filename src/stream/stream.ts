import { setImmediate as nextTurn } from 'node:timers/promises';
import { offsetMs } from '../contract/offset.ts';
import { StreamError, unavailable } from '../contract/stream-errors.ts';
import { errorMessage, TerminalError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { repeat } from '../lib/repeat.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import { createIdleClosingLog, type IdleClosingLog } from './log/idle-closing-log.ts';
import { createRetentionFloor, type RetentionFloor, type RetentionFrom } from './log/retention-floor.ts';
import type { LogHead, StreamLog } from './log/stream-log.ts';
import { createHeldReads, type HeldReads } from './rest/held-reads.ts';

interface StreamOptions {
  /**
   * Opens the log of a workgroup. It is called at the first use, and again after an idle log was closed.
   * `retentionFrom` returns the floor of the log's retention, which is the same at each opening.
   */
  openLog(workgroupId: string, retentionFrom: RetentionFrom): StreamLog | Promise<StreamLog>;
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
  /** The log of a workgroup, which is opened at its first use. If that fails, the first call reports it. */
  lazyLogOf(workgroupId: string): IdleClosingLog;
  /** The end of the log of a workgroup; undefined if there is no log yet. It opens no log. */
  headOf(workgroupId: string): Promise<LogHead | undefined>;
  /** Calls back after each append of this process. */
  onAppended(listener: (workgroupId: string) => void): void;
  /** Runs a held read, see `HeldReads`. */
  poll: HeldReads['poll'];
  /** What this process knows about the logs that it has used. It opens no log. */
  counts(): LogCounts[];
  /** Aborts when `drain` is called. Open requests then end, and answer with the position to continue from. */
  readonly draining: AbortSignal;
  /** Refuses new work and ends held requests. */
  drain(): void;
  /** Closes the log of a workgroup that is no longer configured. The next `logOf` opens it again. */
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
  const logs = new Map<string, AgeingLog>();
  const listeners: Array<(workgroupId: string) => void> = [];
  /** Logs that are being closed. The same log must not be open twice. */
  const closings = new Map<string, Promise<void>>();
  const draining = new AbortController();
  const heldReads = createHeldReads({ clock, startTimer, retentionMs, draining: draining.signal });
  let trimming: Promise<void> = Promise.resolve();
  let closing: Promise<void> | undefined;

  const lazyLogOf = (workgroupId: string): IdleClosingLog => {
    let ageing = logs.get(workgroupId);
    if (ageing === undefined) {
      ageing = createAgeingLog(workgroupId);
      logs.set(workgroupId, ageing);
    }
    return ageing.log;
  };

  const createAgeingLog = (workgroupId: string): AgeingLog => {
    let retention: RetentionFloor | undefined;
    const retentionFrom: RetentionFrom = (newestMs) => {
      retention ??= createRetentionFloor({ clock, retentionMs, newestMs, logger });
      return retention;
    };
    const log = createIdleClosingLog({
      open: () => open(workgroupId, retentionFrom),
      onAppended: () => {
        for (const listener of listeners) listener(workgroupId);
      },
      clock,
    });
    return { log, readableMs: () => retention?.floorMs() ?? clock.now() - retentionMs };
  };

  const open = async (workgroup: string, retentionFrom: RetentionFrom): Promise<StreamLog> => {
    try {
      await closings.get(workgroup);
      return await options.openLog(workgroup, retentionFrom);
    } catch (cause) {
      logger.error({ workgroup, error: errorMessage(cause) }, 'stream.open-failed');
      const message =
        cause instanceof TerminalError
          ? `the log cannot be opened: ${cause.message}`
          : 'the log cannot be opened now';
      throw unavailable(message, RETRY_AFTER_SECONDS, cause);
    }
  };

  const trimAll = async () => {
    for (const [workgroup, ageing] of logs) {
      if (closing !== undefined) return;
      try {
        if (options.readHead) await ageing.log.closeIfIdle(closeIdleAfterMs);
        if (isTrimmable(ageing)) await ageing.log.trim();
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
      const log = logs.get(workgroupId)?.log;
      const { readHead, isShared = false } = options;
      if (readHead && (isShared || !log?.isOpen))
        return (isShared ? undefined : log?.lastHead) ?? readHead(workgroupId);
      const { epoch, earliest, next } = await lazyLogOf(workgroupId).bounds();
      return { epoch, next, isEmpty: earliest === next };
    },
    onAppended: (listener) => void listeners.push(listener),
    poll: heldReads.poll,
    async closeLog(workgroupId) {
      const log = logs.get(workgroupId)?.log;
      if (log === undefined) return;
      logs.delete(workgroupId);
      const closing = trimming
        .then(() => log.close())
        .catch((error: unknown) =>
          logger.warn({ workgroup: workgroupId, error: errorMessage(error) }, 'stream.close-failed'),
        )
        .finally(() => closings.delete(workgroupId));
      closings.set(workgroupId, closing);
      await closing;
    },
    counts: () =>
      [...logs].map(([workgroupId, ageing]) => ({
        workgroupId,
        messagesAppended: ageing.log.messagesAppended,
        heldReads: heldReads.countOf(ageing.log),
        oldestMs: oldestMsOf(ageing),
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
        for (const { log } of logs.values()) await log.close();
      })();
      return closing;
    },
  };
}

/**
 * A log, and the time before which its messages are too old. This time is also known while the log is closed.
 */
interface AgeingLog {
  log: IdleClosingLog;
  /** Messages from before this time cannot be read. */
  readableMs(): UtcMs;
}

/** True if no message of a closed log can be read any more. False if it is not closed. */
function isOutdated({ log: { lastHead }, readableMs }: AgeingLog): boolean {
  return lastHead !== undefined && offsetMs(lastHead.next) < readableMs();
}

/**
 * True for a log that is open. A closed log is opened once more to be trimmed, when its newest message is too
 * old.
 */
function isTrimmable(ageing: AgeingLog): boolean {
  const { isOpen, lastHead } = ageing.log;
  return isOpen || (lastHead?.isEmpty === false && isOutdated(ageing));
}

/**
 * A closed log still has messages that are too old, because it is trimmed later. They do not count, because
 * nobody can read them.
 */
function oldestMsOf(ageing: AgeingLog): UtcMs | undefined {
  const { oldest } = ageing.log;
  if (oldest === undefined || isOutdated(ageing)) return undefined;
  return Math.max(ageing.readableMs(), offsetMs(oldest));
}
