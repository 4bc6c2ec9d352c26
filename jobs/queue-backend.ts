import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createPostgresBackend, createRedisBackend, runMigrations } from 'bullmq';
import { Redis } from 'ioredis';
import type { Config } from '../src/config/config.ts';
import { errorMessage, TransientError } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { SECOND_MS } from '../src/lib/time.ts';
import { openEmbeddedPostgres, tidyEmbeddedPostgres } from './embedded-postgres.ts';
import { createLocalLeases, createRedisLeases, type Leases } from './lease.ts';
import { createPglitePool } from './pglite-pool.ts';
import { openShardQueue, type ShardQueue } from './shard-queue.ts';

/** The store of ticks and leases: embedded in this process, or in Redis and shared. */
export interface QueueBackend {
  readonly kind: 'pglite' | 'redis';
  readonly workerId: string;
  readonly leases: Leases;
  queue(workgroupId: string): ShardQueue;
  /** Calls back when the store is reachable again after an outage. It may have lost everything. */
  onRecovered(listener: () => void): void;
  /** Bounds the growth of the store. */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

/** A worker without renewal counts as dead after this time, and another worker takes its shards. */
export const LEASE_MS = 10 * SECOND_MS;
/** The prefix of all our keys in Redis. */
const PREFIX = 'wattline';
/** Lease commands fail after this time, well before the lease ends. */
const COMMAND_TIMEOUT_MS = 2 * SECOND_MS;

/** Opens the configured backend. */
export async function openBackend(options: {
  config: Pick<Config, 'queue' | 'dataDir'>;
  logger: Logger;
  leaseMs?: number;
}): Promise<QueueBackend> {
  const { config, logger, leaseMs = LEASE_MS } = options;
  switch (config.queue.backend) {
    case 'pglite':
      return openPglite({ cacheDir: join(config.dataDir, 'queue'), logger, leaseMs });
    case 'redis':
      return openRedis({ url: config.queue.redisUrl ?? '', logger, leaseMs });
    default:
      return config.queue.backend satisfies never;
  }
}

async function openPglite(options: {
  cacheDir: string;
  logger: Logger;
  leaseMs: number;
}): Promise<QueueBackend> {
  const { logger, leaseMs } = options;
  const database = await openEmbeddedPostgres(options);
  const pool = createPglitePool(database);
  const client = await pool.connect();
  try {
    await runMigrations(client);
    await client.query('SET search_path TO bullmq');
  } finally {
    client.release();
  }
  return {
    kind: 'pglite',
    workerId: randomUUID(),
    leases: createLocalLeases(leaseMs),
    queue: (workgroupId) =>
      openShardQueue(workgroupId, { options: { connection: pool }, factory: createPostgresBackend }, logger),
    onRecovered: () => undefined,
    tidy: () => tidyEmbeddedPostgres(pool),
    async close() {
      await pool.end();
      await database.close();
    },
  };
}

async function openRedis(options: { url: string; logger: Logger; leaseMs: number }): Promise<QueueBackend> {
  const { url, logger, leaseMs } = options;
  const workerId = randomUUID();
  const retryStrategy = (attempt: number) => Math.min(attempt * 100, SECOND_MS);
  // Queue commands wait for the store. Lease commands fail fast, because the lease runs out in the meantime.
  const queueConnection = new Redis(url, { maxRetriesPerRequest: null, retryStrategy, lazyConnect: true });
  const leaseConnection = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    retryStrategy,
    lazyConnect: true,
  });
  const watch = watchConnection(queueConnection, logger);
  leaseConnection.on('error', () => undefined);
  try {
    await Promise.all([queueConnection.connect(), leaseConnection.connect()]);
    await warnOfEviction(queueConnection, logger);
  } catch (error) {
    queueConnection.disconnect();
    leaseConnection.disconnect();
    throw new TransientError(
      'QueueUnreachable',
      `Redis at ${new URL(url).host} cannot be used (${watch.lastError() ?? errorMessage(error)}); start it, or set queue.redisUrl`,
      { cause: error },
    );
  }
  watch.begin();
  return {
    kind: 'redis',
    workerId,
    leases: createRedisLeases(leaseConnection, { workerId, leaseMs, prefix: PREFIX }),
    queue: (workgroupId) =>
      openShardQueue(
        workgroupId,
        { options: { connection: queueConnection, prefix: `${PREFIX}:queue` }, factory: createRedisBackend },
        logger,
      ),
    onRecovered: watch.onRecovered,
    tidy: async () => undefined,
    async close() {
      watch.end();
      queueConnection.disconnect();
      leaseConnection.disconnect();
    },
  };
}

/** Logs an outage once when it begins and once when it ends. */
function watchConnection(redis: Redis, logger: Logger) {
  const listeners: Array<() => void> = [];
  let state: 'not-watched' | 'reachable' | 'unreachable' = 'not-watched';
  let lastError: string | undefined;
  redis.on('error', (error) => {
    lastError = errorMessage(error);
  });
  redis.on('close', () => {
    if (state !== 'reachable') return;
    state = 'unreachable';
    logger.error({ error: lastError ?? 'the connection closed' }, 'queue.unreachable');
  });
  redis.on('ready', () => {
    if (state !== 'unreachable') return;
    state = 'reachable';
    logger.info({}, 'queue.reachable');
    for (const listener of listeners) listener();
  });
  return {
    begin: () => {
      state = 'reachable';
    },
    end: () => {
      state = 'not-watched';
    },
    lastError: () => lastError,
    onRecovered: (listener: () => void) => void listeners.push(listener),
  };
}

/** A Redis that evicts keys would silently drop jobs and leases. */
async function warnOfEviction(redis: Redis, logger: Logger): Promise<void> {
  const policy = /maxmemory_policy:(\S+)/.exec(await redis.info('memory'))?.[1];
  if (policy && policy !== 'noeviction') {
    logger.warn({ policy, needed: 'noeviction' }, 'queue.redis-may-evict');
  }
}
