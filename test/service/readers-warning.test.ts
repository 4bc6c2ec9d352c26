import { chmodSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readersWarning } from '../../src/service/hold-roles.ts';
import { tempDir } from '../support/temp-dir.ts';

type DataReaders = Parameters<typeof readersWarning>[0]['dataReaders'];

function warningOf(mode: number, dataReaders: DataReaders) {
  const dataDir = tempDir();
  chmodSync(dataDir, mode);
  return readersWarning({ dataDir, dataReaders });
}

test.each<[mode: number, readers: DataReaders]>([
  [0o700, 'owner'],
  [0o750, 'group'],
  [0o755, 'everyone'],
])('a folder of mode %o is right for %s', (mode, readers) => {
  expect(warningOf(mode, readers)).toBeUndefined();
});

test.each<[mode: number, readers: DataReaders, chmod: string]>([
  [0o750, 'owner', 'go='],
  [0o701, 'owner', 'go='],
  [0o770, 'group', 'g-w,o='],
  [0o754, 'group', 'g-w,o='],
  [0o775, 'everyone', 'go-w'],
  [0o757, 'everyone', 'go-w'],
])(
  'a folder of mode %o is too open for %s, and the warning says how to change it',
  (mode, readers, chmod) => {
    const { path, message } = warningOf(mode, readers)!;
    expect(path).toBe('dataDir');
    expect(message).toContain(`(mode 0${mode.toString(8)})`);
    expect(message).toContain(`chmod -R ${chmod} `);
    expect(message.includes('or set dataReaders')).toBe(readers !== 'everyone');
  },
);
