import { randomUUID } from 'node:crypto';
import { WILDCARD_TABLE } from '../contract/messages.ts';
import { limits } from '../contract/wire-limits.ts';
import { errorMessage } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { type ChangeSignal, createChangeSignal } from './change-signal.ts';
import type { Interpreter } from './interpret.ts';
import { openSocket, type SocketEvents, type SocketTarget } from './open-socket.ts';
import { type Ask, sameAsk } from './position.ts';
import type { ErrorOutcome } from './read-outcome.ts';
import type { RawAnswer } from './rest-source.ts';
import {
  answerOf,
  type Beginning,
  beginningFrame,
  isAboutToken,
  mayBeError,
  placeOf,
  reasonOf,
} from './socket-answer.ts';
import { readPayload, type SocketPayload } from './socket-payload.ts';
import { createWaitingFrames, type WaitingFrame, type WaitingFrames } from './waiting-frames.ts';

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
   * @returns false if only the start of a subscription was taken, without a frame
   */
  noteLanded(ask: Ask): boolean;
  /** Ends the subscription and the connection, and stops the timers. */
  close(): void;
}

interface SocketReaderOptions {
  target: SocketTarget;
  /** A table, or `-` for all tables. */
  table: string;
  token: string | undefined;
  /** Reads errors, and answers to subscriptions. */
  interpret: Interpreter;
  bounds: SocketBounds;
}

/** What is known about a connection. Events of the server and calls of its reader change it. */
interface Connection {
  phase: 'connecting' | 'connected' | 'subscribed';
  end: SocketEnd | undefined;
  /** The position of the subscription: its start, then the end of the frames that have landed. */
  position: Ask | undefined;
  /** The server has answered the subscription, or has sent a frame. */
  hasBegun: boolean;
  /** The start of the subscription, until it is taken with the first frames or alone. */
  beginning: Beginning | undefined;
  /** The frames that were taken and have not landed, and where they were taken. */
  pending: { ask: Ask; frames: WaitingFrame[] } | undefined;
  readonly frames: WaitingFrames;
  readonly changes: ChangeSignal;
}

/** A server that answers subscriptions does so within this time. */
const BEGIN_MS = 2 * SECOND_MS;

/** Opens a connection. It subscribes at the first `take`. */
export function openSocketReader(options: SocketReaderOptions): SocketReader {
  const { target, table, token, interpret, bounds } = options;
  const openedAtMs = performance.now();
  let subscribedAtMs = openedAtMs;
  const frames = createWaitingFrames(bounds.bufferBytesMax);
  const changes = createChangeSignal();
  const connection: Connection = {
    phase: 'connecting',
    end: undefined,
    position: undefined,
    hasBegun: false,
    beginning: undefined,
    pending: undefined,
    frames,
    changes,
  };

  const finish = (why: SocketEnd) => {
    if (connection.end !== undefined) return;
    connection.end = why;
    clearTimeout(watchdog);
    socket.close();
    changes.wake();
  };
  let watchdog = setTimeout(
    () => finish(failure(`no connection within ${bounds.connectMs} ms`)),
    bounds.connectMs,
  );
  /** Ends the connection if no frame arrives for long. */
  const watch = () => {
    clearTimeout(watchdog);
    if (connection.end !== undefined) return;
    watchdog = setTimeout(() => {
      // While frames wait here, the server may wait for us.
      if (frames.count() > 0 || connection.pending !== undefined) return watch();
      const kind = connection.hasBegun ? 'silent' : 'failed';
      finish({ kind, reason: `no frame for ${bounds.silenceMs} ms` });
    }, bounds.silenceMs);
  };
  const socket = openSocket(target, {
    token,
    events: {
      ...readEvents(connection, interpret, finish),
      connected() {
        connection.phase = 'connected';
        clearTimeout(watchdog);
        changes.wake();
      },
    },
  });

  const subscribe = (ask: Ask) => {
    connection.phase = 'subscribed';
    connection.position = ask;
    subscribedAtMs = performance.now();
    watch();
    socket.subscribe({
      requestId: randomUUID(),
      // Other servers subscribe to all tables and may not know this member.
      ...(table !== WILDCARD_TABLE && { table }),
      ...placeOf(ask),
    });
  };

  return {
    async ready(ageMs, signal) {
      const isDecided = () => connection.phase !== 'connecting' || connection.end !== undefined;
      while (!isDecided() && (await changes.wait(openedAtMs + ageMs, signal)));
      return isDecided();
    },
    follows(ask) {
      const { position, pending } = connection;
      return position === undefined || (pending === undefined && sameAsk(position, ask));
    },
    isPendingAt: (ask) => connection.pending !== undefined && sameAsk(connection.pending.ask, ask),
    async take(ask, withinMs, signal) {
      if (connection.phase === 'connected' && connection.end === undefined) subscribe(ask);
      const quietAtMs = performance.now() + withinMs;
      for (;;) {
        if (frames.count() > 0) return takeFrames(connection, ask);
        if (connection.end !== undefined) break;
        const untilMs = connection.hasBegun ? quietAtMs : Math.max(quietAtMs, subscribedAtMs + BEGIN_MS);
        if (!(await changes.wait(untilMs, signal))) break;
      }
      const { beginning, end } = connection;
      // The start of the subscription counts, even if the connection ended before the first frame.
      if (beginning?.nextOffset !== undefined) return takeFrames(connection, ask);
      return end === undefined ? { kind: 'quiet' } : { kind: 'ended', end };
    },
    noteLanded(ask) {
      const landed = connection.pending?.frames ?? [];
      for (const { acknowledge } of landed) acknowledge();
      connection.pending = undefined;
      connection.position = ask;
      watch();
      return landed.length > 0;
    },
    close: () => finish({ kind: 'failed', reason: 'closed' }),
  };
}

function takeFrames(connection: Connection, ask: Ask): Taken {
  const { beginning, frames } = connection;
  const taken = frames.takeTogether();
  const [first] = taken;
  const answer = answerOf(
    beginning && first?.kind !== 'alone' ? [beginningFrame(beginning, first), ...taken] : taken,
  );
  connection.beginning = undefined;
  connection.pending = { ask, frames: taken };
  return { kind: 'answer', answer };
}

function failure(reason: string): SocketEnd {
  return { kind: isAboutToken(reason) ? 'unauthorized' : 'failed', reason: reason.slice(0, 300) };
}

/** Reads the events of the server into the connection, or ends it. */
function readEvents(
  connection: Connection,
  interpret: Interpreter,
  finish: (why: SocketEnd) => void,
): Omit<SocketEvents, 'connected'> {
  const { frames, changes } = connection;
  const fail = (reason: string) => finish(failure(reason));
  const refuse = (error: ErrorOutcome, { bytes }: SocketPayload) => {
    if (error.aboutPosition !== 'yes') return fail(`${error.code}: ${error.message}`);
    // The reader interprets it like every other answer.
    frames.add({ kind: 'alone', bytes, acknowledge: () => undefined });
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

  return {
    refused: guarded((message, data) => {
      const read = readPayload(data);
      const error = read && interpret(answerOf([read]));
      fail(`not let in: ${error?.kind === 'error' ? `${error.code}: ${error.message}` : message}`);
    }),
    answered: guarded((payload) => {
      const read = readPayload(payload);
      if (connection.hasBegun || read === undefined) return;
      const answer = interpret(answerOf([read]));
      if (answer.kind === 'error') {
        // Some servers only confirm the request.
        if (answer.code !== 'MalformedAnswer') refuse(answer, read);
        return;
      }
      const { nextOffset } = answer;
      const { position } = connection;
      if (position?.kind === 'offset' && nextOffset !== undefined && nextOffset > position.offset + 1n) {
        return fail('the server starts at another position than it was asked for');
      }
      connection.hasBegun = true;
      connection.beginning = { nextOffset, epoch: answer.epoch, clamped: answer.clamped };
      changes.wake();
    }),
    data: guarded((payload, acknowledge) => {
      const frame = readPayload(payload);
      if (frame === undefined) return fail('an empty frame');
      if (!frames.hasRoomFor(frame)) return fail('the server sends faster than messages are stored');
      const error = mayBeError(frame) ? interpret(answerOf([frame])) : undefined;
      if (error?.kind === 'error' && error.code !== 'MalformedAnswer') return refuse(error, frame);
      connection.hasBegun = true;
      frames.add({ ...frame, acknowledge });
      changes.wake();
    }),
    stopped: guarded((payload) => {
      const reason = reasonOf(payload);
      if (reason === 'offset_expired') finish({ kind: 'renew', reason });
      else fail(reason);
    }),
    complained: guarded((payload) => {
      const members = typeof payload === 'string' ? { error: payload } : payload;
      const read = readPayload(members);
      const error = read && interpret(answerOf([read]));
      if (read && error?.kind === 'error') refuse(error, read);
      else fail(reasonOf(payload));
    }),
    closed: fail,
  };
}
