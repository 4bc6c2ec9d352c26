import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { type ConfigLoader, createConfigLoader } from '../config/config-loader.ts';
import type { Terminal } from '../service/terminal.ts';
import { globalOptions } from './global-options.ts';

/**
 * Reads the configuration that the command line names.
 * @throws InputError if there is none, or with all its problems
 */
export function readConfig(command: Command, terminal: Terminal): Config {
  return withOptions(command, configLoader(command, terminal).load());
}

/** Reads the configuration that the command line names, also again. */
export function configLoader(command: Command, terminal: Terminal): ConfigLoader {
  const { cwd, environment } = terminal;
  return createConfigLoader({ path: globalOptions(command).config, cwd, environment, isRequired: true });
}

/** The configuration with the options of the command line. */
export function withOptions(command: Command, config: Config): Config {
  const { logLevel } = globalOptions(command);
  return logLevel ? { ...config, logLevel } : config;
}
