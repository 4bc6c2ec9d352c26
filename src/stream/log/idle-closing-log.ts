import type { Offset } from '../../contract/offset.ts';
import { unavailable } from '../../contract/stream-errors.ts';
import { type Clock, elapsedOf } from '../../lib/time.ts';
import { MEBIBYTE } from '../../lib/units.ts';
import { readInPieces } from './read-in-pieces.ts';
import { readTurns } from './read-turns.ts';
import type { LogBounds, LogHead, StreamLog } from './stream-log.ts';

/**
 * A log that is opened at its first use. It can be closed while nobody uses it, and is opened again at the
 * next use. `trim` closes it too if much of its file was read, because the system counts these parts as
 * memory of this process until the file is closed. After `close` it refuses its callers as other logs do. It
 * is then never opened again, because another log of the same file may be open.
 */
export interface IdleClosingLog extends StreamLog {
  readonly isOpen: boolean;
  /** The end of the log at the time when it was closed. Undefined if it is open or was never open. */
  readonly lastHead: LogHead | undefined;
  /** The number of messages that this process has appended. Announcements are left out. */
  readonly messagesAppended: number;
  /** The oldest message as of the last `trim`. Undefined if there was none, and before the first trim. */
  readonly oldest: Offset | undefined;
  /** Opens the log. @throws errors of the opening */
  open(): Promise<void>;
  /** Closes the log if nobody has used it for this long. */
  closeIfIdle(idleMs: number): Promise<void>;
}

interface IdleClosingLogOptions {
  open(): StreamLog | Promise<StreamLog>;
  /** Called after each append of this process. */
  onAppended(): void;
  clock: Clock;
  /** `trim` closes the log after this many bytes of its file were read. Default: 4 MiB. */
  fileBytesReadMax?: number;
}

const RETRY_AFTER_SECONDS = 1;
const FILE_BYTES_READ_MAX = 4 * MEBIBYTE;

export function createIdleClosingLog(options: IdleClosingLogOptions): IdleClosingLog {
  const { open, onAppended, clock, fileBytesReadMax = FILE_BYTES_READ_MAX } = options;
  let opened: Promise<StreamLog> | undefined;
  let closing: Promise<void> | undefined;
  let isClosed = false;
  let users = 0;
  /** The calls of its users, without calls that wait for messages. */
  const works = new Set<Promise<unknown>>();
  let usedAtMs = elapsedOf(clock);
  let lastHead: LogHead | undefined;
  let messagesAppended = 0;
  let oldest: Offset | undefined;

  async function acquire(): Promise<StreamLog> {
    while (closing !== undefined) await closing;
    // A log that is open refuses its callers itself.
    if (isClosed && opened === undefined) throw unavailable('the log is closed', RETRY_AFTER_SECONDS);
    // Concurrent callers share one opening: they get the same log or the same error.
    opened ??= (async () => open())().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  }

  function use<Result>(work: (log: StreamLog) => Promise<Result>): Promise<Result> {
    const working = useUntilClosed(work);
    works.add(working);
    return working.finally(() => works.delete(working));
  }

  /**
   * Like `use`, for callers that wait for messages. The log can be closed while they wait, and their waits
   * then end.
   */
  async function useUntilClosed<Result>(work: (log: StreamLog) => Promise<Result>): Promise<Result> {
    try {
      return await keepOpenDuring(work);
    } finally {
      usedAtMs = elapsedOf(clock);
    }
  }

  /** The log stays open until the work has ended. */
  async function keepOpenDuring<Result>(work: (log: StreamLog) => Promise<Result>): Promise<Result> {
    users++;
    try {
      return await work(await acquire());
    } finally {
      users--;
    }
  }

  async function tellAppended<Result>(appending: Promise<Result>): Promise<Result> {
    const result = await appending;
    onAppended();
    return result;
  }

  /** New users wait until the log is closed, and open it again. */
  async function closeUntilUsed(): Promise<void> {
    closing = closeNow().finally(() => {
      closing = undefined;
    });
    await closing;
  }

  async function closeNow(): Promise<void> {
    await Promise.allSettled(works);
    const log = await opened;
    if (log === undefined) return;
    const { epoch, earliest, next }: LogBounds = await log.bounds();
    lastHead = { epoch, next, isEmpty: earliest === next };
    opened = undefined;
    await log.close();
  }

  return {
    get isOpen() {
      return opened !== undefined;
    },
    get lastHead() {
      return opened === undefined ? lastHead : undefined;
    },
    open: () => use(async () => undefined),
    get messagesAppended() {
      return messagesAppended;
    },
    get oldest() {
      return oldest;
    },
    append: (batch) =>
      use(async (log) => {
        const result = await tellAppended(log.append(batch));
        messagesAppended += result.count;
        return result;
      }),
    announce: (batch, readTo) => use((log) => tellAppended(log.announce(batch, readTo))),
    // Each piece is a separate call, so that the log can be closed between pieces.
    read: (request) => readInPieces(request, readTurns, (piece) => use((log) => log.read(piece))),
    bounds: () => use((log) => log.bounds()),
    chunkFrom: (position) => use((log) => log.chunkFrom(position)),
    // The caller reads again and gets the error.
    waitFor: (position, signal) =>
      useUntilClosed((log) => log.waitFor(position, signal)).catch(() => undefined),
    countFrom: (position) => use((log) => log.countFrom(position)),
    // Trimming does not count as use, because it is done regularly.
    async trim() {
      const fileBytesRead = await keepOpenDuring(async (log) => {
        await log.trim();
        const { earliest, next } = await log.bounds();
        oldest = earliest === next ? undefined : earliest;
        return log.fileBytesRead ?? 0;
      });
      if (fileBytesRead >= fileBytesReadMax && closing === undefined && !isClosed) await closeUntilUsed();
    },
    async closeIfIdle(idleMs) {
      if (opened === undefined || closing !== undefined || isClosed) return;
      if (users > 0 || elapsedOf(clock) - usedAtMs < idleMs) return;
      await closeUntilUsed();
    },
    async close() {
      isClosed = true;
      await closing?.catch(() => undefined);
      // The log stays open for callers, and refuses them.
      await (await opened?.catch(() => undefined))?.close();
    },
  };
}
