import { randomUUID } from 'node:crypto';
import { WILDCARD_TABLE } from '../contract/messages.ts';
import { errorMessage } from '../lib/errors.ts';
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

/** The bounds of one connection. */
export interface SocketBounds {
  /** Until it is let in. */
  connectMs: number;
  /** For so long a connection that is being made is waited for; then REST reads until it is there. */
  graceMs: number;
  /** Without any frame, though all that came has landed: three of the contract's idle frames. */
  silenceMs: number;
  /** What waits here of a server that does not wait for acknowledgements. */
  bufferBytesMax: number;
}

export const defaultSocketBounds: SocketBounds = {
  connectMs: 10_000,
  graceMs: 1_000,
  silenceMs: 45_000,
  bufferBytesMax: 16 * 1024 * 1024,
};

/** Why nothing more comes. */
export interface SocketEnd {
  /** renew: connect again at once. unauthorized: with another token. silent: once REST has looked. failed: later. */
  kind: 'renew' | 'unauthorized' | 'silent' | 'failed';
  reason: string;
}

export type Taken =
  | { kind: 'answer'; answer: RawAnswer }
  /** Nothing has come in that time. */
  | { kind: 'quiet' }
  /** All that came has been taken. */
  | { kind: 'ended'; end: SocketEnd };

/** One connection and the one subscription on it: frames wait until they are taken, and are acknowledged once they have landed. */
export interface SocketReader {
  /** Waits until it is let in or has ended, but only while it is younger than `ageMs`. @returns whether it is either */
  ready(ageMs: number, signal?: AbortSignal): Promise<boolean>;
  /** Whether what comes next is what follows upon `ask`, or can be: nothing has been asked for yet. */
  follows(ask: Ask): boolean;
  /** Whether something was taken at `ask` and has not landed. */
  isPendingAt(ask: Ask): boolean;
  /** Takes what has come, as one answer to `ask`; subscribes there if it has not yet. */
  take(ask: Ask, withinMs: number, signal?: AbortSignal): Promise<Taken>;
  /** What was taken is safe, and led to `ask`. */
  landed(ask: Ask): void;
  /** Ends the subscription and the connection, and stops the timers. */
  close(): void;
}

export interface SocketReaderOptions {
  target: SocketTarget;
  /** A table, or `-` for all. */
  table: string;
  token: string | undefined;
  /** Understands errors, and answers to subscriptions. */
  interpret: Interpreter;
  bounds: SocketBounds;
}

interface Frame extends SocketPayload {
  acknowledge(): void;
}

/** A server that answers subscriptions has done so by then. */
const BEGIN_MS = 2_000;
/** However small they are. */
const FRAMES_WAITING_MAX = 50_000;

/** Connects, and waits to be asked. */
export function openSocketReader(options: SocketReaderOptions): SocketReader {
  const { target, table, token, interpret, bounds } = options;
  const openedAtMs = performance.now();
  let state: 'connecting' | 'connected' | 'subscribed' = 'connecting';
  let end: SocketEnd | undefined;
  let subscribedAtMs = openedAtMs;
  let hasBegun = false;
  /** Waits for the first frames, or to be taken alone. */
  let beginning: Beginning | undefined;
  const frames: Frame[] = [];
  let waitingBytes = 0;
  let pending: { ask: Ask; frames: Frame[] } | undefined;
  let position: Ask | undefined;
  let watchdog = setTimeout(() => fail(`not let in within ${bounds.connectMs} ms`), bounds.connectMs);
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
      // While something waits here, it is we who are silent.
      if (frames.length > 0 || pending !== undefined) watch();
      else finish({ kind: hasBegun ? 'silent' : 'failed', reason: `silent for ${bounds.silenceMs} ms` });
    }, bounds.silenceMs);
  };
  const refuse = (error: ErrorOutcome, { bytes }: SocketPayload) => {
    if (error.aboutPosition !== 'yes') return fail(`${error.code}: ${error.message}`);
    // It is judged where every answer is.
    frames.push({ kind: 'alone', bytes, acknowledge: () => undefined });
    finish({ kind: 'renew', reason: error.code });
  };
  /** What a stranger sends ends the connection at worst. */
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
          // Some only say that they have heard.
          if (answer.code !== 'MalformedAnswer') refuse(answer, read);
          return;
        }
        const { nextOffset } = answer;
        if (position?.kind === 'offset' && nextOffset !== undefined && nextOffset > position.offset + 1n) {
          return fail('the server does not begin where it was asked to');
        }
        hasBegun = true;
        beginning = { nextOffset, epoch: answer.epoch, clamped: answer.clamped };
        wake();
      }),
      data: guarded((payload, acknowledge) => {
        const frame = readPayload(payload);
        if (frame === undefined) return fail('a frame with nothing in it');
        waitingBytes += frame.bytes.length;
        if (waitingBytes > bounds.bufferBytesMax || frames.length >= FRAMES_WAITING_MAX) {
          return fail('it sends faster than messages land');
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

  /** Waits until something may have changed. @returns false once the time is over */
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
      // Other vendors' subscriptions are known to be to all tables, and may know no such member.
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
      // Cut off before any frame, a subscription has still said where it begins.
      if (beginning?.nextOffset !== undefined) return takeFrames(ask);
      return end === undefined ? { kind: 'quiet' } : { kind: 'ended', end };
    },
    landed(ask) {
      for (const { acknowledge } of pending?.frames ?? []) acknowledge();
      pending = undefined;
      position = ask;
      watch();
    },
    close: () => finish({ kind: 'failed', reason: 'closed' }),
  };
}
