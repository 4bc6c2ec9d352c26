import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

export interface LandEvent {
  kind: 'opened' | 'landed' | 'failed' | 'closed';
  nextOffset?: number;
  code?: string;
  retryable?: boolean;
}

/** A process that lands; see `land-child.ts`. It is killed when the test has finished, if not before. */
export interface LandChild {
  process: ChildProcess;
  /** Everything it has said so far. */
  events: LandEvent[];
  /** Resolves at the first event that fits, or when the process has ended. */
  said(fits: (event: LandEvent) => boolean): Promise<void>;
  kill(): Promise<void>;
}

/** @param inShell shell code before the program is executed in its place, such as a limit */
export function startLanding(args: readonly (string | number)[], inShell = ''): LandChild {
  const program = [process.execPath, join(import.meta.dirname, 'land-child.ts'), ...args.map(String)];
  const child = spawn('/bin/sh', ['-c', `${inShell} exec "$@"`, 'sh', ...program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGKILL'));
  const events: LandEvent[] = [];
  const listeners = new Set<() => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    events.push(JSON.parse(line) as LandEvent);
    for (const listener of listeners) listener();
  });
  return {
    process: child,
    events,
    async said(fits) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const listener = () => {
        if (events.some(fits)) resolve();
      };
      listeners.add(listener);
      listener();
      await Promise.race([promise, exited]);
      listeners.delete(listener);
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
