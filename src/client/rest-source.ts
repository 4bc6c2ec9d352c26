import type { Pool } from 'undici';
import { tablePath } from '../contract/table-path.ts';
import { limits } from '../contract/wire-limits.ts';
import { TerminalError } from '../lib/errors.ts';
import { openOnce } from '../lib/open-once.ts';
import { type Clock, SECOND_MS, systemClock } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { parseRetryAfter } from './backoff.ts';
import { type Exchange, type ExchangeTimeouts, exchange } from './exchange.ts';
import type { Ask } from './position.ts';

/** The answer of a server before it is decoded. Plain values, so that another thread can decode it. */
export interface RawAnswer {
  status: number;
  /** Lower case, without parameters; empty if there is none. */
  contentType: string;
  contentEncoding: string;
  bytes: Uint8Array<ArrayBuffer>;
  /** The text of the header `Stream-Next-Offset`. */
  nextOffset: string | undefined;
  upToDate: boolean | undefined;
  retryAfterMs: number | undefined;
  /** The number of messages after these, if the server states it (`Stream-Lag-Messages`). */
  lagMessages: number | undefined;
  durationMs: number;
}

export interface ReadRequest {
  ask: Ask;
  /** The largest number of messages; default: the limit of the contract. */
  messagesMax?: number;
  /**
   * Seconds for which a server may hold the request (`Prefer: wait`, RFC 7240). Not all servers support it. 0
   * means an answer at once; our own server supports fractions.
   */
  waitSeconds?: number;
  signal?: AbortSignal;
}

/** Reads a stream over REST. It holds connections and must be closed. */
export interface RestSource {
  /**
   * Sends one read and returns the answer, for any HTTP status. `interpret` decodes it.
   * @throws TransientError if there is no complete answer; TerminalError if the answer is too large or a
   *   redirect leads to another origin; the signal's reason if it aborts
   */
  fetch(request: ReadRequest): Promise<RawAnswer>;
  /**
   * Takes a buffer back after its answer was interpreted, and uses it for the next one. New memory would cost
   * megabytes of page faults for each read.
   */
  recycle(buffer: ArrayBuffer): void;
  close(): Promise<void>;
}

/** A bearer token, or a function that returns one. `renew` is true if the last token was refused. */
export type TokenSource = string | ((renew: boolean) => string | Promise<string>);

export interface RestSourceOptions {
  /** The URL before `/api/v1/...`; it may have a path. */
  url: string;
  workgroup: string;
  /** A table, or `-` for all tables. */
  table?: string;
  token?: TokenSource;
  /** The largest answer. Default: 64 MiB, far more than a server of the contract sends. */
  bytesMax?: number;
  timeouts?: Partial<ExchangeTimeouts>;
  connectionsMax?: number;
  clock?: Clock;
}

/** All limits but `bodyMs` are longer than a server of the contract may hold a request. */
const defaultTimeouts: ExchangeTimeouts = {
  headersMs: limits.readHoldMsMax + 10_000,
  bodyMs: 15 * SECOND_MS,
  totalMs: limits.readHoldMsMax + 40_000,
};
const REDIRECTS_MAX = 3;
/** One for the current read, and one for the answer that is being landed. */
const SPARE_BUFFERS_MAX = 2;
const SPARE_BYTES_MIN = 64 * 1024;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** Creates a source for any compatible server. It connects at the first use. */
export function createRestSource(options: RestSourceOptions): RestSource {
  const base = new URL(options.url);
  const path = tablePath(base, options.workgroup, options.table ?? '-', 'latest');
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const bytesMax = options.bytesMax ?? 64 * MEBIBYTE;
  const clock = options.clock ?? systemClock;
  const pool = openOnce(async (): Promise<Pool> => {
    const undici = await import('undici');
    return new undici.Pool(base.origin, {
      connections: options.connectionsMax ?? 2,
      pipelining: 1,
      allowH2: false,
      connectTimeout: Math.min(10_000, timeouts.totalMs),
      keepAliveTimeout: 10_000,
    });
  });

  const spare: ArrayBuffer[] = [];
  const allocate = (bytes: number): ArrayBuffer => {
    const found = spare.findIndex((buffer) => buffer.byteLength >= bytes);
    if (found !== -1) return spare.splice(found, 1)[0]!;
    return Buffer.allocUnsafeSlow(Math.max(bytes, SPARE_BYTES_MIN)).buffer;
  };

  /**
   * Sends one GET. It follows redirects within the origin only, because no other origin may get the token.
   */
  async function get(
    pathAndQuery: string,
    headers: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Exchange> {
    const opened = await pool.get();
    let url = new URL(pathAndQuery, base.origin);
    for (let redirects = 0; ; redirects++) {
      const request = {
        origin: base.origin,
        path: url.pathname + url.search,
        method: 'GET' as const,
        headers,
      };
      const answer = await exchange(opened, request, {
        timeouts,
        bytesMax,
        allocate,
        signal,
      });
      const location = answer.headers.location;
      if (!REDIRECTS.includes(answer.status) || location === undefined) return answer;
      const target = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
      if (target?.origin !== base.origin || redirects === REDIRECTS_MAX) {
        throw new TerminalError(
          'RedirectRefused',
          `${base.origin} redirects to ${target?.origin ?? 'something that is not an address'}; put the final address into the configuration`,
          { details: { status: answer.status } },
        );
      }
      url = target;
    }
  }

  async function bearer(renew: boolean): Promise<string | undefined> {
    return typeof options.token === 'function' ? options.token(renew) : options.token;
  }

  return {
    async fetch({ ask, messagesMax = limits.messagesPerReadMax, waitSeconds, signal }) {
      const pathAndQuery = `${path}?${query(ask, messagesMax)}`;
      const headers: Record<string, string> = {
        accept: 'application/cbor, application/cbor-seq;q=0.9, application/json;q=0.8',
        // Compression costs more time than it saves, except on slow networks, where a proxy can do it.
        'accept-encoding': 'identity',
        'user-agent': 'wattline',
        ...(waitSeconds !== undefined && { prefer: `wait=${waitSeconds}` }),
      };
      const startMs = performance.now();
      const token = await bearer(false);
      let answer = await get(pathAndQuery, authorized(headers, token), signal);
      if (answer.status === 401 && typeof options.token === 'function') {
        const renewed = await bearer(true);
        // An expired token costs no message, because the same request is sent again with the new token.
        if (renewed !== token) answer = await get(pathAndQuery, authorized(headers, renewed), signal);
      }
      return rawAnswer(answer, performance.now() - startMs, clock);
    },
    recycle(buffer) {
      // A buffer that was transferred and not returned has no bytes.
      if (buffer.byteLength < SPARE_BYTES_MIN || spare.includes(buffer)) return;
      spare.push(buffer);
      if (spare.length > SPARE_BUFFERS_MAX) spare.shift();
    },
    close: async () => (await pool.ifOpened())?.destroy(),
  };
}

function query(ask: Ask, messagesMax: number): string {
  switch (ask.kind) {
    case 'offset':
      return `offset=${ask.offset}&limit=${messagesMax}`;
    case 'timestamp':
      return `timestamp=${ask.timestampMs}&limit=${messagesMax}`;
    case 'oldest':
      return `limit=${messagesMax}`;
    default:
      return ask satisfies never;
  }
}

function authorized(headers: Record<string, string>, token: string | undefined): Record<string, string> {
  return token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
}

function rawAnswer({ status, headers, bytes }: Exchange, durationMs: number, clock: Clock): RawAnswer {
  const text = (name: string) => {
    const value = headers[name];
    return Array.isArray(value) ? value[0] : value;
  };
  const upToDate = text('stream-up-to-date')?.trim().toLowerCase();
  const lag = text('stream-lag-messages')?.trim() ?? '';
  return {
    status,
    contentType: (text('content-type') ?? '').split(';')[0]!.trim().toLowerCase(),
    contentEncoding: (text('content-encoding') ?? '').trim().toLowerCase(),
    bytes,
    nextOffset: text('stream-next-offset')?.trim(),
    upToDate: upToDate === 'true' ? true : upToDate === 'false' ? false : undefined,
    retryAfterMs: parseRetryAfter(text('retry-after'), clock.now()),
    lagMessages: /^\d{1,15}$/.test(lag) ? Number(lag) : undefined,
    durationMs: Math.round(durationMs * 10) / 10,
  };
}
