import {
  type BackendFactory,
  type IQueueBackend,
  type QueueBaseOptions,
  UnrecoverableError,
  withBackend,
} from 'bullmq';
import { errorCode } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import { type Job, type JobSchedule, jobSchema } from './stages.ts';

/**
 * The queue of the jobs that are due at a time of day. All workers of a store share it, and one of them takes
 * each job.
 */
export interface JobQueue {
  schedules(): Promise<StoredSchedule[]>;
  /** Adds or replaces a schedule. The job that waited for its next instant is replaced, too. */
  schedule(row: JobSchedule): Promise<void>;
  unschedule(key: string): Promise<void>;
  /** Starts to take jobs. If a job fails, the queue stores only the code of the error. */
  consume(handler: (job: Job) => Promise<JobOutcome>): void;
  /** True if it must be opened again, because its process has ended. */
  hasEnded(): boolean;
  close(): Promise<void>;
}

export interface StoredSchedule {
  key: string;
  pattern: string | undefined;
  timeZone: string | undefined;
  nextAtMs: number | undefined;
}

/**
 * Who does the job: this worker (`here`) or the owner of the shard (`elsewhere`). `interrupted`: this worker
 * stops, so the job is not done. The queue stores this word.
 */
export type JobOutcome = 'here' | 'elsewhere' | 'interrupted';

/** How BullMQ reaches its store: the connection and the backend. */
interface QueueStore<Backend extends IQueueBackend, Connection> {
  options: QueueBaseOptions<Connection> & { prefix?: string };
  factory: BackendFactory<Backend, Connection>;
}

const QUEUE_NAME = 'due';
/**
 * Finished jobs are kept for a short time, for people who look into the queue. The program does not read
 * them.
 */
const RETENTION = {
  removeOnComplete: { age: HOUR_MS / SECOND_MS, count: 50 },
  removeOnFail: { age: (24 * HOUR_MS) / SECOND_MS, count: 100 },
};
/**
 * A job only says that something is due, so it ends within milliseconds unless a shard must be opened for it.
 */
const CONCURRENCY = 8;
const LOCK_MS = 30 * SECOND_MS;
const STALLED_CHECK_MS = 15 * SECOND_MS;
const RECONNECT_MS = SECOND_MS;
/** Nobody reads BullMQ's event stream, so it is short. */
const EVENTS_MAX = 50;
const QUEUE_CLOSE_TIMEOUT_MS = SECOND_MS;

export function openJobQueue<Backend extends IQueueBackend, Connection>(
  store: QueueStore<Backend, Connection>,
  logger: Logger,
): JobQueue {
  const onError = createErrorReporter(logger);
  const { Queue, Worker } = withBackend(store.factory);
  /**
   * A worker of BullMQ that can stop renewing its locks. If the store cannot be reached, closing it would
   * wait for ever, and its timer for renewals would keep the process alive.
   */
  class JobWorker extends Worker<unknown, JobOutcome> {
    stopRenewing(): Promise<void> {
      return this.lockManager.close();
    }
  }
  const queue = new Queue<unknown, JobOutcome>(QUEUE_NAME, {
    ...store.options,
    streams: { events: { maxLen: EVENTS_MAX } },
  });
  queue.on('error', onError);
  let worker: JobWorker | undefined;
  let isClosing = false;

  return {
    async schedules() {
      const rows = await queue.getJobSchedulers(0, -1, true);
      return rows.map(({ key, pattern, tz, next }) => ({
        key,
        pattern: pattern ?? undefined,
        timeZone: tz ?? undefined,
        nextAtMs: next ?? undefined,
      }));
    },
    async schedule({ key, pattern, timeZone, job }) {
      const opts = { ...RETENTION, attempts: 1, stackTraceLimit: 0 };
      await queue.upsertJobScheduler(key, { pattern, tz: timeZone }, { name: job.stage, data: job, opts });
    },
    async unschedule(key) {
      await queue.removeJobScheduler(key);
    },
    consume(handler) {
      const process = async ({ data }: { data: unknown }): Promise<JobOutcome> => {
        const job = jobSchema.safeParse(data);
        if (!job.success) throw new UnrecoverableError('UnknownJob');
        // A job may arrive while the worker stops.
        return isClosing ? 'interrupted' : handler(job.data).catch(throwCodeOnly);
      };
      worker = new JobWorker(QUEUE_NAME, process, {
        ...store.options,
        ...RETENTION,
        concurrency: CONCURRENCY,
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_CHECK_MS,
        runRetryDelay: RECONNECT_MS,
      });
      worker.on('error', onError);
      worker.on('stalled', (job) => logger.warn({ job }, 'queue.stalled'));
    },
    hasEnded: () => false,
    async close() {
      isClosing = true;
      await withTimeout(worker?.close() ?? Promise.resolve(), QUEUE_CLOSE_TIMEOUT_MS).catch(() => undefined);
      await worker?.stopRenewing();
      await withTimeout(queue.close(), QUEUE_CLOSE_TIMEOUT_MS).catch(() => undefined);
    },
  };
}

/** The queue keeps only the code of an error, because messages and stacks may contain data. */
function throwCodeOnly(error: unknown): never {
  const code = errorCode(error) ?? 'Failed';
  throw new Error(/^[A-Za-z_]{1,64}$/.test(code) ? code : 'Failed');
}

/** BullMQ retries for ever and reports each attempt. A new error is logged at once, then once a minute. */
function createErrorReporter(logger: Logger): (error: Error) => void {
  let last: { message: string; atMs: number } | undefined;
  return ({ message }) => {
    const nowMs = performance.now();
    if (last?.message === message && nowMs - last.atMs < MINUTE_MS) return;
    last = { message, atMs: nowMs };
    // The connection logs its own outages.
    const isConnection = /ECONN|EPIPE|Connection is closed|ETIMEDOUT/.test(message);
    logger[isConnection ? 'debug' : 'warn']({ error: message }, 'queue.error');
  };
}
