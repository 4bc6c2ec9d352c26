import {
  type BackendFactory,
  type IQueueBackend,
  type QueueBaseOptions,
  UnrecoverableError,
  withBackend,
} from 'bullmq';
import { z } from 'zod';
import type { Logger } from '../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import { type AnySchedule, isPeriodic, type StageName, scheduleKey, stageNames } from './stages.ts';

/** The queue of one workgroup, reduced to what the pipeline needs of it. */
export interface ShardQueue {
  readonly workgroupId: string;
  /** What is scheduled now; rows that no job of ours stands behind have no stage. */
  schedules(): Promise<ScheduledRow[]>;
  /** Adds a schedule or replaces the one of the same key; the next tick keeps its time where the period is the same. */
  schedule(row: AnySchedule): Promise<void>;
  unschedule(key: string): Promise<void>;
  /** Starts taking ticks. The handler's failures are recorded in the queue by their code alone. */
  consume(handler: TickHandler): Consumer;
  /** Removes the queue and everything in it. */
  remove(): Promise<void>;
  close(): Promise<void>;
}

export interface ScheduledRow {
  key: string;
  stage: StageName | undefined;
  everyMs: number | undefined;
  pattern: string | undefined;
  timeZone: string | undefined;
  nextAtMs: number | undefined;
}

/** Handles one tick. Whatever it answers is what the queue remembers of it, so it is one word. */
export type TickHandler = (stage: StageName, signal: AbortSignal) => Promise<TickOutcome>;
export type TickOutcome = 'done' | 'busy' | 'backing-off' | 'interrupted';

export interface Consumer {
  /**
   * Takes no further ticks, aborts the running ones and waits until their handlers have ended, but not longer than
   * `withinMs`. It does not wait until the queue has heard of it, which it may not be able to.
   */
  stop(withinMs: number): Promise<'stopped' | 'abandoned'>;
  /** Lets the queue hear of the last ticks, after a stop. */
  settle(withinMs: number): Promise<void>;
}

/** How BullMQ reaches its store: the connection, and what makes a backend of it. */
export interface QueueStore<Backend extends IQueueBackend, Connection> {
  options: QueueBaseOptions<Connection> & { prefix?: string };
  factory: BackendFactory<Backend, Connection>;
}

/** Job data holds ids only: no readings, no secrets, and nothing that JSON cannot say. */
const tickDataSchema = z.strictObject({ workgroupId: z.string() });
const stageSchema = z.enum(stageNames);

/** Finished ticks are kept briefly, for a person who looks; nothing is computed from them. */
const RETENTION = {
  removeOnComplete: { age: HOUR_MS / SECOND_MS, count: 50 },
  removeOnFail: { age: (24 * HOUR_MS) / SECOND_MS, count: 100 },
};
/** Ticks that only find their predecessor at work must not wait behind it. */
const CONCURRENCY = 8;
const LOCK_MS = 30 * SECOND_MS;
const STALLED_CHECK_MS = 15 * SECOND_MS;
const RECONNECT_MS = SECOND_MS;
/** Nobody reads BullMQ's event stream here, so it may be short. */
const EVENTS_MAX = 50;

export function openShardQueue<Backend extends IQueueBackend, Connection>(
  workgroupId: string,
  store: QueueStore<Backend, Connection>,
  logger: Logger,
): ShardQueue {
  const onError = createErrorReporter(workgroupId, logger);
  const { Queue, Worker } = withBackend(store.factory);
  /** Closing waits for what the store cannot be told while it is away, and meanwhile a timer keeps the process alive. */
  class ShardWorker extends Worker<{ workgroupId: string }, TickOutcome> {
    stopRenewing(): Promise<void> {
      return this.lockManager.close();
    }
  }
  const queue = new Queue<{ workgroupId: string }, TickOutcome>(workgroupId, {
    ...store.options,
    streams: { events: { maxLen: EVENTS_MAX } },
  });
  queue.on('error', onError);
  return {
    workgroupId,
    async schedules() {
      const rows = await queue.getJobSchedulers(0, -1, true);
      return rows.map(({ key, every, pattern, tz, next }) => ({
        key,
        stage: stageSchema.safeParse(key).data,
        everyMs: every ?? undefined,
        pattern: pattern ?? undefined,
        timeZone: tz ?? undefined,
        nextAtMs: next ?? undefined,
      }));
    },
    async schedule(row) {
      const opts = { ...RETENTION, attempts: 1, stackTraceLimit: 0 };
      const when = isPeriodic(row) ? { every: row.everyMs } : { pattern: row.pattern, tz: row.timeZone };
      await queue.upsertJobScheduler(scheduleKey(row), when, {
        name: row.stage,
        data: { workgroupId },
        opts,
      });
    },
    async unschedule(key) {
      await queue.removeJobScheduler(key);
    },
    consume(handler) {
      const running = new Set<Promise<unknown>>();
      let isStopping = false;
      // Three parameters, because BullMQ counts them before it hands a signal over.
      const process = async (job: { name: string; data: unknown }, _token?: string, signal?: AbortSignal) => {
        const stage = stageSchema.safeParse(job.name);
        const data = tickDataSchema.safeParse(job.data);
        if (!stage.success || !data.success || data.data.workgroupId !== workgroupId)
          throw new UnrecoverableError('UnknownJob');
        // A tick may have been on its way here when the consumer was stopped.
        if (isStopping) return 'interrupted';
        const run = handler(stage.data, signal ?? new AbortController().signal);
        running.add(run);
        return run.catch(throwCodeOnly).finally(() => running.delete(run));
      };
      const worker = new ShardWorker(workgroupId, process, {
        ...store.options,
        ...RETENTION,
        concurrency: CONCURRENCY,
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_CHECK_MS,
        runRetryDelay: RECONNECT_MS,
      });
      worker.on('error', onError);
      worker.on('stalled', (job) => logger.warn({ workgroupId, job }, 'queue.stalled'));
      let closed = Promise.resolve();
      return {
        async stop(withinMs) {
          isStopping = true;
          closed = worker.close();
          worker.cancelAllJobs('the worker stops');
          const ended = await withTimeout(Promise.allSettled(running), withinMs);
          return ended === 'late' ? 'abandoned' : 'stopped';
        },
        async settle(withinMs) {
          await withTimeout(closed, withinMs);
          await worker.stopRenewing();
        },
      };
    },
    async remove() {
      await queue.obliterate({ force: true });
    },
    close: () => queue.close(),
  };
}

/** What the queue keeps of a failure is its code: messages and stacks may quote what does not belong there. */
function throwCodeOnly(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'Failed';
  throw new Error(/^[A-Za-z_]{1,64}$/.test(code) ? code : 'Failed');
}

/** BullMQ tries for ever and complains each time: an error is reported when it is new and then once a minute. */
function createErrorReporter(workgroupId: string, logger: Logger): (error: Error) => void {
  let last: { message: string; atMs: number } | undefined;
  return ({ message }) => {
    const nowMs = performance.now();
    if (last?.message === message && nowMs - last.atMs < MINUTE_MS) return;
    last = { message, atMs: nowMs };
    // Outages of the connection are reported where it is made.
    const isConnection = /ECONN|EPIPE|Connection is closed|ETIMEDOUT/.test(message);
    logger[isConnection ? 'debug' : 'warn']({ workgroupId, error: message }, 'queue.error');
  };
}
