import { pathToFileURL } from 'node:url';
import { builtModule } from './process-environment.ts';

/**
 * Tests use this file in place of `src/lib/sibling-module.ts`. So a thread or process that our code starts in
 * a test runs the built program, like that of a service. Loading the sources takes a quarter of a second of
 * CPU time more for each.
 */
export function siblingModule(name: string, beside: string): URL {
  const built = builtModule(`${name}.js`);
  return built === undefined ? new URL(`./${name}.ts`, beside) : pathToFileURL(built);
}
