import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Offset } from '../../contract/offset.ts';
import type { ReadStart } from '../../contract/read-start.ts';
import { type StopReason, type SubscribeAnswer, socketEvents } from '../../contract/socket-events.ts';
import type { StreamError } from '../../contract/stream-errors.ts';
import { limits } from '../../contract/wire-limits.ts';
import type { Logger } from '../../lib/logger.ts';
import { type Clock, SECOND_MS } from '../../lib/time.ts';
import type { StartTimer } from '../../lib/timer.ts';
import { encodeReadHead } from '../encode-read-head.ts';
import { openCursor, positionError, type ReadCursor, type Unreadable } from '../log/read-cursor.ts';
import type { ReadFilter } from '../log/stream-log.ts';
import type { ConnectionContext, SocketConnection } from './socket-connection.ts';
import { errorPayload, socketError } from './socket-errors.ts';
import { createFlowControl } from './socket-flow-control.ts';
import type { FrameOutcome } from './socket-frames.ts';

export interface SubscriptionOptions {
  requestId: string;
  connection: SocketConnection;
  /** The log that is read, its frames, and the token that reads. */
  source: Pick<ConnectionContext, 'log' | 'frames' | 'grant'>;
  /** The messages that the client may see now. */
  filterNow: () => ReadFilter;
  limit: number;
  retentionMs: number;
  clock: Clock;
  startTimer: StartTimer;
  logger: Logger;
  /** Called once when the subscription has ended for any reason. */
  onEnd(): void;
}

/** One subscription of a socket. It reads stored and new messages in one loop. */
export interface Subscription {
  /**
   * Finds the start.
   * @throws StreamError OffsetExpired, OffsetAhead or StorageUnavailable
   */
  begin(start: ReadStart): Promise<SubscribeAnswer>;
  /** Sends frames until the subscription ends. */
  run(): Promise<void>;
  /** Ends the subscription, and sends the client the reason and the position. */
  stop(reason: StopReason, error?: StreamError): Promise<void>;
  /** Ends the subscription and sends nothing, because the client has disconnected. */
  cancel(): void;
}

/** A reader with more messages than this before it, of any table, is far behind. */
const FAR_BEHIND_MESSAGES = 10_000;
/** A read that fails is repeated up to this often. Then the client is asked to come back later. */
const READ_ATTEMPTS_MAX = 10;
const READ_AGAIN_MS = SECOND_MS;

export function createSubscription(options: SubscriptionOptions): Subscription {
  const { requestId, connection, filterNow, limit, startTimer, logger } = options;
  const { log, frames, grant } = options.source;
  const reader = grant.tokenId;
  const flowControl = createFlowControl({
    connection,
    startTimer,
    isFarBehind: async () => (await log.countFrom(position())) > FAR_BEHIND_MESSAGES,
  });
  const begun = Promise.withResolvers<void>();
  let cursor: ReadCursor | undefined;
  /** The position that the client knows. */
  let sentPosition: Offset = 0n;
  /** The epoch of the log that was read last. */
  let epoch: string | undefined;
  let ended = false;
  let waiting: AbortController | undefined;
  let isIdle = false;
  let stopIdleTimer = () => {};

  const position = (): Offset => {
    const at = cursor?.position ?? 0n;
    return at === 'oldest' ? 0n : at;
  };
  const startIdleTimer = () => {
    stopIdleTimer();
    isIdle = false;
    stopIdleTimer = startTimer(limits.frameIdleMs, () => {
      isIdle = true;
      waiting?.abort();
    });
  };
  const cancel = () => {
    if (ended) return;
    ended = true;
    waiting?.abort();
    stopIdleTimer();
    flowControl.close();
    options.onEnd();
  };
  const stop = async (reason: StopReason, error?: StreamError) => {
    await begun.promise;
    if (ended) return;
    cancel();
    const nextOffset = String(position());
    if (reason === 'consumer_too_slow') logger.info({ requestId, nextOffset }, 'socket.too-slow');
    connection.emit(socketEvents.stop, {
      requestId,
      reason,
      nextOffset,
      ...(error && { error: errorPayload(error) }),
    });
  };

  const wait = async (until: (signal: AbortSignal) => Promise<void>) => {
    if (ended) return;
    waiting = new AbortController();
    await until(waiting.signal);
    waiting = undefined;
  };
  const pause = (delayMs: number) => (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const stopTimer = startTimer(delayMs, resolve);
      signal.addEventListener('abort', () => {
        stopTimer();
        resolve();
      });
    });

  /** Reads, and pins the cursor to an offset, because the client gets its start before the first frame. */
  const pinning =
    <Batch extends { kind: 'batch' }>(
      from: ReadCursor,
      readAt: (offset: Offset) => Promise<Batch | Unreadable>,
    ) =>
    async (at: Offset | 'oldest') => {
      const offset = at === 'oldest' ? (await log.bounds()).earliest : at;
      const outcome = await readAt(offset);
      if (outcome.kind === 'batch') from.moveTo(offset);
      return outcome;
    };
  const readFrame = (offset: Offset) => frames.read({ from: offset, limit, filter: filterNow(), reader });
  /** Finds out if the log has the offset, and reads no message. */
  const lookAt = (offset: Offset) =>
    log.read({ from: offset, limit: 1, filter: {}, bytesMax: 0, oneAtLeast: false, reader });
  const read = async (from: ReadCursor): Promise<FrameOutcome> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await from.read(pinning(from, readFrame), { mayRestart: false });
      } catch (error) {
        if (ended || attempt === READ_ATTEMPTS_MAX) throw error;
        await wait(pause(READ_AGAIN_MS));
      }
    }
  };

  const send = (frame: FrameOutcome & { kind: 'batch' }) => {
    const { count, nextOffset, upToDate, bounds, messages } = frame;
    const { earliest: earliestOffset } = bounds;
    epoch = bounds.epoch;
    const fields = {
      requestId,
      fromOffset: sentPosition,
      nextOffset,
      count,
      upToDate,
      earliestOffset,
      epoch,
    };
    const head = encodeReadHead(fields);
    sentPosition = nextOffset;
    connection.sendFrame(head, messages, flowControl.sending());
    startIdleTimer();
  };

  /**
   * Reads a frame and sends it if it has news.
   * @returns undefined if nothing may be sent now; then nothing was read
   */
  const sendNext = async (
    from: ReadCursor,
  ): Promise<{ frame: FrameOutcome; hasMoved: boolean } | undefined> => {
    // Another subscription of this connection may have sent a frame meanwhile.
    if (ended || !flowControl.isOpen) return undefined;
    const frame = await read(from);
    const hasMoved = frame.kind === 'batch' && frame.nextOffset !== from.position;
    if (ended || frame.kind !== 'batch') return { frame, hasMoved };
    if (frame.count > 0 || isIdle || frame.bounds.epoch !== epoch) send(frame);
    // No await comes between `send` and this line, so a stop reports the position after the frame.
    from.moveTo(frame.nextOffset);
    return { frame, hasMoved };
  };

  const sendFrames = async (from: ReadCursor) => {
    while (!ended) {
      if (!(await flowControl.wait())) return stop('consumer_too_slow');
      const next = await connection.inTurn(() => sendNext(from));
      if (ended) return;
      if (next === undefined) continue;
      const { frame, hasMoved } = next;
      if (frame.kind !== 'batch') return stop('offset_expired', positionError(frame));
      // Other work gets a turn, even if the log wakes its readers without a new message.
      if (!frame.upToDate || !hasMoved) await nextTurn();
      if (frame.upToDate && !isIdle) await wait(from.waitForMore);
    }
  };

  const begin = async (start: ReadStart): Promise<SubscribeAnswer> => {
    cursor = await openCursor(log, start, options);
    const found = await cursor.read(pinning(cursor, lookAt), { mayRestart: true });
    if (found.kind !== 'batch') throw positionError(found);
    ({ epoch } = found.bounds);
    sentPosition = position();
    const { clamped } = cursor;
    return { requestId, nextOffset: String(sentPosition), epoch, ...(clamped && { clamped }) };
  };

  return {
    begin: (start) => begin(start).finally(begun.resolve),
    async run() {
      if (ended || cursor === undefined) return;
      startIdleTimer();
      try {
        await sendFrames(cursor);
      } catch (error) {
        if (!ended) await stop('server_draining', socketError(error, logger));
      }
    },
    stop,
    cancel,
  };
}
