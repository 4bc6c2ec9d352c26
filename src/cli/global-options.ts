import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import type { Terminal } from '../service/terminal.ts';

/** Options that every command takes. */
export interface GlobalOptions {
  config?: string;
  json?: boolean;
  logLevel?: Config['logLevel'];
}

export function globalOptions(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}

/**
 * The configuration a command was told to use.
 * @throws InputError with everything that is wrong with it
 */
export function readConfig(command: Command, terminal: Terminal): Config {
  const { cwd, environment } = terminal;
  const { config: path, logLevel } = globalOptions(command);
  const config = loadConfig({ path, cwd, environment });
  return logLevel ? { ...config, logLevel } : config;
}
