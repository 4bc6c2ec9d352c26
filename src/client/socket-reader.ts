import { randomUUID } from 'node:crypto';
import { WILDCARD_TABLE } from '../contract/messages.ts';
import { limits } from '../contract/wire-limits.ts';
import { errorMessage } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import type { Interpreter } from './interpret.ts';
import { openSocket, type SocketTarget } from './open-socket.ts';
import { type Ask, sameAsk } from './position.ts';
import type { ErrorOutcome } from './read-outcome.ts';
import type { RawAnswer } from './rest-source.ts';
import {
  answerOf,
  type Beginning,
  beginningFrame,
  countTogether,
  isAboutToken,
  mayBeError,
  placeOf,
  reasonOf,
} from './socket-answer.ts';
import { readPayload, type SocketPayload } from './socket-payload.ts';

/** The limits of one connection. */
export interface SocketBounds {
  /** The time to connect. */
  connectMs: number;
  /**
   * The reader waits this long for a connection that is being opened. Then it reads over REST until the
   * connection is open.
   */
  graceMs: number;
  /**
   * The longest time without a frame, if all frames have landed. It is three of the contract's idle times.
   */
  silenceMs: number;
  /** The largest size of frames that wait here, for servers that do not wait for acknowledgements. */
  bufferBytesMax: number;
}

export const defaultSocketBounds: SocketBounds = {
  connectMs: 10 * SECOND_MS,
  graceMs: SECOND_MS,
  silenceMs: 3 * limits.frameIdleMs,
  bufferBytesMax: 16 * MEBIBYTE,
};

/** The reason why a connection has ended. */
export interface SocketEnd {
  /**
   * renew: connect again at once. unauthorized: with another token. silent: after a read over REST. failed:
   * later.
   */
  kind: 'renew' | 'unauthorized' | 'silent' | 'failed';
  reason: string;
}

export type Taken =
  | { kind: 'answer'; answer: RawAnswer }
  /** No frame has arrived in that time. */
  | { kind: 'quiet' }
  /** The connection has ended, and all frames were taken. */
  | { kind: 'ended'; end: SocketEnd };

/**
 * One connection with one subscription. Frames wait until they are taken, and are acknowledged after they
 * have landed.
 */
export interface SocketReader {
  /**
   * Waits until the connection is open or has ended, but not beyond the age `ageMs`. Returns false if it is
   * neither.
   */
  ready(ageMs: number, signal?: AbortSignal): Promise<boolean>;
  /** True if the next frames follow `ask`, or if nothing has been requested yet. */
  follows(ask: Ask): boolean;
  /** True if frames were taken at `ask` and have not landed. */
  isPendingAt(ask: Ask): boolean;
  /** Takes the waiting frames as one answer to `ask`. It subscribes there first, if needed. */
  take(ask: Ask, withinMs: number, signal?: AbortSignal): Promise<Taken>;
  /**
   * Called when the taken frames are stored. `ask` is the position after them.
   * @returns false if there were none, but only the start of a subscription
   */
  landed(ask: Ask): boolean;
  /** Ends the subscription and the connection, and stops the timers. */
  close(): void;
}

export interface SocketReaderOptions {
  target: SocketTarget;
  /** A table, or `-` for all tables. */
  table: string;
  token: string | undefined;
  /** Reads errors, and answers to subscriptions. */
  interpret: Interpreter;
  bounds: SocketBounds;
}

interface Frame extends SocketPayload {
  acknowledge(): void;
}

/** A server that answers subscriptions does so within this time. */
const BEGIN_MS = 2 * SECOND_MS;
/** A limit for very small frames. */
const FRAMES_WAITING_MAX = 50_000;

/** Opens a connection. It subscribes at the first `take`. */
export function openSocketReader(options: SocketReaderOptions): SocketReader {
  const { target, table, token, interpret, bounds } = options;
  const openedAtMs = performance.now();
  let state: 'connecting' | 'connected' | 'subscribed' = 'connecting';
  let end: SocketEnd | undefined;
  let subscribedAtMs = openedAtMs;
  let hasBegun = false;
  /** The start of the subscription, until it is taken with the first frames or alone. */
  let beginning: Beginning | undefined;
  const frames: Frame[] = [];
  let waitingBytes = 0;
  let pending: { ask: Ask; frames: Frame[] } | undefined;
  let position: Ask | undefined;
  let watchdog = setTimeout(() => fail(`no connection within ${bounds.connectMs} ms`), bounds.connectMs);
  let changed = Promise.withResolvers<void>();

  const wake = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const finish = (why: SocketEnd) => {
    if (end !== undefined) return;
    end = why;
    clearTimeout(watchdog);
    socket.close();
    wake();
  };
  const fail = (reason: string) =>
    finish({ kind: isAboutToken(reason) ? 'unauthorized' : 'failed', reason: reason.slice(0, 300) });
  const watch = () => {
    clearTimeout(watchdog);
    if (end !== undefined) return;
    watchdog = setTimeout(() => {
      // While frames wait here, the server may wait for us.
      if (frames.length > 0 || pending !== undefined) watch();
      else finish({ kind: hasBegun ? 'silent' : 'failed', reason: `no frame for ${bounds.silenceMs} ms` });
    }, bounds.silenceMs);
  };
  const refuse = (error: ErrorOutcome, { bytes }: SocketPayload) => {
    if (error.aboutPosition !== 'yes') return fail(`${error.code}: ${error.message}`);
    // The reader interprets it like every other answer.
    frames.push({ kind: 'alone', bytes, acknowledge: () => undefined });
    finish({ kind: 'renew', reason: error.code });
  };
  /** Runs a handler of the server's data. An error in it ends the connection at worst. */
  const guarded =
    <Given extends unknown[]>(read: (...given: Given) => void) =>
    (...given: Given): void => {
      try {
        read(...given);
      } catch (error) {
        fail(errorMessage(error));
      }
    };

  const socket = openSocket(target, {
    token,
    events: {
      connected() {
        state = 'connected';
        clearTimeout(watchdog);
        wake();
      },
      refused: guarded((message, data) => {
        const read = readPayload(data);
        const error = read && interpret(answerOf([read]));
        fail(`not let in: ${error?.kind === 'error' ? `${error.code}: ${error.message}` : message}`);
      }),
      answered: guarded((payload) => {
        const read = readPayload(payload);
        if (hasBegun || read === undefined) return;
        const answer = interpret(answerOf([read]));
        if (answer.kind === 'error') {
          // Some servers only confirm the request.
          if (answer.code !== 'MalformedAnswer') refuse(answer, read);
          return;
        }
        const { nextOffset } = answer;
        if (position?.kind === 'offset' && nextOffset !== undefined && nextOffset > position.offset + 1n) {
          return fail('the server starts at another position than it was asked for');
        }
        hasBegun = true;
        beginning = { nextOffset, epoch: answer.epoch, clamped: answer.clamped };
        wake();
      }),
      data: guarded((payload, acknowledge) => {
        const frame = readPayload(payload);
        if (frame === undefined) return fail('an empty frame');
        waitingBytes += frame.bytes.length;
        if (waitingBytes > bounds.bufferBytesMax || frames.length >= FRAMES_WAITING_MAX) {
          return fail('the server sends faster than messages are stored');
        }
        const error = mayBeError(frame) ? interpret(answerOf([frame])) : undefined;
        if (error?.kind === 'error' && error.code !== 'MalformedAnswer') return refuse(error, frame);
        hasBegun = true;
        frames.push({ ...frame, acknowledge });
        wake();
      }),
      stopped: guarded((payload) => {
        const reason = reasonOf(payload);
        if (reason === 'offset_expired') finish({ kind: 'renew', reason });
        else fail(reason);
      }),
      complained: guarded((payload) => {
        const given = typeof payload === 'string' ? { error: payload } : payload;
        const read = readPayload(given);
        const error = read && interpret(answerOf([read]));
        if (read && error?.kind === 'error') refuse(error, read);
        else fail(reasonOf(payload));
      }),
      closed: fail,
    },
  });

  /** Waits for a change. Returns false when the time is over. */
  const change = async (untilMs: number, signal: AbortSignal | undefined): Promise<boolean> => {
    signal?.throwIfAborted();
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) return false;
    const timer = setTimeout(wake, leftMs);
    signal?.addEventListener('abort', wake, { once: true });
    await changed.promise;
    clearTimeout(timer);
    signal?.removeEventListener('abort', wake);
    return true;
  };
  const subscribe = (ask: Ask) => {
    state = 'subscribed';
    position = ask;
    subscribedAtMs = performance.now();
    watch();
    socket.subscribe({
      requestId: randomUUID(),
      // Other servers subscribe to all tables and may not know this member.
      ...(table !== WILDCARD_TABLE && { table }),
      ...placeOf(ask),
    });
  };
  const takeFrames = (ask: Ask): Taken => {
    const taken = frames.splice(0, countTogether(frames));
    for (const { bytes } of taken) waitingBytes -= bytes.length;
    const [first] = taken;
    const answer = answerOf(
      beginning && first?.kind !== 'alone' ? [beginningFrame(beginning, first), ...taken] : taken,
    );
    beginning = undefined;
    pending = { ask, frames: taken };
    return { kind: 'answer', answer };
  };

  return {
    async ready(ageMs, signal) {
      const isDecided = () => state !== 'connecting' || end !== undefined;
      while (!isDecided() && (await change(openedAtMs + ageMs, signal)));
      return isDecided();
    },
    follows: (ask) => position === undefined || (pending === undefined && sameAsk(position, ask)),
    isPendingAt: (ask) => pending !== undefined && sameAsk(pending.ask, ask),
    async take(ask, withinMs, signal) {
      if (state === 'connected' && end === undefined) subscribe(ask);
      const quietAtMs = performance.now() + withinMs;
      for (;;) {
        if (frames.length > 0) return takeFrames(ask);
        if (end !== undefined) break;
        if (await change(hasBegun ? quietAtMs : Math.max(quietAtMs, subscribedAtMs + BEGIN_MS), signal))
          continue;
        break;
      }
      // The start counts even if the connection ended before the first frame.
      if (beginning?.nextOffset !== undefined) return takeFrames(ask);
      return end === undefined ? { kind: 'quiet' } : { kind: 'ended', end };
    },
    landed(ask) {
      const landed = pending?.frames ?? [];
      for (const { acknowledge } of landed) acknowledge();
      pending = undefined;
      position = ask;
      watch();
      return landed.length > 0;
    },
    close: () => finish({ kind: 'failed', reason: 'closed' }),
  };
}
