import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { storageTroubles } from '../../src/operate/storage-troubles.ts';
import { mountSmallDisk } from '../support/small-disk.ts';

test('a full disk of the stream is a trouble, if the log is on this disk', (context) => {
  const disk = mountSmallDisk(1);
  if (!disk) return context.skip('this user cannot mount a file system');
  const found = (log: 'lmdb' | 'redis') =>
    storageTroubles({ dataDir: disk.folder, stream: { log } }, 'home', 7);
  // A machine without a stream has no folder for it.
  expect(found('lmdb')).toEqual([]);
  const folder = join(disk.folder, 'stream');
  mkdirSync(folder);
  expect(found('lmdb')).toEqual([
    {
      workgroupId: 'home',
      sinceMs: 7,
      stage: 'store',
      state: 'failing',
      message: expect.stringContaining(`the disk of ${folder} is full`),
    },
  ]);
  expect(found('redis')).toEqual([]);
  expect(disk.enlarge()).toBe(true);
  expect(found('lmdb')).toEqual([]);
});
