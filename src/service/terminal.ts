import { closeSync, openSync } from 'node:fs';
import type { Environment } from '../config/resolve-references.ts';

/** The environment of a command: its output, its input, and its end. */
export interface Terminal {
  readonly cwd: string;
  readonly environment: Environment;
  /** True if standard output is a terminal, so that text can be redrawn. */
  readonly isInteractive: boolean;
  /** The width of the terminal. Undefined without a terminal. */
  readonly columns?: number;
  /** Data. Standard output has nothing else. */
  out(text: string): void;
  /** Messages for people, errors and log events. */
  err(text: string): void;
  /**
   * Calls back when the process must end (Ctrl-C, SIGTERM), or when nobody reads its output.
   * @returns stops listening
   */
  onEnd(listener: (reason: EndReason) => void): () => void;
  /**
   * Calls back when the process must read its configuration again (SIGHUP). If the terminal of the process
   * was closed, the process ends instead.
   * @returns stops listening
   */
  onReload(listener: () => void): () => void;
  /** Ends the process at once. */
  kill(signal: NodeJS.Signals): void;
}

export type EndReason = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'EPIPE';

type Host = Pick<
  NodeJS.Process,
  'stdout' | 'stderr' | 'cwd' | 'env' | 'on' | 'off' | 'exit' | 'kill' | 'pid' | 'removeAllListeners'
>;

/** If the reader of the output ends (`wattline token list | head -1`), the command ends without an error. */
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
    // Terminals of unknown width report 0.
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
    onReload(listener) {
      const onSignal = () => {
        if (!host.stdout.isTTY || hasTerminal()) return listener();
        for (const end of listeners) end('SIGHUP');
      };
      host.on('SIGHUP', onSignal);
      return () => host.off('SIGHUP', onSignal);
    },
    // `process.exit` would wait for DuckDB calls of threads, which can take minutes.
    kill(signal) {
      host.removeAllListeners(signal);
      host.kill(host.pid, signal);
    },
  };
}

/** False if the terminal of the process was closed. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
