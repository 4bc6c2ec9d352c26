import { expect, test } from 'vitest';
import { findQuickFiles } from './support/quick-files.ts';

test('the quick tests are those that reach no database, queue, browser, process or thread', () => {
  const files = new Set(findQuickFiles());
  const isQuick = (path: string) => [path, files.has(`test/${path}.test.ts`)];
  expect(['lib/time', 'stream/ingest/check-items', 'architecture'].map(isQuick)).toEqual([
    ['lib/time', true],
    ['stream/ingest/check-items', true],
    ['architecture', true],
  ]);
  expect(['rollup/golden', 'jobs/worker-redis', 'flow/kill', 'web/operate.page'].map(isQuick)).toEqual([
    ['rollup/golden', false],
    ['jobs/worker-redis', false],
    ['flow/kill', false],
    ['web/operate.page', false],
  ]);
  expect(files.size).toBeGreaterThan(200);
});
