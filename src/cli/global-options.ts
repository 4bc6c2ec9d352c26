import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import type { Terminal } from '../service/terminal.ts';

/** Options of every command. */
export interface GlobalOptions {
  config?: string;
  json?: boolean;
  logLevel?: Config['logLevel'];
}

export function globalOptions(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}

/**
 * Reads the configuration that the command line names.
 * @throws InputError with all problems of the configuration
 */
export function readConfig(command: Command, terminal: Terminal): Config {
  const { cwd, environment } = terminal;
  const { config: path, logLevel } = globalOptions(command);
  const config = loadConfig({ path, cwd, environment });
  return logLevel ? { ...config, logLevel } : config;
}
