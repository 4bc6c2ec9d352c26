import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Config } from '../src/config/config.ts';
import { errorMessage, TransientError } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { SECOND_MS } from '../src/lib/time.ts';
import { createRedisClients } from '../src/redis/redis-clients.ts';
import { KEY_PREFIX } from '../src/redis/redis-keys.ts';
import { createRedisSubscriptions } from '../src/redis/redis-subscriptions.ts';
import { watchOutage } from '../src/redis/watch-outage.ts';
import type { JobQueue } from './job-queue.ts';
import {
  createLocalLeases,
  createRedisLeases,
  LEASE_MS,
  type Leases,
  releasedChannel,
  workerChannel,
} from './leases.ts';
import { openEmbeddedQueue } from './open-embedded-queue.ts';

/** The store of jobs and leases: embedded in this process, or in Redis and shared. */
export interface QueueBackend {
  readonly kind: 'pglite' | 'redis';
  readonly workerId: string;
  readonly leases: Leases;
  readonly channel: WorkerChannel;
  /** Opens the queue of the jobs. It can be opened again after it was closed. */
  openQueue(): Promise<JobQueue>;
  /** Calls back when the store is reachable again after an outage. It may have lost everything. */
  onRecovered(listener: () => void): void;
  /** Bounds the growth of the store. */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

/** Messages between workers. A message can be lost, like a job. */
interface WorkerChannel {
  /** @returns false if the worker is not there */
  tell(workerId: string, message: string): Promise<boolean>;
  /** @returns false if there is no other worker */
  tellOthers(message: string): Promise<boolean>;
  /** Messages to this worker, and to all. A worker also receives its own news. */
  onTold(listener: (message: string) => void): void;
  /** Calls back when another worker has released a workgroup that needs a worker. */
  onReleased(listener: () => void): void;
}

const ALL_WORKERS = `${KEY_PREFIX}:workers:news`;
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

/** The queue itself is opened later, because it takes seconds, and shards do not need it. */
function openPglite(options: { cacheDir: string; logger: Logger; leaseMs: number }): QueueBackend {
  let tidy = async () => {};
  return {
    kind: 'pglite',
    workerId: randomUUID(),
    leases: createLocalLeases(options.leaseMs),
    channel: {
      tell: async () => false,
      tellOthers: async () => false,
      onTold: () => undefined,
      onReleased: () => undefined,
    },
    async openQueue() {
      const queue = await openEmbeddedQueue(options);
      tidy = () => queue.tidy();
      return {
        ...queue,
        async close() {
          tidy = async () => {};
          await queue.close();
        },
      };
    },
    onRecovered: () => undefined,
    tidy: () => tidy(),
    close: async () => undefined,
  };
}

async function openRedis(options: { url: string; logger: Logger; leaseMs: number }): Promise<QueueBackend> {
  const { url, logger, leaseMs } = options;
  const workerId = randomUUID();
  const released = releasedChannel(KEY_PREFIX);
  // Lease commands fail soon, because the lease runs out meanwhile. Queue commands wait for the store.
  const { commands: leaseConnection, subscriber: toldConnection } = await createRedisClients({
    url,
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    isWatched: () => true,
  });
  const queueConnection = toldConnection.duplicate();
  const connections = [queueConnection, leaseConnection, toldConnection];
  let isClosed = false;
  const { host } = new URL(url);
  const outage = watchOutage(queueConnection, host, 'queue', logger);
  const news = new EventEmitter<{ told: [message: string]; released: []; recovered: [] }>();
  try {
    await Promise.all(connections.map((connection) => connection.connect()));
    await warnOfEviction(queueConnection, logger);
    const { subscribe } = createRedisSubscriptions(toldConnection);
    const onMessage = (message: string) => news.emit('told', message);
    await subscribe(workerChannel(KEY_PREFIX, workerId), onMessage);
    await subscribe(ALL_WORKERS, onMessage);
    await subscribe(released, (id) => {
      if (id !== workerId) news.emit('released');
    });
    await removeOldQueues(queueConnection);
  } catch (error) {
    for (const connection of connections) connection.disconnect();
    throw new TransientError(
      'QueueUnreachable',
      `Redis at ${host} cannot be used (${outage.lastProblem() ?? errorMessage(error)}); start it, or set queue.redisUrl`,
      { cause: error },
    );
  }
  outage.begin();
  queueConnection.on('ready', () => news.emit('recovered'));
  return {
    kind: 'redis',
    workerId,
    leases: createRedisLeases(leaseConnection, { workerId, leaseMs, prefix: KEY_PREFIX }),
    channel: {
      tell: async (id, message) =>
        (await leaseConnection.publish(workerChannel(KEY_PREFIX, id), message)) > 0,
      tellOthers: async (message) => (await leaseConnection.publish(ALL_WORKERS, message)) > 1,
      onTold: (listener) => void news.on('told', listener),
      onReleased: (listener) => void news.on('released', listener),
    },
    async openQueue() {
      // BullMQ takes 12 MB of memory, and the embedded queue needs it in another process.
      const { createRedisBackend } = await import('bullmq');
      const { openJobQueue } = await import('./job-queue.ts');
      // BullMQ would connect again, and keep the process alive.
      if (isClosed) throw new TransientError('QueueUnreachable', 'the connection to Redis was closed');
      const options = { connection: queueConnection, prefix: `${KEY_PREFIX}:jobs` };
      return openJobQueue({ options, factory: createRedisBackend }, logger);
    },
    onRecovered: (listener) => void news.on('recovered', listener),
    tidy: async () => undefined,
    async close() {
      isClosed = true;
      outage.end();
      for (const connection of connections) connection.disconnect();
    },
  };
}

const KEYS_PER_SCAN = 1_000;

/**
 * Earlier versions had a queue for each workgroup. They are not needed, because schedules are set up at every
 * start.
 */
async function removeOldQueues(redis: Redis): Promise<void> {
  // Earlier versions kept the names of the workgroups there.
  if ((await redis.exists(`${KEY_PREFIX}:workgroups`)) === 0) return;
  const scan = redis.scanStream({ match: `${KEY_PREFIX}:queue:*`, count: KEYS_PER_SCAN });
  for await (const keys of scan) if (keys.length > 0) await redis.unlink(...keys);
  await redis.unlink(`${KEY_PREFIX}:workgroups`);
}

/** A Redis that evicts keys would silently drop jobs and leases. */
async function warnOfEviction(redis: Redis, logger: Logger): Promise<void> {
  const policy = /maxmemory_policy:(\S+)/.exec(await redis.info('memory'))?.[1];
  if (policy && policy !== 'noeviction') {
    logger.warn({ policy, needed: 'noeviction' }, 'queue.redis-may-evict');
  }
}
