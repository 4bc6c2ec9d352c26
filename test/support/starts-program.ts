import { reachesModule } from './reached-modules.ts';

/** Modules that find the files of the built program. Tests have another module in place of the first one. */
const finders = ['src/lib/sibling-module.ts', 'test/support/process-environment.ts'];

/**
 * Whether one of the modules can start a process or a thread of the program.
 * @param paths of modules, from the root of the project
 */
export function canStartProgram(paths: readonly string[]): boolean {
  return paths.some((path) => reachesModule(path, finders));
}
