import { Pool } from 'undici';
import { limits } from '../contract/wire-limits.ts';
import { TerminalError } from '../lib/errors.ts';
import { type Clock, systemClock } from '../lib/time.ts';
import { type Exchange, type ExchangeTimeouts, exchange } from './exchange.ts';
import type { Ask } from './position.ts';
import { parseRetryAfter } from './with-retries.ts';

/** What a server answered, not yet understood. Plain values, so that it can be handed to another thread. */
export interface RawAnswer {
  status: number;
  /** Lower case, without parameters; empty where there was none. */
  contentType: string;
  contentEncoding: string;
  bytes: Uint8Array<ArrayBuffer>;
  /** The header `Stream-Next-Offset` as it came. */
  nextOffset: string | undefined;
  upToDate: boolean | undefined;
  retryAfterMs: number | undefined;
  /** How many messages the server still has for this reader after these, where it says (`Stream-Lag-Messages`). */
  lagMessages: number | undefined;
  durationMs: number;
}

export interface ReadRequest {
  ask: Ask;
  /** Messages wanted at most; default: what the contract allows. */
  messagesMax?: number;
  /** How long a server that knows `Prefer: wait` (RFC 7240) may hold the request; others take their own time. 0 is "answer
   * at once"; fractions are understood by our own server. */
  waitSeconds?: number;
  signal?: AbortSignal;
}

/** Reads a stream over REST. Holds connections: close it. */
export interface RestSource {
  /**
   * One read. Any HTTP status is an answer; understanding it is `interpret`'s part.
   * @throws TransientError when nothing (or not all) came back; TerminalError when the answer is too large or a redirect
   *   leaves the origin; the signal's reason when aborted
   */
  fetch(request: ReadRequest): Promise<RawAnswer>;
  /**
   * Takes back the buffer of an answer that nobody looks at any more (after `interpret`), for the next one: memory that
   * is fresh from the system costs megabytes of page faults a read.
   */
  recycle(buffer: ArrayBuffer): void;
  close(): Promise<void>;
}

/** A bearer token, or where to get one. `renew` is true when the last one was refused. */
export type TokenSource = string | ((renew: boolean) => string | Promise<string>);

export interface RestSourceOptions {
  /** Where `/api/v1/...` begins; may have a path of its own. */
  url: string;
  workgroup: string;
  /** A table, or `-` for all. */
  table?: string;
  token?: TokenSource;
  /** Larger answers are refused. Default 64 MiB, far above what the contract sends. */
  bytesMax?: number;
  timeouts?: Partial<ExchangeTimeouts>;
  connectionsMax?: number;
  clock?: Clock;
}

/** Every watchdog but the one between two pieces is longer than a server of the contract may hold a request. */
export const defaultTimeouts: ExchangeTimeouts = {
  headersMs: limits.readHoldMsMax + 10_000,
  bodyMs: 15_000,
  totalMs: limits.readHoldMsMax + 40_000,
};
const REDIRECTS_MAX = 3;
/** A poll and the one before it, which is being landed. */
const SPARE_BUFFERS_MAX = 2;
const SPARE_BYTES_MIN = 64 * 1024;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** A source of any server of the stream contract, ours or another vendor's. Connects on first use. */
export function createRestSource(options: RestSourceOptions): RestSource {
  const base = new URL(options.url);
  const path = `${base.pathname.replace(/\/+$/, '')}/api/v1/tables/${encodeURIComponent(options.workgroup)}/${encodeURIComponent(options.table ?? '-')}/latest`;
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const bytesMax = options.bytesMax ?? 64 * 1024 * 1024;
  const clock = options.clock ?? systemClock;
  const pool = new Pool(base.origin, {
    connections: options.connectionsMax ?? 2,
    pipelining: 1,
    allowH2: false,
    connectTimeout: Math.min(10_000, timeouts.totalMs),
    keepAliveTimeout: 10_000,
  });

  const spare: ArrayBuffer[] = [];
  const allocate = (bytes: number): ArrayBuffer => {
    const found = spare.findIndex((buffer) => buffer.byteLength >= bytes);
    if (found !== -1) return spare.splice(found, 1)[0]!;
    return Buffer.allocUnsafeSlow(Math.max(bytes, SPARE_BYTES_MIN)).buffer;
  };

  /** One GET, following redirects within the origin; elsewhere the token must not go. */
  async function get(
    pathAndQuery: string,
    headers: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Exchange> {
    let url = new URL(pathAndQuery, base.origin);
    for (let redirects = 0; ; redirects++) {
      const request = {
        origin: base.origin,
        path: url.pathname + url.search,
        method: 'GET' as const,
        headers,
      };
      const answer = await exchange(pool, request, {
        timeouts,
        bytesMax,
        allocate,
        ...(signal && { signal }),
      });
      const location = answer.headers.location;
      if (!REDIRECTS.includes(answer.status) || location === undefined) return answer;
      const target = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
      if (target?.origin !== base.origin || redirects === REDIRECTS_MAX) {
        throw new TerminalError(
          'RedirectRefused',
          `${base.origin} redirects to ${target?.origin ?? 'an address that is none'}; put the final address into the configuration`,
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
        // Decompressing costs more than it saves except on slow networks, where a proxy can do it.
        'accept-encoding': 'identity',
        'user-agent': 'wattline',
        ...(waitSeconds !== undefined && { prefer: `wait=${Math.max(0, waitSeconds)}` }),
      };
      const startMs = performance.now();
      const token = await bearer(false);
      let answer = await get(pathAndQuery, authorized(headers, token), signal);
      if (answer.status === 401 && typeof options.token === 'function') {
        const renewed = await bearer(true);
        // The same question with the new token: a token that ran out costs no message.
        if (renewed !== token) answer = await get(pathAndQuery, authorized(headers, renewed), signal);
      }
      return rawAnswer(answer, performance.now() - startMs, clock);
    },
    recycle(buffer) {
      // A buffer that was transferred away and not back has no bytes.
      if (buffer.byteLength < SPARE_BYTES_MIN || spare.includes(buffer)) return;
      spare.push(buffer);
      if (spare.length > SPARE_BUFFERS_MAX) spare.shift();
    },
    close: () => pool.destroy(),
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
