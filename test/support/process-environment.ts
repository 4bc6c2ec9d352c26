/** The environment of a process that a test starts. It has only what finds programs and compiled code. */
export function processEnvironment(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }), ...more };
}

/** Options of Node for processes that tests start: see `vitest.config.ts`. */
export const nodeOptions: readonly string[] = process.execArgv.filter(
  (option) => option === '--liftoff-only',
);
