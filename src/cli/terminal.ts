import type { Environment } from '../config.ts';

/** The world around a command: what it writes to, what it is told, and when it is to end. */
export interface Terminal {
  readonly cwd: string;
  readonly environment: Environment;
  /** Whether a person looks at standard output, so that text can be drawn again in place. */
  readonly isInteractive: boolean;
  /** Data: nothing else goes to standard output. */
  out(text: string): void;
  /** Messages for people, errors and log events. */
  err(text: string): void;
  /** Calls back when the process is asked to end (Ctrl-C, SIGTERM). @returns stops listening */
  onEnd(listener: (signal: string) => void): () => void;
  /** Ends the process at once. */
  exit(code: number): never;
}

type Host = Pick<NodeJS.Process, 'stdout' | 'stderr' | 'cwd' | 'env' | 'on' | 'off' | 'exit'>;

/** A reader that goes away (`wattline token list | head -1`) is no error: the command ends quietly. */
export function createTerminal(host: Host): Terminal {
  for (const stream of [host.stdout, host.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      host.exit(0);
    });
  }
  return {
    cwd: host.cwd(),
    environment: host.env,
    isInteractive: host.stdout.isTTY === true,
    out: (text) => void host.stdout.write(text),
    err: (text) => void host.stderr.write(text),
    onEnd(listener) {
      host.on('SIGINT', listener);
      host.on('SIGTERM', listener);
      return () => {
        host.off('SIGINT', listener);
        host.off('SIGTERM', listener);
      };
    },
    exit: (code) => host.exit(code),
  };
}
