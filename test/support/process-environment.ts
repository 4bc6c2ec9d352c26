import { join } from 'node:path';
import { allocatorSettings } from '../../src/cli/bound-allocator.ts';

/**
 * The environment of a process that a test starts. It has only the variables that are needed to find programs
 * and compiled code, and the settings that make a service start itself again. Without these settings a start
 * takes a tenth more CPU time.
 * @param more undefined leaves a variable out
 */
export function processEnvironment(more: Record<string, string | undefined> = {}): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return {
    PATH,
    ...allocatorSettings,
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
    ...more,
  };
}

/** Options of Node for processes that tests start: see `vitest.config.ts`. */
export const nodeOptions: readonly string[] = process.execArgv.filter(
  (option) => option === '--liftoff-only',
);

/** The command line: built once for a run of tests (`build-program.ts`), from source otherwise. */
export const cliFile = builtModule('cli.js') ?? join(import.meta.dirname, '..', '..', 'src', 'cli.ts');

/** The file of a module in the built program; undefined outside a run of tests. */
export function builtModule(name: string): string | undefined {
  const folder = process.env.WATTLINE_TEST_PROGRAM;
  return folder === undefined ? undefined : join(folder, name);
}
