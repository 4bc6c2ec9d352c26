import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { encodeCbor } from '../cbor/cbor-codec.ts';
import { parseRetryAfter } from '../client/backoff.ts';
import { exchange } from '../client/exchange.ts';
import { WILDCARD_TABLE } from '../contract/messages.ts';
import { errorMessage } from '../lib/errors.ts';
import { SECOND_MS, systemClock } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { Breach, NotTestable } from './breach.ts';
import { type Item, readItem } from './cbor-item.ts';
import type { Sent } from './sent-request.ts';
import type { Answer } from './server-answer.ts';
import type { Target } from './target.ts';

export interface ReadOptions {
  table?: string;
  workgroup?: string;
  /** Null for a request without an Authorization header. */
  token?: string | null;
  /** True if the server may wait for messages. Otherwise it is asked not to wait (RFC 7240). */
  held?: boolean;
}

interface SendOptions {
  table?: string;
  token?: string;
}

/** Sends requests to a server: a bounded number, and one after another, except while a read is held. */
export interface Probe {
  readonly target: Target;
  /** The table that rules read: a table of the probe itself if it may write. */
  readonly table: string;
  /** A table without writers. */
  readonly quietTable: string;
  /** A device that only the probe's messages have. */
  readonly device: string;
  /** All error answers so far, in order. */
  readonly errors: readonly Answer[];
  /** Sends GET latest with the query. @throws Breach if there is no answer */
  read(query: string, options?: ReadOptions): Promise<Answer>;
  /** Sends POST messages: items as CBOR, or a body of any type. @throws Breach if there is no answer */
  send(body: unknown[] | { type: string; body: string | Uint8Array }, options?: SendOptions): Promise<Answer>;
  /** Runs `make` once for each key and returns its result to all callers. */
  once<Result>(key: string, make: () => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

const REQUESTS_MAX = 1_000;
const WAITS_MAX = 5;
const RETRY_AFTER_MS_MAX = 30 * SECOND_MS;
/** They allow for a read that the server holds for 20 s. */
const timeouts = { headersMs: 30 * SECOND_MS, bodyMs: 15 * SECOND_MS, totalMs: 60 * SECOND_MS };
const ANSWER_BYTES_MAX = 64 * MEBIBYTE;

export function createProbe(target: Target, signal: AbortSignal): Probe {
  const base = new URL(target.url);
  const path = `${base.pathname.replace(/\/+$/, '')}/api/v1/tables`;
  const pool = new Pool(base.origin, { connections: 4, pipelining: 1, allowH2: false });
  const made = new Map<string, Promise<unknown>>();
  const errors: Answer[] = [];
  const ownTable = `conformance_${randomBytes(4).toString('hex')}`;
  let requests = 0;

  async function request(sent: Sent & { kind: 'http' }, pathAndQuery: string): Promise<Answer> {
    for (let waits = 0; ; waits++) {
      if (++requests > REQUESTS_MAX) throw new NotTestable(`${REQUESTS_MAX} requests were sent already`);
      const answer = await requestOnce(sent, pathAndQuery);
      if (answer.status >= 400) errors.push(answer);
      if (answer.status !== 429 || waits === WAITS_MAX) return answer;
      const waitMs = parseRetryAfter(answer.header('retry-after'), systemClock.now()) ?? SECOND_MS;
      await sleep(Math.min(waitMs, RETRY_AFTER_MS_MAX), undefined, { signal });
    }
  }

  async function requestOnce(sent: Sent & { kind: 'http' }, pathAndQuery: string): Promise<Answer> {
    const { token, headers, body } = sent;
    const startedMs = performance.now();
    const options = { timeouts, bytesMax: ANSWER_BYTES_MAX, signal };
    const authorization: Record<string, string> =
      token === undefined ? {} : { authorization: `Bearer ${token}` };
    const request = {
      origin: base.origin,
      path: pathAndQuery,
      method: body === undefined ? ('GET' as const) : ('POST' as const),
      headers: { 'user-agent': 'wattline-conformance', ...headers, ...authorization },
      ...(body !== undefined && { body }),
    };
    try {
      const { status, headers: received, bytes } = await exchange(pool, request, options);
      const header = (name: string) => {
        const value = received[name];
        return Array.isArray(value) ? value.join(', ') : value;
      };
      const endedMs = performance.now();
      return { sent, status, header, bytes, ...decode(bytes), startedMs, endedMs };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw new Breach(`no answer: ${errorMessage(error)}`, sent);
    }
  }

  return {
    target,
    table: target.write ? ownTable : (target.table ?? WILDCARD_TABLE),
    quietTable: `${ownTable}_quiet`,
    device: randomUUID(),
    errors,
    read(query, options = {}) {
      const {
        workgroup = target.workgroup,
        table = this.table,
        token = target.token,
        held = false,
      } = options;
      const pathAndQuery = `${path}/${encodeURIComponent(workgroup)}/${encodeURIComponent(table)}/latest${query && `?${query}`}`;
      return request(
        {
          kind: 'http',
          url: `${base.origin}${pathAndQuery}`,
          token: token ?? undefined,
          headers: held ? {} : { prefer: 'wait=0' },
        },
        pathAndQuery,
      );
    },
    send(given, options = {}) {
      const { table = ownTable, token = target.token } = options;
      const pathAndQuery = `${path}/${encodeURIComponent(target.workgroup)}/${encodeURIComponent(table)}/messages`;
      const { type, body } = Array.isArray(given)
        ? { type: 'application/cbor', body: encodeCbor(given) }
        : given;
      return request(
        {
          kind: 'http',
          url: `${base.origin}${pathAndQuery}`,
          token,
          headers: { 'content-type': type },
          body,
        },
        pathAndQuery,
      );
    },
    once<Result>(key: string, make: () => Promise<Result>) {
      const found = made.get(key) ?? make();
      made.set(key, found);
      return found as Promise<Result>;
    },
    close: () => pool.destroy(),
  };
}

function decode(bytes: Uint8Array): { item: Item | undefined; problem: string | undefined } {
  try {
    return { item: readItem(bytes), problem: undefined };
  } catch (error) {
    return { item: undefined, problem: errorMessage(error) };
  }
}
