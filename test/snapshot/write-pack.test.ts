import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BLOCK_BYTES, HEAD_BYTES, type PackMap } from '../../src/snapshot/pack-format.ts';
import { unpack } from '../../src/snapshot/unpack.ts';
import { writePack } from '../../src/snapshot/write-pack.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { tempDir } from '../support/temp-dir.ts';

function setUp() {
  const folder = tempDir();
  const store = createFolderStore(join(folder, 'store'));
  let written = 0;
  /**
   * Writes a pack of these bytes, and restores the file from it. The progress rises to the bytes of all
   * packs.
   */
  async function pack(file: Buffer, previous?: PackMap, partBytesMax?: number) {
    const key = `snapshots/00000000000${++written}-test.pack`;
    const source = {
      bytes: file.length,
      signal: new AbortController().signal,
      read: async (target: Uint8Array, position: number) =>
        target.set(file.subarray(position, position + target.length)),
    };
    let paths = 0;
    const newPath = () => join(folder, `${written}-${paths++}`);
    const { map, files, blocksWritten } = await writePack(source, {
      ...{ key, newPath, previous },
      ...(partBytesMax !== undefined && { partBytesMax }),
    });
    for (const part of files) await store.put(part.key, part);
    const path = join(folder, `restored-${written}`);
    const done: number[] = [];
    const onProgress = (bytes: number) => void done.push(bytes);
    await unpack(store, { pack: files.at(-1)!, fileBytes: file.length, path, onProgress });
    const packBytes = map.packs.reduce((sum, { bytes }) => sum + bytes, 0);
    expect([done, done.at(-1)]).toEqual([done.toSorted((a, b) => a - b), packBytes]);
    return { map, blocksWritten, files: files.length, isSame: readFileSync(path).equals(file) };
  }
  return { pack };
}

test('a block whose compressed form has the same size is stored as it is', async () => {
  const { pack } = setUp();
  // Compressed, these 17 bytes take 17 bytes.
  const { map, isSame } = await pack(Buffer.concat([randomBytes(HEAD_BYTES), Buffer.alloc(17, 'a')]));
  expect(map.blocks.map(({ length }) => length)).toEqual([HEAD_BYTES, 17]);
  expect(isSame).toBe(true);
});

test('a pack has the blocks that have changed since the pack before, and those that are new', async () => {
  const { pack } = setUp();
  const [head, block] = [randomBytes(HEAD_BYTES), Buffer.alloc(100, 'a')];
  const first = await pack(Buffer.concat([head, block]));
  expect(first.blocksWritten).toBe(2);
  const same = await pack(Buffer.concat([head, block]), first.map);
  expect([same.blocksWritten, same.isSame]).toEqual([0, true]);
  const changed = await pack(Buffer.concat([head, Buffer.alloc(100, 'b')]), same.map);
  expect([changed.blocksWritten, changed.isSame]).toEqual([1, true]);
  const shorter = await pack(head, changed.map);
  expect([shorter.blocksWritten, shorter.isSame]).toEqual([0, true]);
});

test('a pack of several files has its changed blocks, and those that are only in the pack before', async () => {
  const { pack } = setUp();
  const fileOf = (changed: readonly number[]) =>
    Buffer.concat([
      Buffer.alloc(HEAD_BYTES, 'h'),
      ...Array.from({ length: 9 }, (_, index) =>
        Buffer.alloc(BLOCK_BYTES, changed.includes(index) ? 'b' : 'a'),
      ),
    ]);
  const first = await pack(fileOf([]));
  // Blocks are read eight at a time, so another file begins before the ninth.
  const second = await pack(fileOf([0, 8]), first.map, 20);
  expect([second.blocksWritten, second.files, second.isSame]).toEqual([2, 2, true]);
  const third = await pack(fileOf([0, 7]), second.map, 20);
  expect([third.blocksWritten, third.files, third.isSame]).toEqual([2, 1, true]);
});
