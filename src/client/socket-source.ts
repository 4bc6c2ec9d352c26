import { limits } from '../contract/wire-limits.ts';
import { createNameTable } from '../decode/name-table.ts';
import type { Logger } from '../lib/logger.ts';
import { elapsedOf, MINUTE_MS, SECOND_MS, systemClock } from '../lib/time.ts';
import { type Backoff, backoffMs, type Waiting } from './backoff.ts';
import { createInterpreter } from './interpret.ts';
import { createRestSource, type RawAnswer, type ReadRequest, type RestSourceOptions } from './rest-source.ts';
import {
  defaultSocketBounds,
  openSocketReader,
  type SocketBounds,
  type SocketEnd,
  type SocketReader,
} from './socket-reader.ts';
import type { StreamSource, Transport } from './stream-source.ts';

export interface SocketSourceOptions extends RestSourceOptions {
  /** Default: the path of the contract. */
  socketPath?: string;
  logger: Logger;
  bounds?: Partial<SocketBounds>;
  random?: Waiting['random'];
}

/**
 * Reads a stream over a socket, and over REST while there is no socket. It holds connections and must be
 * closed.
 */
export interface SocketSource extends Required<StreamSource> {
  close(): Promise<void>;
}

/** The waits before a socket that was refused, cut or ended is opened again. */
const backoff: Backoff = {
  baseMs: SECOND_MS,
  maxMs: MINUTE_MS,
  attemptsMax: Number.POSITIVE_INFINITY,
  retryAfterMsMax: MINUTE_MS,
};
/** After this time without an error, earlier failures do not count any more. */
const STEADY_MS = 2 * MINUTE_MS;
/** The number of subscriptions in a row that may be renewed at once although they have delivered no frame. */
const RENEWALS_MAX = 3;

/**
 * Creates a source that reads over a socket from any compatible server. It may change between socket and REST
 * at any message, because both use the same offsets. If no socket can be opened, only the latency is higher.
 */
export function createSocketSource(options: SocketSourceOptions): SocketSource {
  const { logger, table = '-', clock = systemClock, random = Math.random } = options;
  const bounds = { ...defaultSocketBounds, ...options.bounds };
  const rest = createRestSource(options);
  const interpret = createInterpreter(createNameTable());
  let transport: Transport = 'rest';
  let reader: SocketReader | undefined;
  let openedAtMs = 0;
  let failures = 0;
  let retryAtMs = Number.NEGATIVE_INFINITY;
  let renewals = 0;
  let mustRenewToken = false;
  let isLost = true;
  let isClosed = false;

  const drop = () => {
    reader?.close();
    reader = undefined;
  };
  const fail = (reason: string) => {
    drop();
    if (elapsedOf(clock) - openedAtMs >= STEADY_MS) failures = 0;
    failures += 1;
    renewals = 0;
    mustRenewToken = false;
    const retryMs = backoffMs(failures, random, backoff);
    retryAtMs = elapsedOf(clock) + retryMs;
    isLost = true;
    logger[failures === 1 ? 'info' : 'warn']({ reason, failures, retryMs }, 'upstream.socket-lost');
  };
  /** Returns true to connect again at once. */
  const judge = ({ kind, reason }: SocketEnd): boolean => {
    const isTokenTaken = kind === 'unauthorized' && (mustRenewToken || typeof options.token !== 'function');
    if (kind === 'failed' || isTokenTaken || renewals >= RENEWALS_MAX) {
      fail(reason);
      return false;
    }
    drop();
    logger.debug({ reason }, 'upstream.socket-renewed');
    if (kind === 'silent') return false;
    renewals += 1;
    mustRenewToken = kind === 'unauthorized';
    return true;
  };
  const connect = async () => {
    const token = typeof options.token === 'function' ? await options.token(mustRenewToken) : options.token;
    if (isClosed) return undefined;
    openedAtMs = elapsedOf(clock);
    return openSocketReader({ target: options, table, token, interpret, bounds });
  };

  /** Returns `rest` if there is no socket to read from now. */
  const readSocket = async ({
    ask,
    waitSeconds = 1,
    signal,
  }: ReadRequest): Promise<RawAnswer | 'quiet' | 'rest'> => {
    if (reader?.isPendingAt(ask)) {
      fail('its messages could not be stored');
      return 'rest';
    }
    if (reader && !reader.follows(ask)) drop();
    // This loop is bounded, because each turn but the last uses up a renewal.
    for (;;) {
      if (reader === undefined && (isClosed || elapsedOf(clock) < retryAtMs)) return 'rest';
      reader ??= await connect();
      // Closing the source drops its reader while it waits here.
      const current = reader;
      if (current === undefined || !(await current.ready(bounds.graceMs, signal)) || reader !== current)
        return 'rest';
      const taken = await current.take(ask, waitSeconds * SECOND_MS, signal);
      switch (taken.kind) {
        case 'answer':
          return taken.answer;
        case 'quiet':
          return 'quiet';
        case 'ended':
          if (!judge(taken.end)) return 'rest';
          break;
        default:
          return taken satisfies never;
      }
    }
  };

  return {
    get transport() {
      return transport;
    },
    async fetch(request) {
      // A socket has no limit of messages, so a smaller limit is requested over REST.
      const wantsLess = (request.messagesMax ?? limits.messagesPerReadMax) < limits.messagesPerReadMax;
      if (wantsLess) drop();
      const read = wantsLess ? 'rest' : await readSocket(request);
      transport = read === 'rest' ? 'rest' : 'socket';
      if (read === 'rest') return rest.fetch(request);
      if (isLost) logger.info({}, 'upstream.socket-open');
      isLost = false;
      return read === 'quiet' ? undefined : read;
    },
    noteLanded(ask) {
      if (transport === 'rest' || !reader?.noteLanded(ask)) return;
      renewals = 0;
      mustRenewToken = false;
    },
    recycle: rest.recycle,
    async close() {
      isClosed = true;
      drop();
      await rest.close();
    },
  };
}
