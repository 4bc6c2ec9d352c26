import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { requireOpenable } from '../../../src/stream/log/require-openable.ts';
import { tempDir } from '../../support/temp-dir.ts';

test('a new log can be opened, and a process has at most 6,000 open logs', () => {
  const path = join(tempDir(), 'log');
  requireOpenable(path, 5_999);
  expect(() => requireOpenable(path, 6_000)).toThrow(
    expect.objectContaining({
      code: 'TooManyLogs',
      message: expect.stringContaining('6000 logs open already'),
    }),
  );
});

test('a folder in the place of a file of the log is refused', () => {
  const path = tempDir();
  mkdirSync(join(path, 'data.mdb'));
  expect(() => requireOpenable(path, 0)).toThrow(expect.objectContaining({ code: 'DamagedLog' }));
});
