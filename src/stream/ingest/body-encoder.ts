import { Worker } from 'node:worker_threads';
import type { EncodedBatch } from '../../contract/encode-messages.ts';
import { StreamError, type StreamErrorCode, type StreamErrorDetails } from '../../contract/stream-errors.ts';
import { siblingModule } from '../../lib/sibling-module.ts';
import { copyBody, type IngestRequest, rebuildBody } from './encode-body.ts';

/** The answer of the thread. */
export type ThreadAnswer =
  | (Pick<EncodedBatch, 'bytes' | 'starts' | 'devices' | 'count'> & {
      kind: 'batch';
      /** The table of all messages. */
      table: string;
    })
  | { kind: 'refused'; code: StreamErrorCode; message: string; details: StreamErrorDetails };

/** Encodes bodies without blocking the event loop: small ones at once, large ones in a thread. */
export interface BodyEncoder {
  /**
   * @param owner the owner of the body; each owner has at most one body in the threads, so that all owners get a turn
   * @throws StreamError as `encodeBody`
   */
  encode(request: IngestRequest, owner: string): Promise<EncodedBatch>;
  close(): Promise<void>;
}

/** Any body up to this size takes a few milliseconds. */
const REBUILT_HERE_BYTES_MAX = 48 * 1024;
/** A usual body up to this size takes a few milliseconds. */
const COPIED_HERE_BYTES_MAX = 1024 * 1024;
const THREADS_MAX = 2;

interface Job {
  request: IngestRequest;
  owner: string;
  resolve(batch: EncodedBatch): void;
  reject(error: unknown): void;
}

export function createBodyEncoder(): BodyEncoder {
  const threads = new Map<Worker, Job | undefined>();
  const waiting: Job[] = [];

  const finish = (thread: Worker): Job | undefined => {
    const job = threads.get(thread);
    if (threads.has(thread)) threads.set(thread, undefined);
    return job;
  };
  const start = (): Worker => {
    const thread = new Worker(siblingModule('encode-thread', import.meta.url));
    thread.unref();
    thread.on('message', (answer: ThreadAnswer) => {
      const job = finish(thread);
      if (answer.kind === 'batch') job?.resolve(batchOf(answer));
      else job?.reject(new StreamError(answer.code, answer.message, answer.details));
      next();
    });
    thread.on('error', (error) => finish(thread)?.reject(error));
    thread.on('exit', () => {
      finish(thread)?.reject(new Error('the thread that reads bodies has ended'));
      threads.delete(thread);
      next();
    });
    threads.set(thread, undefined);
    return thread;
  };
  const idleThread = (): Worker | undefined => {
    for (const [thread, job] of threads) if (job === undefined) return thread;
    return threads.size < THREADS_MAX ? start() : undefined;
  };
  const next = () => {
    const busy = new Set([...threads.values()].map((job) => job?.owner));
    const index = waiting.findIndex(({ owner }) => !busy.has(owner));
    if (index < 0) return;
    const thread = idleThread();
    if (thread === undefined) return;
    const [job] = waiting.splice(index, 1);
    threads.set(thread, job);
    thread.postMessage(job!.request);
  };

  return {
    async encode(request, owner) {
      const { length } = request.body;
      if (length <= COPIED_HERE_BYTES_MAX) {
        const copied = copyBody(request);
        if (copied !== undefined) return copied;
      }
      if (length <= REBUILT_HERE_BYTES_MAX) return rebuildBody(request);
      return new Promise((resolve, reject) => {
        waiting.push({ request, owner, resolve, reject });
        next();
      });
    },
    async close() {
      for (const { reject } of waiting.splice(0))
        reject(new StreamError('Draining', 'the service is shutting down'));
      await Promise.all([...threads.keys()].map((thread) => thread.terminate()));
    },
  };
}

function batchOf({ bytes, starts, devices, count, table }: ThreadAnswer & { kind: 'batch' }): EncodedBatch {
  return { bytes, starts, devices, count, tables: new Array<string>(count).fill(table) };
}
