import { fork } from 'node:child_process';
import { TransientError } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { fromPlainError, toPlainError } from '../src/lib/plain-error.ts';
import { siblingModule } from '../src/lib/sibling-module.ts';
import { SECOND_MS } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import type { MessageFromQueue, MessageToQueue, QueueRequest } from './embedded-queue-messages.ts';
import type { JobOutcome, JobQueue, StoredSchedule } from './job-queue.ts';
import type { Job } from './stages.ts';

export interface EmbeddedQueue extends JobQueue {
  /** The id of the process of the queue. */
  readonly processId: number;
  /** Bounds the growth of the store. */
  tidy(): Promise<void>;
}

/**
 * Without the optimizing compiler the peak of memory is a third. The compiler would compile all of PostgreSQL
 * for a few statements.
 */
const NODE_OPTIONS = ['--liftoff-only', '--max-semi-space-size=1', '--expose-gc'];
const PROCESS_CLOSE_TIMEOUT_MS = 3 * SECOND_MS;

/**
 * Starts the process of the embedded queue. Its schedules and jobs are in memory and end with it.
 * @throws TransientError `QueueProcessEnded` if the process cannot be started or ends; its other errors are
 *   errors of the queue
 */
export async function openEmbeddedQueue(options: {
  cacheDir: string;
  logger: Logger;
}): Promise<EmbeddedQueue> {
  const child = fork(siblingModule('embedded-queue-process', import.meta.url), [options.cacheDir], {
    execArgv: NODE_OPTIONS,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const opening = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<void>();
  const pending = new Map<number, PromiseWithResolvers<StoredSchedule[] | undefined>>();
  let lastId = 0;
  let hasEnded = false;
  let handler: ((job: Job) => Promise<JobOutcome>) | undefined;

  child.on('message', (message: MessageFromQueue) => {
    switch (message.kind) {
      case 'opened':
        return opening.resolve();
      case 'not-opened':
        return opening.reject(fromPlainError(message.error));
      case 'result':
        return pending.get(message.id)?.resolve(message.result);
      case 'error':
        return pending.get(message.id)?.reject(fromPlainError(message.error));
      case 'job':
        return void take(message.jobId, message.job);
      case 'log':
        return logLine(options.logger, message.line);
      default:
        return message satisfies never;
    }
  });
  child.on('error', () => end('it could not be started or reached'));
  child.on('exit', (code, signal) => end(signal ? `signal ${signal}` : `exit code ${code}`));

  function end(how: string): void {
    hasEnded = true;
    const error = new TransientError(
      'QueueProcessEnded',
      `the process of the embedded queue has ended (${how}); it is started again within a minute`,
    );
    opening.reject(error);
    for (const call of pending.values()) call.reject(error);
    exited.resolve();
  }

  function send(message: MessageToQueue): void {
    if (child.connected) child.send(message);
  }

  async function take(jobId: number, job: Job): Promise<void> {
    try {
      send({ kind: 'outcome', jobId, outcome: (await handler?.(job)) ?? 'interrupted' });
    } catch (error) {
      send({ kind: 'job-failed', jobId, error: toPlainError(error) });
    }
  }

  async function ask(request: QueueRequest): Promise<StoredSchedule[] | undefined> {
    if (hasEnded)
      throw new TransientError('QueueProcessEnded', 'the process of the embedded queue has ended');
    const id = ++lastId;
    const call = Promise.withResolvers<StoredSchedule[] | undefined>();
    pending.set(id, call);
    send({ kind: 'request', id, request });
    return call.promise.finally(() => pending.delete(id));
  }

  async function stop(): Promise<void> {
    if (child.connected) child.disconnect();
    if ((await withTimeout(exited.promise, PROCESS_CLOSE_TIMEOUT_MS)) === 'late') child.kill('SIGKILL');
    await exited.promise;
  }

  try {
    await opening.promise;
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    processId: child.pid!,
    schedules: async () => (await ask({ kind: 'schedules' })) ?? [],
    schedule: async (row) => void (await ask({ kind: 'schedule', row })),
    unschedule: async (key) => void (await ask({ kind: 'unschedule', key })),
    consume(take) {
      handler = take;
      ask({ kind: 'consume' }).catch((error: Error) =>
        options.logger.warn({ error: error.message }, 'queue.error'),
      );
    },
    tidy: async () => void (await ask({ kind: 'tidy' })),
    hasEnded: () => hasEnded,
    async close() {
      await withTimeout(ask({ kind: 'close' }), PROCESS_CLOSE_TIMEOUT_MS).catch(() => undefined);
      await stop();
    },
  };
}

function logLine(logger: Logger, line: string): void {
  const { level, msg, ...fields } = JSON.parse(line) as {
    level: 'debug' | 'info' | 'warn' | 'error';
    msg: string;
  };
  logger[level](fields, msg);
}
