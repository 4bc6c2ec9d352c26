import type { Command } from 'commander';
import type { Config } from '../config/config.ts';

/** Options of every command. */
interface GlobalOptions {
  config?: string;
  json?: boolean;
  logLevel?: Config['logLevel'];
}

export function globalOptions(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}
