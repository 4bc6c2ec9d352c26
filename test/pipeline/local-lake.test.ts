import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { lakeFolder, warehouseFile } from '../../src/pipeline/assignment.ts';
import { hasPublished } from '../../src/pipeline/has-published.ts';
import { isLakeHere } from '../../src/pipeline/is-lake-here.ts';
import { createStatusBook } from '../../src/pipeline/workgroup-status.ts';
import { INCOMPLETE_FILE } from '../../src/publish/is-lake-complete.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

function setUp() {
  const dataDir = tempDir();
  return { dataDir, book: createStatusBook({ dataDir, clock: createTestClock(), logger: silentLogger }) };
}

function addFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
}

test('the newest lake is here only if a worker owns the workgroup here now, and has all its files', async () => {
  const { dataDir, book } = setUp();
  const isHere = (nowMs = TEST_START_MS) => isLakeHere(dataDir, 'home', nowMs);
  const note = async (facts: Parameters<typeof book.note>[1]) => {
    book.note('home', facts);
    await book.flush();
  };
  const bucket = { lastCommitAtMs: 1, sequence: 1, failingSinceMs: undefined, lastError: undefined };
  expect(isHere()).toBe(false);
  await note({ gaps: 0 });
  expect(isHere()).toBe(false);
  await note({ bucket: { ...bucket, isLakeComplete: false } });
  expect(isHere()).toBe(false);
  await note({ bucket: { ...bucket, isLakeComplete: true } });
  expect(isHere()).toBe(true);
  expect(isHere(TEST_START_MS + HOUR_MS)).toBe(false);
  const incomplete = join(lakeFolder({ dataDir }), 'home', INCOMPLETE_FILE);
  addFile(incomplete);
  expect(isHere()).toBe(false);
  rmSync(incomplete);
  await note({ isHibernated: true });
  expect(isHere()).toBe(false);
});

test('a workgroup has published from its warehouse here if both say so', async () => {
  const { dataDir, book } = setUp();
  book.update('home', 'publish', { generation: 3 });
  book.note('barn', { gaps: 0 });
  await book.flush();
  expect(hasPublished(dataDir, 'home')).toBe(false);
  for (const workgroup of ['home', 'barn', 'shed']) addFile(warehouseFile(dataDir, workgroup));
  expect(['home', 'barn', 'shed'].map((id) => hasPublished(dataDir, id))).toEqual([true, false, false]);
});
