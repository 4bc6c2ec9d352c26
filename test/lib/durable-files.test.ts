import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  cannotLink,
  hashFile,
  linkOrCopyWhole,
  replaceFile,
  replaceFileInPieces,
  sha256Hex,
  writePrivateFile,
} from '../../src/lib/durable-files.ts';
import { folderMode, tooOpenMode } from '../../src/lib/private-files.ts';
import { readNamedFile } from '../../src/lib/read-named-file.ts';
import { otherDisk, otherDiskDir } from '../support/other-disk.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a private file can be read by its user only, and does not replace another', () => {
  const path = join(tempDir(), 'keys');
  writePrivateFile(path, 'one');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(() => writePrivateFile(path, 'two')).toThrow('EEXIST');
  expect(readFileSync(path, 'utf8')).toBe('one');
});

test('a file is replaced as a whole, and leaves nothing beside it', async () => {
  const folder = tempDir();
  const path = join(folder, 'state');
  replaceFile(path, 'one');
  await replaceFileInPieces(path, ['tw', 'o']);
  expect(readFileSync(path, 'utf8')).toBe('two');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(() => replaceFile(join(folder, 'none', 'state'), 'x')).toThrow('ENOENT');
  await expect(replaceFileInPieces(folder, ['x'])).rejects.toThrow();
  expect(readdirSync(folder)).toEqual(['state']);
});

test('a second name of a file does not replace another file', async () => {
  const folder = tempDir();
  const [from, to, other] = ['from', 'to', 'other'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(from, 'content');
  writeFileSync(other, 'kept');
  await linkOrCopyWhole(from, to);
  await linkOrCopyWhole(from, other);
  expect([to, other].map((path) => readFileSync(path, 'utf8'))).toEqual(['content', 'kept']);
  await expect(linkOrCopyWhole(join(folder, 'none'), join(folder, 'new'))).rejects.toThrow('ENOENT');
});

test('file systems without links, or of another disk, get a copy', () => {
  const failure = (code: string) => Object.assign(new Error(code), { code });
  expect(['EXDEV', 'EPERM', 'ENOTSUP', 'ENOSPC', 'EACCES'].map((code) => cannotLink(failure(code)))).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});

test.runIf(otherDisk)(
  'a second name on another disk is a copy, and does not replace another file',
  async () => {
    const [folder, other] = [tempDir(), otherDiskDir()];
    const [from, to] = [join(folder, 'from'), join(other, 'to')];
    writeFileSync(from, 'content');
    await linkOrCopyWhole(from, to);
    writeFileSync(from, 'changed');
    await linkOrCopyWhole(join(folder, 'from'), to);
    expect(readFileSync(to, 'utf8')).toBe('content');
    expect(readdirSync(other)).toEqual(['to']);
  },
);

test('the SHA-256 of a file is that of its bytes', async () => {
  const path = join(tempDir(), 'file');
  writeFileSync(path, 'abc');
  const expected = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
  expect([await hashFile(path), sha256Hex('abc')]).toEqual([expected, expected]);
});

test.each([
  ['owner', 0o700, ['0750', '0755', '0777']],
  ['group', 0o750, ['0755', '0777']],
  ['everyone', 0o755, ['0777']],
] as const)('a data folder of %s has the mode %o, and what is more is too open', (readers, mode, tooOpen) => {
  const folder = join(tempDir(), 'data');
  mkdirSync(folder);
  expect(folderMode(readers)).toBe(mode);
  const found = [0o700, 0o750, 0o755, 0o777].map((given) => {
    chmodSync(folder, given);
    return tooOpenMode(folder, readers);
  });
  expect(found.filter((one) => one !== undefined)).toEqual(tooOpen);
});

test('a file that a person names is read up to its limit, and only if it is a regular file', () => {
  const path = join(tempDir(), 'secret');
  writeFileSync(path, '12345');
  expect(readNamedFile(path, 5)).toEqual({ text: '12345' });
  expect(readNamedFile(path, 4)).toEqual({
    problem: 'has 5 bytes, and at most 4 are read: name another file',
  });
  expect(readNamedFile(join(path, '..'), 5)).toEqual({ problem: 'is a folder: name a file' });
  expect(readNamedFile('/dev/zero', 5)).toEqual({ problem: 'is a device or a pipe: name a regular file' });
  expect(readNamedFile(`${path}.none`, 5)).toEqual({ problem: 'cannot be read (ENOENT)' });
});
