import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { noteSoakFiles, onlyInSoak } from './test/support/only-in-soak.ts';
import { programFolder } from './test/support/program-folder.ts';
import { findQuickFiles } from './test/support/quick-files.ts';
import { readSqlFiles } from './test/support/read-sql-files.ts';
import { isFull, isSoak, TEST_MS_MAX, WAIT_MS_MAX } from './test/support/rounds.ts';
import { makeRunFolder } from './test/support/run-folder.ts';
import { findSlowFiles } from './test/support/slow-files.ts';

// Processes and threads that the tests start share their compiled code: each starts in half the time.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'wattline-test-compiled');
/** The folder for all files of the tests, also for those of the servers that they share. */
process.env.WATTLINE_TEST_RUN ??= makeRunFolder();
process.env.TMPDIR = process.env.WATTLINE_TEST_RUN;

/** The built program that tests start as processes. */
process.env.WATTLINE_TEST_PROGRAM ??= programFolder();

/** Where a report in JSON goes, if somebody wants one. */
const results = process.env.WATTLINE_TEST_RESULTS;

/**
 * Each of these files has a process of its own, because it starts servers in its process, measures its memory
 * or its handles, or registers the tests of other files. All other files share a few processes, because
 * loading the modules takes a third of a second.
 */
const alone = [
  'test/client/socket-dialects.test.ts',
  'test/decode/fuzz.test.ts',
  'test/pipeline/collect-in-background.test.ts',
  'test/pipeline/open-bucket.test.ts',
  'test/pipeline/pipeline.test.ts',
  'test/pipeline/poll-slice.test.ts',
  'test/pipeline/poll-socket.test.ts',
  'test/pipeline/refused-message.test.ts',
  'test/pipeline/snapshot-stage.test.ts',
  'test/stream/rest/reliability.test.ts',
  'test/stream/rest/routes-*.test.ts',
  'test/stream/socket/socket-million.test.ts',
  'test/stream/socket/socket-reliability.test.ts',
  'test/warehouse/fill-chunks.test.ts',
];

/** Files that only the soak runs, and those that `npm test` leaves out. */
const skippedFiles = [...(isSoak ? [] : onlyInSoak), ...(isFull ? [] : findSlowFiles())];
const soakNote = !isSoak ? noteSoakFiles(process.argv.slice(2)) : undefined;
if (soakNote !== undefined) process.stderr.write(`${soakNote}\n`);

/** The files of `npm run test:quick`. Undefined for all other commands. */
const quickFiles = process.env.WATTLINE_QUICK === '1' ? findQuickFiles() : undefined;

/** Tests of the web page in a browser. They share one service. */
const inBrowser = ['test/web/**/*.page.test.ts'];

/** Threads that our code starts in a test are those of the built program. */
const builtThreads = {
  name: 'built-threads',
  enforce: 'pre' as const,
  resolveId: (source: string) =>
    source.endsWith('/sibling-module.ts')
      ? join(import.meta.dirname, 'test/support/built-sibling-module.ts')
      : undefined,
};

/** Lets `vitest run --changed` follow the SQL and the Lua that a module reads. */
const readFiles = {
  name: 'read-files',
  enforce: 'pre' as const,
  transform(this: { addWatchFile(path: string): void }, code: string) {
    for (const path of readSqlFiles(code)) this.addWatchFile(path);
    for (const [, file] of code.matchAll(/'lua', '(.+?)'/g))
      this.addWatchFile(join(import.meta.dirname, 'lua', file!));
  },
};

export default defineConfig({
  plugins: [builtThreads, readFiles],
  test: {
    pool: 'forks',
    execArgv: [
      // Does not optimize WebAssembly: the compiler would take a second of each start of the embedded queue,
      // which has little to do in tests.
      '--liftoff-only',
      // Collects garbage and compiles in the main thread: other test files need the processors.
      '--single-threaded',
      // Collects garbage less often: many services live in one process, and each collection visits all of them.
      '--initial-heap-size=512',
      '--min-semi-space-size=16',
    ],
    // The tests of `npm test` use the processor all the time, so one more process only makes the others slower.
    // Those of the full set also wait for processes.
    maxWorkers: Number(
      process.env.WATTLINE_TEST_WORKERS ?? Math.ceil(availableParallelism() * (isFull ? 1.5 : 1)),
    ),
    // `.ci/run` reads which files failed.
    reporters: results === undefined ? ['default'] : ['default', ['json', { outputFile: results }]],
    setupFiles: ['test/support/usual-umask.ts'],
    globalSetup: ['test/support/build-program.ts', 'test/support/stop-test-servers.ts'],
    sequence: { sequencer: LongestFirst },
    testTimeout: TEST_MS_MAX,
    hookTimeout: TEST_MS_MAX,
    tags: [{ name: 'slow', description: 'takes half a second or more, so `npm test` leaves it out' }],
    projects: [
      {
        extends: true,
        test: {
          name: 'sharing',
          include: quickFiles ?? ['test/**/*.test.ts'],
          exclude: [...alone, ...inBrowser, ...skippedFiles],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'alone', include: quickFiles ? [] : alone, exclude: skippedFiles } },
      {
        extends: true,
        test: {
          name: 'page',
          include: quickFiles ? [] : inBrowser,
          exclude: skippedFiles,
          // One process has one connection to the browser.
          isolate: false,
          globalSetup: 'test/web/support/serve-page.ts',
          expect: { poll: { timeout: WAIT_MS_MAX } },
        },
      },
    ],
  },
});
