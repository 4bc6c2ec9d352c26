import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

// Processes and threads that the tests start share their compiled code: each starts in half the time.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'wattline-test-compiled');
/** The folder of servers that test files of a run share. */
process.env.WATTLINE_TEST_RUN ??= join(tmpdir(), `wattline-test-run-${process.pid}`);

/** Files of these folders change nothing in their process, so they share one: the modules are loaded once. */
const sharing = [
  'access',
  'balance',
  'cbor',
  'config',
  'contract',
  'correction',
  'decode',
  'explain',
  'exports',
  'import',
  'lib',
  'problems',
  'publish',
  'report',
  'rollup',
  'simulate',
  'storage',
  'upload',
  'warehouse',
].map((folder) => `test/${folder}/**/*.test.ts`);

/** Tests of the web page in a browser. They share one service. */
const inBrowser = ['test/web/**/*.page.test.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    // Does not optimize WebAssembly: the compiler would take a second of each start of the embedded queue, which has little to do in tests.
    execArgv: ['--liftoff-only'],
    // Not more, because tests with replicas and timeouts need a processor within half a second.
    maxWorkers: availableParallelism(),
    globalSetup: ['test/support/stop-test-servers.ts'],
    sequence: { sequencer: LongestFirst },
    // A machine that does other work, too, can be ten times as slow. A test that hangs is still found.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    projects: [
      { extends: true, test: { name: 'sharing', include: sharing, isolate: false } },
      {
        extends: true,
        test: { name: 'alone', include: ['test/**/*.test.ts'], exclude: [...sharing, ...inBrowser] },
      },
      {
        extends: true,
        test: {
          name: 'page',
          include: inBrowser,
          globalSetup: 'test/web/support/serve-page.ts',
          // Nothing waits for that long if the processor is free.
          expect: { poll: { timeout: 30_000 } },
        },
      },
    ],
  },
});
