import { Worker } from 'node:worker_threads';
import { TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { fromPlainError } from '../lib/plain-error.ts';
import { siblingModule } from '../lib/sibling-module.ts';
import type { Assignment } from './assignment.ts';
import type { OperationName, Operations } from './operations.ts';
import type { ThreadReply, ThreadRequest } from './thread-messages.ts';
import type { BucketState } from './workgroup-bucket.ts';

/** The pipeline's thread, for the main thread: opens shards, runs operations, closes shards. */
export interface Pipeline {
  /**
   * Starts the thread before the first shard, because loading its modules takes most of the time of a
   * takeover.
   */
  warmUp(): void;
  /** Fetches the warehouse of a workgroup that another worker is about to hand over. Claims nothing. */
  prepare(assignment: Assignment): Promise<void>;
  /** Removes the prepared files. Does nothing if there are none. */
  discard(workgroupId: string): Promise<void>;
  /** Opens a workgroup's shard and takes it over from its last owner. */
  open(assignment: Assignment): Promise<ShardOwnership>;
  /**
   * Runs an operation on an open shard.
   * @param transfer buffers that move to the thread without a copy
   * @param signal asks the operation to end early. Publishing and maintaining do so between two files
   */
  run<Name extends OperationName>(
    workgroupId: string,
    operation: Name,
    args: Operations[Name]['args'],
    transfer?: ArrayBuffer[],
    signal?: AbortSignal,
  ): Promise<Operations[Name]['result']>;
  /** Waits for running operations of the shard and closes its file. Does nothing if it is not open. */
  closeShard(workgroupId: string): Promise<void>;
  /** Closes all shards, then ends the thread. */
  close(): Promise<void>;
}

/** How a shard was opened. `bucket` is undefined if no bucket is configured. */
interface ShardOwnership {
  epoch: bigint;
  bucket?: BucketState;
}

interface Thread {
  worker: Worker;
  pending: Map<number, PromiseWithResolvers<unknown>>;
}

type RequestBody = ThreadRequest extends infer Request
  ? Request extends unknown
    ? Omit<Request, 'id'>
    : never
  : never;

/** Starts the thread with the first shard. A crashed thread is started again with the next one. */
export function createPipeline(options: { logLevel: string; logger: Logger }): Pipeline {
  let thread: Thread | undefined;
  let lastId = 0;

  function start(): Thread {
    const worker = new Worker(siblingModule('thread', import.meta.url), {
      workerData: { logLevel: options.logLevel },
    });
    const pending: Thread['pending'] = new Map();
    const started: Thread = { worker, pending };
    worker.on('message', (reply: ThreadReply) => {
      const call = pending.get(reply.id);
      pending.delete(reply.id);
      if ('error' in reply) call?.reject(fromPlainError(reply.error));
      else call?.resolve(reply.result);
    });
    worker.on('error', (error) => options.logger.error({ error: error.message }, 'pipeline.thread-failed'));
    worker.on('exit', () => {
      if (thread === started) thread = undefined;
      const ended = new TransientError(
        'PipelineEnded',
        'the pipeline thread has ended; its work continues from the checkpoint',
      );
      for (const call of pending.values()) call.reject(ended);
      pending.clear();
    });
    return started;
  }

  function send(
    to: Thread,
    request: RequestBody,
    transfer: ArrayBuffer[] = [],
    signal?: AbortSignal,
  ): Promise<unknown> {
    lastId += 1;
    const callId = lastId;
    const call = Promise.withResolvers<unknown>();
    to.pending.set(callId, call);
    to.worker.postMessage({ id: callId, ...request }, transfer);
    if (!signal) return call.promise;
    const abort = () => void send(to, { kind: 'abort', callId }).catch(() => undefined);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    return call.promise.finally(() => signal.removeEventListener('abort', abort));
  }

  return {
    warmUp() {
      thread ??= start();
    },
    async prepare(assignment) {
      thread ??= start();
      await send(thread, { kind: 'prepare', assignment });
    },
    async discard(workgroupId) {
      if (thread) await send(thread, { kind: 'discard', workgroupId });
    },
    async open(assignment) {
      thread ??= start();
      return (await send(thread, { kind: 'open', assignment })) as ShardOwnership;
    },
    async run(workgroupId, operation, args, transfer, signal) {
      if (!thread) throw new TransientError('ShardNotOpen', `the warehouse of ${workgroupId} is not open`);
      return (await send(thread, { kind: 'run', workgroupId, operation, args }, transfer, signal)) as never;
    },
    async closeShard(workgroupId) {
      if (thread) await send(thread, { kind: 'close', workgroupId });
    },
    async close() {
      const ending = thread;
      if (!ending) return;
      const whenExited = new Promise((resolve) => ending.worker.once('exit', resolve));
      // A thread that crashes while closing has ended too.
      await Promise.allSettled([send(ending, { kind: 'end' })]);
      await whenExited;
    },
  };
}
