import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/time.ts';
import { holdCacheFolder } from '../../src/service/hold-cache-folder.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

test('a cache that no process uses is deleted: of a command at once, of a service after a day', async () => {
  const dataDir = tempDir();
  const clock = createTestClock();
  const addCache = (name: string, folderAgeMs: number, fileAgeMs = folderAgeMs) => {
    const folder = join(dataDir, 'cache', name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'file'), '');
    for (const [path, ageMs] of [
      [join(folder, 'file'), fileAgeMs],
      [folder, folderAgeMs],
    ] as const) {
      const seconds = (TEST_START_MS - ageMs) / 1_000;
      utimesSync(path, seconds, seconds);
    }
  };
  addCache('2', DAY_MS);
  addCache('3', DAY_MS - 1);
  addCache('4', DAY_MS, DAY_MS - 1);
  addCache('5', DAY_MS - 1, DAY_MS);
  addCache('command-2', 0);
  addCache('notes', 9 * DAY_MS);
  const service = await holdCacheFolder(dataDir, false, clock);
  expect(service.folder).toBe(join(dataDir, 'cache', '1'));
  expect(readdirSync(join(dataDir, 'cache')).sort()).toEqual(['3', '4', '5', 'notes']);

  const command = await holdCacheFolder(dataDir, true, clock);
  expect(command.folder).toBe(join(dataDir, 'cache', 'command-1'));
  for (const { folder } of [service, command]) mkdirSync(folder);
  await Promise.all([service.release(), command.release()]);
  expect(readdirSync(join(dataDir, 'cache')).sort()).toEqual(['1', '3', '4', '5', 'notes']);
});

test('a cache that a process uses is not deleted, although nothing in it was used for days', async () => {
  const dataDir = tempDir();
  const clock = createTestClock();
  const held = [await holdCacheFolder(dataDir, false, clock), await holdCacheFolder(dataDir, true, clock)];
  for (const { folder } of held) {
    mkdirSync(folder, { recursive: true });
    const seconds = (TEST_START_MS - 3 * DAY_MS) / 1_000;
    utimesSync(folder, seconds, seconds);
  }
  const next = await holdCacheFolder(dataDir, false, clock);
  expect(next.folder).toBe(join(dataDir, 'cache', '2'));
  expect(readdirSync(join(dataDir, 'cache')).sort()).toEqual(['1', 'command-1']);
  await Promise.all([next, ...held].map(({ release }) => release()));
});
