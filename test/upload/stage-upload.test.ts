import { readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { readStaged, stageUpload } from '../../src/upload/stage-upload.ts';
import { budget, budgets } from '../report/meter-support.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { tempDir } from '../support/temp-dir.ts';

const nowMs = Date.UTC(2026, 10, 23);
const clock = { now: () => nowMs };
const small = budgets(budget('ROOF', '2026-11', 300_000));

test('an upload is read as it was written, until its file is removed', () => {
  const dataDir = tempDir();
  const { path, remove } = stageUpload(dataDir, small, clock);
  expect(readStaged(path)).toEqual(small);
  remove();
  expect(() => readStaged(path)).toThrow('ENOENT');
});

test('only the user of the service may read an upload that waits', () => {
  const { path, remove } = stageUpload(tempDir(), small, clock);
  expect([dirname(path), path].map((name) => statSync(name).mode & 0o777)).toEqual([0o700, 0o600]);
  remove();
});

test('a file that a killed process has left is deleted by the next upload after an hour', () => {
  const dataDir = tempDir();
  const staged = stageUpload(dataDir, small, clock);
  const folder = dirname(staged.path);
  const leave = (name: string, ageMs: number) => {
    writeFileSync(join(folder, name), '');
    utimesSync(join(folder, name), (nowMs - ageMs) / 1000, (nowMs - ageMs) / 1000);
  };
  leave('old.json', HOUR_MS + MINUTE_MS);
  leave('new.json', HOUR_MS - MINUTE_MS);
  staged.remove();
  const { remove } = stageUpload(dataDir, small, clock);
  remove();
  expect(readdirSync(folder)).toEqual(['new.json']);
});

test('a full disk is an error that names the folder, and no part of the upload is left', (context) => {
  const disk = mountSmallDisk(1);
  if (!disk) return context.skip('this user cannot mount a file system');
  const large = budgets(...Array.from({ length: 20_000 }, () => budget('ROOF', '2026-11', 300_000)));
  const folder = join(disk.folder, 'uploads');
  expect(() => stageUpload(disk.folder, large, clock)).toThrow(
    expect.objectContaining({ code: 'DiskFull', message: expect.stringContaining(folder) }),
  );
  expect(readdirSync(folder)).toEqual([]);
});
