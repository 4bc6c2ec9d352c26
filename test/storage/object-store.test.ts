import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { probeStore } from '../../src/storage/probe-store.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';

const kinds = [
  { kind: 'folder', open: async () => createFolderStore(join(tempDir(), 'store')), skip: undefined },
  { kind: 's3', open: async () => createS3Store(await s3ForTests()), skip: s3Missing },
];

describe.each(kinds)('objects in a $kind', ({ open, skip, kind }) => {
  const check = (name: string, work: (store: ObjectStore) => Promise<void>) =>
    test.skipIf(skip)(skip ? `${name} (${skip})` : name, async () => work(await open()));

  check('a key is created once, whoever asks', async (store) => {
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, writer) =>
        store.createKey('commits/1.json', Buffer.from(`writer ${writer}`)),
      ),
    );
    const winners = results.flatMap((result, writer) => (result === 'created' ? [writer] : []));
    expect(winners).toHaveLength(1);
    expect((await store.get('commits/1.json'))?.toString()).toBe(`writer ${winners[0]}`);
    expect(await store.createKey('commits/1.json', Buffer.from('late'))).toBe('exists');
  });

  check('bytes come back whole, in ranges and as a file', async (store) => {
    const bytes = randomBytes(300_000);
    const sha256 = sha256Of(bytes);
    const source = join(tempDir(), 'source');
    writeFileSync(source, bytes);
    const key = "files/intervals/month=2026-11/table=%C3%A4+b'(c)!*/x~y.parquet";
    await store.put(key, { path: source, bytes: bytes.length, sha256 });
    await store.put(key, { path: source, bytes: bytes.length, sha256 });
    await store.put('small', { bytes: bytes.subarray(0, 10) });
    expect((await store.get(key))?.equals(bytes)).toBe(true);
    expect((await store.getRange(key, 1_000, 50))?.equals(bytes.subarray(1_000, 1_050))).toBe(true);
    expect((await store.getRange(key, 299_990, 50))?.equals(bytes.subarray(299_990))).toBe(true);
    expect((await store.getRange(key, 400_000, 50))?.length).toBe(0);
    // A damaged commit can name any length.
    expect((await store.getRange(key, 299_990, 2 ** 40))?.equals(bytes.subarray(299_990))).toBe(true);
    const target = join(tempDir(), 'below', 'target');
    expect(await store.download(key, target, { bytes: bytes.length, sha256 })).toBe(true);
    expect(readFileSync(target).equals(bytes)).toBe(true);
    expect(readdirSync(join(target, '..'))).toEqual(['target']);
    await expect(store.get(key, { bytesMax: 1_000 })).rejects.toMatchObject({ code: 'ObjectTooLarge' });
  });

  check('a key that does not exist is undefined, and deleting it does nothing', async (store) => {
    expect(await store.get('missing')).toBeUndefined();
    expect(await store.getRange('missing', 0, 5)).toBeUndefined();
    const target = join(tempDir(), 'target');
    expect(await store.download('missing', target, { bytes: 1, sha256: sha256Of(Buffer.from('a')) })).toBe(
      false,
    );
    expect(existsSync(target)).toBe(false);
    await store.remove('missing');
    await store.put('once', { bytes: Buffer.from('a') });
    await store.remove('once');
    expect(await store.get('once')).toBeUndefined();
  });

  check('bytes that are not the noted ones are refused, and no file appears', async (store) => {
    const source = join(tempDir(), 'source');
    writeFileSync(source, 'other bytes');
    const wrong = { path: source, bytes: 11, sha256: sha256Of(Buffer.from('noted bytes')) };
    await expect(store.put('damaged', wrong)).rejects.toThrow(/damaged|changed/);
    expect(await store.get('damaged')).toBeUndefined();
    await store.put('stored', { bytes: Buffer.from('other bytes') });
    const target = join(tempDir(), 'target');
    const expected = (bytes: number) => ({ bytes, sha256: wrong.sha256 });
    for (const bytes of [10, 11, 12])
      await expect(store.download('stored', target, expected(bytes))).rejects.toMatchObject({
        code: 'ObjectDamaged',
      });
    expect(readdirSync(join(target, '..'))).toEqual([]);
  });

  check('keys that are no names are refused', async (store) => {
    for (const key of ['', '/a', 'a//b', '../a', 'a/..', 'a/./b', 'a\n', 'ä', 'a\\b', 'x'.repeat(901)])
      await expect(store.get(key), key).rejects.toMatchObject({ code: 'UnsafeKey' });
  });

  check('the probe passes and leaves nothing', async (store) => {
    await probeStore(store);
    expect(await keysOf(store.list(''))).toEqual([]);
  });

  check('keys are listed below a prefix and after a key, in the order of their bytes', async (store) => {
    const part = fc.constantFrom('a', 'b', 'a-b', 'a.b', 'A', '0', 'a b', 'x=%2F', '~');
    const keys = fc.uniqueArray(
      fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/')),
      {
        minLength: 1,
        maxLength: 12,
      },
    );
    let round = 0;
    await fc.assert(
      fc.asyncProperty(keys, fc.nat(), fc.boolean(), async (all, pick, isFolder) => {
        const own = `round${round++}/`;
        // A name cannot be a file and a folder.
        const free = all.filter((key) => !all.some((other) => other.startsWith(`${key}/`)));
        for (const key of free) await store.put(own + key, { bytes: Buffer.from(key) });
        const sorted = free.map((key) => own + key).sort();
        expect(await keysOf(store.list(own))).toEqual(sorted);
        const after = sorted[pick % sorted.length]!;
        expect(await keysOf(store.list(own, { startAfter: after }))).toEqual(
          sorted.filter((key) => key > after),
        );
        const prefix = isFolder ? `${after.split('/').slice(0, 2).join('/')}` : after.slice(0, -1);
        expect(await keysOf(store.list(prefix, { startAfter: after }))).toEqual(
          sorted.filter((key) => key.startsWith(prefix) && key > after),
        );
      }),
      { numRuns: kind === 'folder' ? rounds(30, 100) : rounds(4, 8) },
    );
  });
});

test.skipIf(!isSoak || s3Missing)('a list of more than a page is complete', async () => {
  const store = createS3Store(await s3ForTests());
  const keys = Array.from({ length: 1_030 }, (_, index) => `many/${String(index).padStart(5, '0')}`);
  for (let at = 0; at < keys.length; at += 50)
    await Promise.all(keys.slice(at, at + 50).map((key) => store.put(key, { bytes: Buffer.from(key) })));
  expect(await keysOf(store.list('many/'))).toEqual(keys);
});

test('a file in the place of a folder is named, and a folder in the place of a file', async () => {
  const file = join(tempDir(), 'file');
  writeFileSync(file, '');
  const inFile = createFolderStore(file).put('a', { bytes: Buffer.from('a') });
  await expect(inFile).rejects.toMatchObject({ code: 'FolderWrong', retryable: false });
  const store = createFolderStore(join(tempDir(), 'store'));
  await store.put('a/b', { bytes: Buffer.from('a') });
  await expect(store.get('a')).rejects.toMatchObject({
    code: 'FolderWrong',
    message: expect.stringContaining(`${join(store.address, 'a')}: a file is in the place of a folder`),
  });
});

async function keysOf(objects: ReturnType<ObjectStore['list']>): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects) keys.push(key);
  return keys;
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
