import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Offset } from '../../contract/offset.ts';
import type { ReadStart } from '../../contract/read-start.ts';
import { type StopReason, type SubscribeAnswer, socketEvents } from '../../contract/socket-events.ts';
import type { StreamError } from '../../contract/stream-errors.ts';
import { limits } from '../../contract/wire-limits.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Clock } from '../../lib/time.ts';
import type { StartTimer } from '../../lib/timer.ts';
import { encodeReadHead } from '../encode-read-head.ts';
import { openCursor, positionError, type ReadCursor } from '../log/read-cursor.ts';
import type { ReadFilter } from '../log/stream-log.ts';
import type { ConnectionContext, SocketConnection } from './socket-connection.ts';
import { errorPayload, socketError } from './socket-errors.ts';
import { createFlowControl } from './socket-flow-control.ts';
import type { FrameOutcome } from './socket-frames.ts';
import { createSubscriptionReader } from './subscription-reader.ts';

interface SubscriptionOptions {
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

/** A reader is far behind if more messages than this, of all tables, are waiting for it. */
const BEHIND_MESSAGES_MAX = 10_000;

export function createSubscription(options: SubscriptionOptions): Subscription {
  const { requestId, connection, startTimer, logger } = options;
  const { log } = options.source;
  const waits = createWaits(startTimer, () => hasEnded);
  const reader = createSubscriptionReader({ ...options, hasEnded: () => hasEnded, pause: waits.pause });
  const flowControl = createFlowControl({
    connection,
    startTimer,
    isFarBehind: async () => (await log.countFrom(position())) > BEHIND_MESSAGES_MAX,
  });
  const begun = Promise.withResolvers<void>();
  let cursor: ReadCursor | undefined;
  /** The position that the client knows. */
  let sentPosition: Offset = 0n;
  /** The epoch of the log that was read last. */
  let epoch: string | undefined;
  let hasEnded = false;
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
      waits.interrupt();
    });
  };
  const cancel = () => {
    if (hasEnded) return;
    hasEnded = true;
    waits.interrupt();
    stopIdleTimer();
    flowControl.close();
    options.onEnd();
  };
  const stop = async (reason: StopReason, error?: StreamError) => {
    await begun.promise;
    if (hasEnded) return;
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
  ): Promise<{ frame: FrameOutcome; hasMoved: boolean; hasSent: boolean } | undefined> => {
    // Another subscription of this connection may have sent a frame meanwhile.
    if (hasEnded || !flowControl.isOpen) return undefined;
    const frame = await reader.readFrame(from);
    const hasMoved = frame.kind === 'batch' && frame.nextOffset !== from.position;
    if (hasEnded || frame.kind !== 'batch') return { frame, hasMoved, hasSent: false };
    const hasSent = frame.count > 0 || isIdle || frame.bounds.epoch !== epoch;
    if (hasSent) send(frame);
    // There is no `await` between `send` and this line, so a stop reports the position after the frame.
    from.moveTo(frame.nextOffset);
    return { frame, hasMoved, hasSent };
  };

  const sendFrames = async (from: ReadCursor) => {
    while (!hasEnded) {
      if (!(await flowControl.wait())) return stop('consumer_too_slow');
      const next = await connection.inTurn(() => sendNext(from));
      if (hasEnded) return;
      if (next === undefined) continue;
      const { frame, hasMoved, hasSent } = next;
      if (frame.kind !== 'batch') return stop('offset_expired', positionError(frame));
      // Other work gets a turn here, even if the log wakes its readers again and again without a new message.
      // Frames that can be sent together are read without a turn between them.
      const isTogether = hasSent && flowControl.isOpen;
      if (!isTogether && (!frame.upToDate || !hasMoved)) await nextTurn();
      if (frame.upToDate && !isIdle) await waits.until(from.waitForMore);
    }
  };

  const begin = async (start: ReadStart): Promise<SubscribeAnswer> => {
    cursor = await openCursor(log, start, options);
    const found = await reader.look(cursor);
    if (found.kind !== 'batch') throw positionError(found);
    ({ epoch } = found.bounds);
    sentPosition = position();
    const { clamped } = cursor;
    return { requestId, nextOffset: String(sentPosition), epoch, ...(clamped && { clamped }) };
  };

  return {
    begin: (start) => begin(start).finally(begun.resolve),
    async run() {
      if (hasEnded || cursor === undefined) return;
      startIdleTimer();
      try {
        await sendFrames(cursor);
      } catch (error) {
        if (!hasEnded) await stop('server_draining', socketError(error, logger));
      }
    },
    stop,
    cancel,
  };
}

/** The waits of a loop, one at a time. After the end of the loop nothing waits. */
function createWaits(startTimer: StartTimer, hasEnded: () => boolean) {
  let waiting: AbortController | undefined;
  async function until(wait: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (hasEnded()) return;
    waiting = new AbortController();
    await wait(waiting.signal);
    waiting = undefined;
  }
  return {
    until,
    pause: (delayMs: number) =>
      until(
        (signal) =>
          new Promise<void>((resolve) => {
            const stopTimer = startTimer(delayMs, resolve);
            signal.addEventListener('abort', () => {
              stopTimer();
              resolve();
            });
          }),
      ),
    /** Ends the wait that runs now. */
    interrupt: () => waiting?.abort(),
  };
}
