import { globSync } from 'node:fs';
import { programRoot } from './program-folder.ts';
import { reachesModule } from './reached-modules.ts';

/** What makes a test slow: databases, the queue, a browser, and processes and threads of its own. */
const slowLibraries = [
  '@duckdb/node-api',
  '@electric-sql/pglite',
  'bullmq',
  'ioredis',
  'lmdb',
  'node:child_process',
  'node:worker_threads',
  'playwright-core',
];

/** The test files of `npm run test:quick`: those that reach none of the libraries that make a test slow. */
export function findQuickFiles(): string[] {
  return globSync('test/**/*.test.ts', { cwd: programRoot })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !reachesModule(path, slowLibraries));
}
