import { statfsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MEBIBYTE } from '../../../src/lib/units.ts';
import {
  APPEND_BYTES_MIN,
  diskFullWords,
  freeBytesOnDisk,
  readFreeBytes,
  TRIM_BYTES_MIN,
} from '../../../src/stream/log/log-disk.ts';
import { tempDir } from '../../support/temp-dir.ts';

test('the free bytes are those that this user can write', async () => {
  const folder = tempDir();
  const { bavail, bsize } = statfsSync(folder);
  const expected = bavail * bsize;
  // Other tests write to the same disk.
  for (const free of [freeBytesOnDisk(folder), await readFreeBytes(folder)])
    expect(Math.abs(free - expected) / expected).toBeLessThan(0.05);
});

test('appends stop before trims, with room for one chunk, and the error says how much is free', () => {
  expect([APPEND_BYTES_MIN, TRIM_BYTES_MIN]).toEqual([64 * MEBIBYTE, 4 * MEBIBYTE]);
  expect(diskFullWords('/data', 3.9 * MEBIBYTE)).toContain('/data is full (3 MiB are free');
});
