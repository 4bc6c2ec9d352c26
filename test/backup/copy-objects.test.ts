import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyObjects } from '../../src/backup/backup-lake.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Writes an object into a folder. @returns its description */
function objectIn(root: string, key: string, text: string) {
  mkdirSync(join(root, 'files'), { recursive: true });
  writeFileSync(join(root, key), text);
  return { key, bytes: text.length, sha256: createHash('sha256').update(text).digest('hex') };
}

test.each(['folder', 'store'] as const)(
  'only objects that are missing are copied from a %s, and the progress is that of what is missing',
  async (kind) => {
    const [root, place] = [tempDir(), tempDir()];
    const target = createFolderStore(place);
    const source = kind === 'folder' ? { root } : { store: createFolderStore(root) };
    const progress: string[] = [];
    const copy = async (keys: Array<[key: string, text: string]>) => {
      const objects = keys.map(([key, text]) => objectIn(root, `files/${key}`, text));
      const copied = await copyObjects(objects, {
        source,
        target,
        stagingDir: join(root, 'staging'),
        onProgress: ({ doneBytes, allBytes }) => progress.push(`${doneBytes} of ${allBytes}`),
      });
      return copied.map(({ key }) => key);
    };
    expect(await copy([['a', 'four']])).toEqual(['files/a']);
    const second = await copy([
      ['a', 'four'],
      ['b', 'sixsix'],
      ['c', 'two+'],
    ]);
    expect(second).toEqual(['files/b', 'files/c']);
    expect(progress).toEqual(['4 of 4', '6 of 10', '10 of 10']);
    expect((await target.get('files/c', { bytesMax: 100 }))?.toString()).toBe('two+');
  },
);
