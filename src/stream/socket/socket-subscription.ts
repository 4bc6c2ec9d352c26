import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Offset } from '../../contract/offset.ts';
import { type StopReason, type SubscribeAnswer, socketEvents } from '../../contract/socket-events.ts';
import type { StreamError } from '../../contract/stream-errors.ts';
import { limits } from '../../contract/wire-limits.ts';
import { readBodyHeader } from '../../decode/read-body-header.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Clock } from '../../lib/time.ts';
import type { StartTimer } from '../../lib/timer.ts';
import { positionError, type ReadStart, resolveStart, skipTo, startAgain } from '../log/read-start.ts';
import type { ReadFilter } from '../log/stream-log.ts';
import type { Admission, SocketConnection } from './socket-connection.ts';
import { errorPayload, socketError } from './socket-errors.ts';
import { createFlowControl } from './socket-flow-control.ts';
import type { FrameOutcome } from './socket-frames.ts';

export interface SubscriptionOptions {
  requestId: string;
  connection: SocketConnection;
  /** The log that is read, and its frames. */
  source: Pick<Admission, 'log' | 'frames'>;
  filter: ReadFilter;
  limit: number;
  retentionMs: number;
  clock: Clock;
  startTimer: StartTimer;
  logger: Logger;
  /** Called once it has ended, however. */
  onEnd(): void;
}

/** One reader of the log: replay and live are the same loop, which reads on wherever the reader stands. */
export interface Subscription {
  /**
   * Finds where it starts.
   * @throws StreamError OffsetExpired, OffsetAhead or StorageUnavailable
   */
  begin(start: ReadStart): Promise<SubscribeAnswer>;
  /** Sends frames until it ends. */
  run(): Promise<void>;
  /** Ends it, and tells the client why and where it stood. */
  stop(reason: StopReason, error?: StreamError): Promise<void>;
  /** Ends it without a word: the client has gone. */
  cancel(): void;
}

/** More messages than this, whatever their table, between a reader and the newest: it is far behind. */
const FAR_BEHIND_MESSAGES = 10_000;
/** A log that cannot be read now is tried again; after this many times the client is asked to come back later. */
const READ_ATTEMPTS_MAX = 10;
const READ_AGAIN_MS = 1_000;

export function createSubscription(options: SubscriptionOptions): Subscription {
  const { requestId, connection, filter, limit, startTimer, logger } = options;
  const { log, frames } = options.source;
  const flowControl = createFlowControl({
    connection,
    startTimer,
    isFarBehind: async () => (await log.countFrom(position)) > FAR_BEHIND_MESSAGES,
  });
  const begun = Promise.withResolvers<void>();
  let position: Offset = 0n;
  let notBefore: Offset = 0n;
  /** Where the client knows that it stands. */
  let told: Offset = 0n;
  /** The log that this reader knows of. */
  let epoch: string | undefined;
  let ended = false;
  let waiting: AbortController | undefined;
  let isIdle = false;
  let stopIdleTimer = () => {};

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
    if (reason === 'consumer_too_slow')
      logger.info({ requestId, nextOffset: String(position) }, 'socket.too-slow');
    connection.emit(socketEvents.stop, {
      requestId,
      reason,
      nextOffset: String(position),
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

  const read = async (): Promise<FrameOutcome> => {
    for (let attempt = 1; ; attempt++) {
      try {
        position = await skipTo(log, notBefore, position);
        return await frames.read({ from: position, limit, filter });
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
    const fields = { requestId, fromOffset: told, nextOffset, count, upToDate, earliestOffset, epoch };
    const head = readBodyHeader(fields);
    told = nextOffset;
    connection.sendFrame(head, messages, flowControl.sending());
    startIdleTimer();
  };

  const pull = async () => {
    while (!ended) {
      if (!(await flowControl.wait())) return stop('consumer_too_slow');
      const frame = await read();
      if (ended) return;
      if (frame.kind !== 'batch') return stop('offset_expired', positionError(frame));
      if (frame.count > 0 || isIdle || frame.bounds.epoch !== epoch) {
        // Another subscription of this connection was faster.
        if (!flowControl.isOpen) continue;
        send(frame);
      }
      const hasMoved = frame.nextOffset !== position;
      // At once: whoever stops it meanwhile is told where it stood.
      position = frame.nextOffset;
      // Others get their turn also where a log wakes its readers for nothing.
      if (!frame.upToDate || !hasMoved) await nextTurn();
      if (frame.upToDate && !isIdle) await wait((signal) => log.waitFor(position, signal));
    }
  };

  const begin = async (start: ReadStart): Promise<SubscribeAnswer> => {
    let resolved = await resolveStart(log, start, options);
    for (;;) {
      position = resolved.from === 'oldest' ? (await log.bounds()).earliest : resolved.from;
      ({ notBefore } = resolved);
      const outcome = await frames.read({ from: position, limit, filter });
      if (outcome.kind === 'batch') {
        epoch = outcome.bounds.epoch;
        told = position;
        return {
          requestId,
          nextOffset: String(position),
          epoch,
          ...(resolved.clamped && { clamped: resolved.clamped }),
        };
      }
      resolved = startAgain(resolved, outcome);
    }
  };

  return {
    begin: (start) => begin(start).finally(begun.resolve),
    async run() {
      if (ended) return;
      startIdleTimer();
      try {
        await pull();
      } catch (error) {
        if (!ended) await stop('server_draining', socketError(error, logger));
      }
    },
    stop,
    cancel,
  };
}
