import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import type { ConfigSource } from './reload-config.ts';
import type { Terminal } from './terminal.ts';

/** The objects that a role needs from its process. */
export interface Service {
  logger: Logger;
  clock: Clock;
  terminal: Terminal;
  /** Aborts when the process must end. The role then ends within 20 s. */
  signal: AbortSignal;
  /** The configuration, if it can be read again. */
  configSource?: ConfigSource;
  /** Folders to remove if the process ends before the role removes them. */
  temporary: Set<string>;
}
