import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkerHealth } from '../../jobs/worker-health.ts';
import { builtModule } from './process-environment.ts';
import type { WorkerProcessOptions } from './worker-process.ts';

const workerProcess = builtModule('worker-process.js') ?? join(import.meta.dirname, 'worker-process.ts');

/** One line of the journal that worker processes write. */
export interface JournalLine {
  atMs: number;
  pid: number;
  what: 'shard' | 'poll' | 'rollup' | 'publish' | 'maintain';
  event: 'open' | 'close' | 'hibernate' | 'begin' | 'end';
}

/** Worker processes of one test. Those that still run at its end are ended. */
export interface WorkerFleet {
  start(options: WorkerProcessOptions): Promise<WorkerProcess>;
  stopAll(): Promise<void>;
}

export interface WorkerProcess {
  readonly pid: number;
  health(): Promise<WorkerHealth>;
  /** The stream of a workgroup has news. */
  news(workgroupId: string): void;
  /** Asks for the shard as a request does. @returns whether it is open here */
  wake(workgroupId: string): Promise<boolean>;
  /** Asks whether a request may open the shard here. */
  canWake(workgroupId: string): Promise<boolean>;
  /** Stops it with SIGSTOP, until it is continued. */
  pause(): void;
  resume(): void;
  /** Ends it at once, like a crash. */
  crash(): Promise<void>;
  /** Asks it to stop. @returns its exit code and how long it took */
  stop(): Promise<{ code: number | null }>;
}

export function createWorkerFleet(): WorkerFleet {
  const children: ChildProcess[] = [];
  return {
    async start(options) {
      const child = fork(workerProcess, [JSON.stringify(options)]);
      children.push(child);
      await answer(child);
      return {
        pid: child.pid!,
        health: () => {
          child.send('health');
          return answer(child);
        },
        news: (workgroupId) => void child.send(`news ${workgroupId}`),
        wake: (workgroupId) => {
          child.send(`wake ${workgroupId}`);
          return answer(child);
        },
        canWake: (workgroupId) => {
          child.send(`can-wake ${workgroupId}`);
          return answer(child);
        },
        pause: () => void child.kill('SIGSTOP'),
        resume: () => void child.kill('SIGCONT'),
        crash: () => end(child, 'SIGKILL').then(() => undefined),
        stop: async () => ({ code: await end(child, 'SIGTERM') }),
      };
    },
    async stopAll() {
      await Promise.all(children.map((child) => end(child, 'SIGKILL')));
    },
  };
}

export function readJournal(journal: string, workgroupId: string): JournalLine[] {
  const path = join(journal, `${workgroupId}.log`);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [atMs, pid, what, event] = line.split(' ');
    return { atMs: Number(atMs), pid: Number(pid), what, event } as JournalLine;
  });
}

async function answer<T>(child: ChildProcess): Promise<T> {
  const settled = new AbortController();
  const message = once(child, 'message', { signal: settled.signal });
  const exit = once(child, 'exit', { signal: settled.signal });
  const first = await Promise.race([message, exit.then(([code]) => `the worker process ended with ${code}`)]);
  settled.abort();
  message.catch(() => undefined);
  exit.catch(() => undefined);
  if (typeof first === 'string') throw new Error(first);
  return first[0] as T;
}

async function end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.kill(signal);
  return ended;
}
