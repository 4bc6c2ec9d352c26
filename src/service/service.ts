import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import type { Terminal } from './terminal.ts';

/** What a role needs of the process that it runs in. */
export interface Service {
  logger: Logger;
  clock: Clock;
  terminal: Terminal;
  /** Aborts when the process is asked to end; the role then ends by itself, within 20 s. */
  signal: AbortSignal;
  /** Folders that are removed where the process is ended before the role has done it. */
  temporary: Set<string>;
}
