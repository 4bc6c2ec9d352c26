import { Worker } from 'node:worker_threads';

/**
 * Threads for work that would block the event loop. Each owner has at most one job in them, so that all
 * owners get a turn. p-queue has no threads. piscina has threads, but its queue gives out a job whenever a
 * thread is free, even if another job of the same owner still runs.
 */
interface FairThreads<Request, Answer> {
  /**
   * @returns the message that the thread sends for this request
   * @throws the error of the thread, or `closedError()` if the threads were closed before the job has begun
   */
  run(request: Request, owner: string): Promise<Answer>;
  /** The jobs of an owner that have not begun. */
  waiting(owner: string): number;
  close(): Promise<void>;
}

interface FairThreadsOptions {
  /** The module of a thread. It sends one message for each message that it receives. */
  module: URL;
  threadsMax: number;
  /** The error of jobs that had not begun. */
  closedError(): Error;
}

interface Job<Request, Answer> {
  request: Request;
  owner: string;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export function createFairThreads<Request, Answer>({
  module,
  threadsMax,
  closedError,
}: FairThreadsOptions): FairThreads<Request, Answer> {
  const threads = new Map<Worker, Job<Request, Answer> | undefined>();
  const waiting: Array<Job<Request, Answer>> = [];
  let isClosed = false;

  const finish = (thread: Worker): Job<Request, Answer> | undefined => {
    const job = threads.get(thread);
    if (threads.has(thread)) threads.set(thread, undefined);
    return job;
  };
  const start = (): Worker => {
    const thread = new Worker(module);
    thread.unref();
    thread.on('message', (answer: Answer) => {
      finish(thread)?.resolve(answer);
      next();
    });
    thread.on('error', (error) => finish(thread)?.reject(error));
    thread.on('exit', () => {
      finish(thread)?.reject(new Error('the thread has ended'));
      threads.delete(thread);
      next();
    });
    threads.set(thread, undefined);
    return thread;
  };
  const idleThread = (): Worker | undefined => {
    for (const [thread, job] of threads) if (job === undefined) return thread;
    return threads.size < threadsMax ? start() : undefined;
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
    run(request, owner) {
      if (isClosed) return Promise.reject(closedError());
      return new Promise((resolve, reject) => {
        waiting.push({ request, owner, resolve, reject });
        next();
      });
    },
    waiting: (owner) => waiting.filter((job) => job.owner === owner).length,
    async close() {
      isClosed = true;
      for (const { reject } of waiting.splice(0)) reject(closedError());
      await Promise.all([...threads.keys()].map((thread) => thread.terminate()));
    },
  };
}
