import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import type { Terminal } from './terminal.ts';

/** What a role needs from its process. */
export interface Service {
  logger: Logger;
  clock: Clock;
  /** Does not change if the clock of the machine is set. Default: the system's. */
  steadyClock?: Clock;
  terminal: Terminal;
  /** Aborts when the process must end. The role then ends within 20 s. */
  signal: AbortSignal;
  /** Folders to remove if the process ends before the role removes them. */
  temporary: Set<string>;
}
