import { Pool } from 'undici';
import { decodeCbor } from '../cbor/cbor-codec.ts';
import {
  type Backoff,
  parseRetryAfter,
  systemWaiting,
  type Waiting,
  withRetries,
} from '../client/backoff.ts';
import { type ExchangeTimeouts, exchange } from '../client/exchange.ts';
import { tablePath } from '../contract/table-path.ts';
import { limits } from '../contract/wire-limits.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import { MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import type { SiteItem } from './arrivals.ts';
import type { Site } from './create-site.ts';

interface SimulationOptions {
  site: Site;
  /** The URL before `/api/v1/...`. */
  url: string;
  workgroup: string;
  /** A token with the permission `data:write`. */
  token: string;
  /**
   * Simulated seconds in a second, until the site has reached the clock. Then it follows the clock, because
   * readings of the future are refused. `Infinity` catches up at once. Default: 1.
   */
  speed?: number;
  /**
   * The simulation ends when everything that arrives before this instant was sent. Default: it runs until it
   * is aborted.
   */
  untilMs?: UtcMs;
  itemsPerRequestMax?: number;
  /** The time between two sends, in ms of real time. */
  sendEveryMs?: number;
  signal?: AbortSignal;
  logger?: Logger;
  waiting?: Waiting;
  backoff?: Backoff;
}

export interface SimulationReport {
  /** Items that the server has accepted, repeated items included. */
  items: number;
  itemsByTable: Record<string, number>;
  requests: number;
  retries: number;
  /** Everything that arrives before this instant was sent. */
  simulatedUntilMs: UtcMs;
}

const timeouts: ExchangeTimeouts = { headersMs: 30 * SECOND_MS, bodyMs: 15 * SECOND_MS, totalMs: MINUTE_MS };
const ANSWER_BYTES_MAX = MEBIBYTE;

/**
 * Runs a site and posts the messages of its devices.
 * @returns the sent messages, when `untilMs` is reached or the signal aborts
 * @throws TransientError if the server refused too often; TerminalError if it does not accept the messages
 */
export async function runSimulation(options: SimulationOptions): Promise<SimulationReport> {
  const { site, speed = 1, untilMs = Number.POSITIVE_INFINITY, sendEveryMs = 500, signal } = options;
  const { itemsPerRequestMax = 2_000, logger = silentLogger, waiting = systemWaiting } = options;
  const report: SimulationReport = {
    items: 0,
    itemsByTable: {},
    requests: 0,
    retries: 0,
    simulatedUntilMs: site.startMs,
  };
  const pool = new Pool(new URL(options.url).origin, { connections: 2, allowH2: false });
  const startedAtMs = waiting.clock.now();
  try {
    for (;;) {
      signal?.throwIfAborted();
      const nowMs = waiting.clock.now();
      const toMs = Math.min(untilMs, simulatedTime(site.startMs, nowMs, nowMs - startedAtMs, speed));
      for (const { table, items } of collect(site, toMs, itemsPerRequestMax)) {
        await send(options, pool, table, items, report, waiting, logger);
      }
      report.simulatedUntilMs = Math.max(report.simulatedUntilMs, toMs);
      if (toMs >= untilMs) return report;
      await waiting.sleep(Math.max(0, sendEveryMs - (waiting.clock.now() - nowMs)), signal);
    }
  } catch (error) {
    if (signal?.aborted) return report;
    throw error;
  } finally {
    await pool.destroy();
    logger.info({ ...report, durationMs: waiting.clock.now() - startedAtMs }, 'simulate.end');
  }
}

/** The simulated instant. It moves faster than the clock while it is behind it. */
function simulatedTime(startMs: UtcMs, nowMs: UtcMs, elapsedMs: number, speed: number): UtcMs {
  if (speed === Number.POSITIVE_INFINITY) return nowMs;
  return Math.min(nowMs, startMs + elapsedMs * speed);
}

/** Collects the arrivals up to an instant into requests, each table's in order. */
function* collect(
  site: Site,
  untilMs: UtcMs,
  itemsMax: number,
): Generator<{ table: string; items: SiteItem[] }> {
  const waiting = new Map<string, SiteItem[]>();
  for (const { table, items } of site.messagesUntil(untilMs)) {
    const gathered = waiting.get(table) ?? [];
    gathered.push(...items);
    while (gathered.length >= itemsMax) yield { table, items: gathered.splice(0, itemsMax) };
    waiting.set(table, gathered);
  }
  for (const [table, items] of waiting) if (items.length > 0) yield { table, items };
}

/**
 * Posts one request, and repeats it while the server is busy. A repetition does no harm, because readings are
 * identified by their time.
 */
async function send(
  { url, workgroup, token, signal, backoff }: SimulationOptions,
  pool: Pool,
  table: string,
  items: SiteItem[],
  report: SimulationReport,
  waiting: Waiting,
  logger: Logger,
): Promise<void> {
  const base = new URL(url);
  const request = {
    origin: base.origin,
    path: tablePath(base, workgroup, table, 'messages'),
    method: 'POST' as const,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(items),
  };
  await withRetries(
    async () => {
      report.requests++;
      const answer = await exchange(pool, request, {
        timeouts,
        bytesMax: ANSWER_BYTES_MAX,
        signal,
      });
      if (answer.status >= 200 && answer.status < 300) return;
      const message = `the ingest of table ${table} answered with status ${answer.status}: ${errorText(answer.bytes)}`;
      if (answer.status !== 408 && answer.status !== 429 && answer.status < 500) {
        throw new TerminalError('IngestRefused', message, { details: { status: answer.status } });
      }
      const header = answer.headers['retry-after'];
      const retryAfterMs = parseRetryAfter(Array.isArray(header) ? header[0] : header, waiting.clock.now());
      throw new TransientError('IngestBusy', message, { details: { status: answer.status, retryAfterMs } });
    },
    {
      waiting,
      backoff,
      signal,
      onRetry: () => report.retries++,
    },
  );
  report.items += items.length;
  report.itemsByTable[table] = (report.itemsByTable[table] ?? 0) + items.length;
  logger.debug({ table, items: items.length }, 'simulate.send');
}

/** The text of an error answer in CBOR or JSON; empty for other answers. */
function errorText(bytes: Uint8Array): string {
  for (const decode of [
    decodeCbor,
    (given: Uint8Array) => JSON.parse(Buffer.from(given).toString()) as unknown,
  ]) {
    try {
      const value = decode(bytes);
      if (typeof value === 'object' && value !== null && 'message' in value) {
        return String(value.message).slice(0, limits.nameCharactersMax * 2);
      }
    } catch {}
  }
  return 'no reason given';
}
