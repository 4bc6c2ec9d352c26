import type { Environment } from '../config/load-config.ts';

/** The world around a command: what it writes to, what it is told, and when it is to end. */
export interface Terminal {
  readonly cwd: string;
  readonly environment: Environment;
  /** Whether a person looks at standard output, so that text can be drawn again in place. */
  readonly isInteractive: boolean;
  /** How wide the lines are that this person can see; not set where nobody looks. */
  readonly columns?: number;
  /** Data: nothing else goes to standard output. */
  out(text: string): void;
  /** Messages for people, errors and log events. */
  err(text: string): void;
  /** Calls back when the process is asked to end (Ctrl-C, SIGTERM), or nobody reads what it writes. @returns stops listening */
  onEnd(listener: (reason: EndReason) => void): () => void;
  /** Ends the process at once, whatever it is doing, as the signal does to one that does not listen. */
  kill(signal: NodeJS.Signals): void;
}

export type EndReason = 'SIGINT' | 'SIGTERM' | 'EPIPE';

type Host = Pick<
  NodeJS.Process,
  'stdout' | 'stderr' | 'cwd' | 'env' | 'on' | 'off' | 'exit' | 'kill' | 'pid' | 'removeAllListeners'
>;

/** A reader that goes away (`wattline token list | head -1`) is no error: the command ends quietly. */
export function createTerminal(host: Host): Terminal {
  const listeners = new Set<(reason: EndReason) => void>();
  let isRead = true;
  for (const stream of [host.stdout, host.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      if (!isRead) return;
      isRead = false;
      if (listeners.size === 0) host.exit(0);
      for (const listener of listeners) listener('EPIPE');
    });
  }
  return {
    cwd: host.cwd(),
    environment: host.env,
    isInteractive: host.stdout.isTTY === true,
    // A terminal that does not know its width says 0.
    ...(host.stdout.isTTY && host.stdout.columns > 0 && { columns: host.stdout.columns }),
    out: (text) => void host.stdout.write(text),
    err: (text) => void host.stderr.write(text),
    onEnd(listener) {
      listeners.add(listener);
      host.on('SIGINT', listener);
      host.on('SIGTERM', listener);
      return () => {
        listeners.delete(listener);
        host.off('SIGINT', listener);
        host.off('SIGTERM', listener);
      };
    },
    // `process.exit` waits for what a thread has asked of DuckDB, which may take minutes.
    kill(signal) {
      host.removeAllListeners(signal);
      host.kill(host.pid, signal);
    },
  };
}
