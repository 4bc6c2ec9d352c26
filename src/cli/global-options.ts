import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { type ConfigLoader, createConfigLoader, type LoadOptions } from '../config/config-loader.ts';
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
 * @param options.isRequired true if a missing configuration is an error
 * @throws InputError with all problems of the configuration
 */
export function readConfig(
  command: Command,
  terminal: Terminal,
  { isRequired = false }: Pick<LoadOptions, 'isRequired'> = {},
): Config {
  return withOptions(command, configLoader(command, terminal, { isRequired }).load());
}

/** Reads the configuration that the command line names, also again. */
export function configLoader(
  command: Command,
  terminal: Terminal,
  { isRequired = false }: Pick<LoadOptions, 'isRequired'> = {},
): ConfigLoader {
  const { cwd, environment } = terminal;
  return createConfigLoader({ path: globalOptions(command).config, cwd, environment, isRequired });
}

/** The configuration with the options of the command line. */
export function withOptions(command: Command, config: Config): Config {
  const { logLevel } = globalOptions(command);
  return logLevel ? { ...config, logLevel } : config;
}
