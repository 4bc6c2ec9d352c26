import { pathToFileURL } from 'node:url';
import { builtModule } from './process-environment.ts';

/**
 * Stands for `src/lib/sibling-module.ts` in tests: a thread or process that our code starts in a test runs
 * the built program, as those of a service do. Loading the sources takes a quarter of a second more of the
 * processor for each.
 */
export function siblingModule(name: string, beside: string): URL {
  const built = builtModule(`${name}.js`);
  return built === undefined ? new URL(`./${name}.ts`, beside) : pathToFileURL(built);
}
