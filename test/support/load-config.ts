import type { Config } from '../../src/config/config.ts';
import { createConfigLoader, type LoadOptions } from '../../src/config/config-loader.ts';

/**
 * Reads the configuration once. See `createConfigLoader`.
 * @throws InputError with all problems and their paths
 */
export function loadConfig(options: LoadOptions): Config {
  return createConfigLoader(options).load();
}
