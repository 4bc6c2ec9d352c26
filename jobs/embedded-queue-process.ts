import { createPostgresBackend, runMigrations } from 'bullmq';
import { createForwardingLogger } from '../src/lib/logger.ts';
import { fromPlainError, toPlainError } from '../src/lib/plain-error.ts';
import { openEmbeddedPostgres, tidyEmbeddedPostgres } from './embedded-postgres.ts';
import type { MessageFromQueue, MessageToQueue, QueueRequest } from './embedded-queue-messages.ts';
import { type JobOutcome, openJobQueue, type StoredSchedule } from './job-queue.ts';
import { createPglitePool } from './pglite-pool.ts';
import type { Job } from './stages.ts';

/**
 * The process of the embedded queue: BullMQ on an embedded PostgreSQL, which needs 270 MB. It is a separate
 * process, because only the end of a process gives all of its memory back. It ends when the worker closes the
 * queue, and when the process of the worker ends.
 */
const [cacheDir = ''] = process.argv.slice(2);
process.title = 'wattline queue';
// A signal to the whole group of processes also reaches this process. It is ignored here, because the worker
// closes the queue.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
// The queue keeps nothing, so nothing is lost.
process.on('disconnect', () => process.exit());

const logger = createForwardingLogger((line) => send({ kind: 'log', line }));
const jobs = new Map<number, PromiseWithResolvers<JobOutcome>>();
let lastJobId = 0;

function send(message: MessageFromQueue): void {
  if (process.connected) process.send!(message);
}

async function open() {
  const database = await openEmbeddedPostgres({ cacheDir, logger });
  const pool = createPglitePool(database);
  const client = await pool.connect();
  try {
    await runMigrations(client);
    await client.query('SET search_path TO bullmq');
  } finally {
    client.release();
  }
  const queue = openJobQueue({ options: { connection: pool }, factory: createPostgresBackend }, logger);
  return { pool, queue };
}

/** Gives a job to the worker. */
function handle(job: Job): Promise<JobOutcome> {
  const jobId = ++lastJobId;
  const outcome = Promise.withResolvers<JobOutcome>();
  jobs.set(jobId, outcome);
  send({ kind: 'job', jobId, job });
  return outcome.promise.finally(() => jobs.delete(jobId));
}

async function answer(
  { pool, queue }: Awaited<ReturnType<typeof open>>,
  request: QueueRequest,
): Promise<StoredSchedule[] | undefined> {
  switch (request.kind) {
    case 'schedules':
      return queue.schedules();
    case 'schedule':
      await queue.schedule(request.row);
      return undefined;
    case 'unschedule':
      await queue.unschedule(request.key);
      return undefined;
    case 'consume':
      queue.consume(handle);
      return undefined;
    case 'tidy':
      await tidyEmbeddedPostgres(pool);
      return undefined;
    case 'close':
      await queue.close();
      return undefined;
    default:
      return request satisfies never;
  }
}

try {
  const opened = await open();
  process.on('message', (message: MessageToQueue) => {
    if (message.kind === 'outcome') jobs.get(message.jobId)?.resolve(message.outcome);
    else if (message.kind === 'job-failed') jobs.get(message.jobId)?.reject(fromPlainError(message.error));
    else {
      const { id, request } = message;
      answer(opened, request).then(
        (result) => send({ kind: 'result', id, ...(result && { result }) }),
        (error: unknown) => send({ kind: 'error', id, error: toPlainError(error) }),
      );
    }
  });
  // Opening leaves 50 MB of copies of the image. They are freed here, because V8 frees nothing in a process
  // that does nothing.
  globalThis.gc?.();
  send({ kind: 'opened' });
} catch (error) {
  send({ kind: 'not-opened', error: toPlainError(error) });
}
