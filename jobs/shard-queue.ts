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

/** The queue of one workgroup, with the functions that the pipeline needs. */
export interface ShardQueue {
  readonly workgroupId: string;
  /** The current schedule. Rows of unknown jobs have no stage. */
  schedules(): Promise<ScheduledRow[]>;
  /** Adds or replaces a schedule. With the same period the next tick keeps its time. */
  schedule(row: AnySchedule): Promise<void>;
  unschedule(key: string): Promise<void>;
  /** Starts to take ticks. Of an error the queue stores only the code. */
  consume(handler: TickHandler): Consumer;
  /** Removes the queue and its content. */
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

/** Handles one tick. The queue stores the returned word. */
export type TickHandler = (stage: StageName, signal: AbortSignal) => Promise<TickOutcome>;
export type TickOutcome = 'done' | 'busy' | 'backing-off' | 'interrupted';

export interface Consumer {
  /**
   * Takes no more ticks, aborts running ones, and waits for at most `withinMs` until their handlers have ended. It does not wait for the store, which may
   * not be reachable.
   */
  stop(withinMs: number): Promise<'stopped' | 'abandoned'>;
  /** Writes the results of the last ticks to the queue, after a stop. */
  settle(withinMs: number): Promise<void>;
}

/** How BullMQ reaches its store: the connection and the backend. */
export interface QueueStore<Backend extends IQueueBackend, Connection> {
  options: QueueBaseOptions<Connection> & { prefix?: string };
  factory: BackendFactory<Backend, Connection>;
}

/** Job data contain only ids: no readings and no secrets. */
const tickDataSchema = z.strictObject({ workgroupId: z.string() });
const stageSchema = z.enum(stageNames);

/** Finished ticks are kept briefly for a person. Nothing reads them. */
const RETENTION = {
  removeOnComplete: { age: HOUR_MS / SECOND_MS, count: 50 },
  removeOnFail: { age: (24 * HOUR_MS) / SECOND_MS, count: 100 },
};
/** Ticks that find their predecessor still running must not wait for it. */
const CONCURRENCY = 8;
const LOCK_MS = 30 * SECOND_MS;
const STALLED_CHECK_MS = 15 * SECOND_MS;
const RECONNECT_MS = SECOND_MS;
/** Nobody reads BullMQ's event stream, so it is short. */
const EVENTS_MAX = 50;

export function openShardQueue<Backend extends IQueueBackend, Connection>(
  workgroupId: string,
  store: QueueStore<Backend, Connection>,
  logger: Logger,
): ShardQueue {
  const onError = createErrorReporter(workgroupId, logger);
  const { Queue, Worker } = withBackend(store.factory);
  /** Without the store, closing would wait for ever, and a timer would keep the process alive. */
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
      // BullMQ passes a signal only to handlers with three parameters.
      const process = async (job: { name: string; data: unknown }, _token?: string, signal?: AbortSignal) => {
        const stage = stageSchema.safeParse(job.name);
        const data = tickDataSchema.safeParse(job.data);
        if (!stage.success || !data.success || data.data.workgroupId !== workgroupId)
          throw new UnrecoverableError('UnknownJob');
        // A tick may arrive after the consumer was stopped.
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
      worker.on('stalled', (job) => logger.warn({ workgroup: workgroupId, job }, 'queue.stalled'));
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

/** The queue keeps only the code of an error, because messages and stacks may contain data. */
function throwCodeOnly(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'Failed';
  throw new Error(/^[A-Za-z_]{1,64}$/.test(code) ? code : 'Failed');
}

/** BullMQ retries for ever and reports each attempt. A new error is logged at once, then once a minute. */
function createErrorReporter(workgroupId: string, logger: Logger): (error: Error) => void {
  let last: { message: string; atMs: number } | undefined;
  return ({ message }) => {
    const nowMs = performance.now();
    if (last?.message === message && nowMs - last.atMs < MINUTE_MS) return;
    last = { message, atMs: nowMs };
    // The connection logs its own outages.
    const isConnection = /ECONN|EPIPE|Connection is closed|ETIMEDOUT/.test(message);
    logger[isConnection ? 'debug' : 'warn']({ workgroupId, error: message }, 'queue.error');
  };
}
