import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { probeStore } from '../../src/storage/probe-store.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A folder, and what it does in another way than a store must. */
function storeWith(change: (store: ObjectStore) => Partial<ObjectStore>): ObjectStore {
  const store = createFolderStore(join(tempDir(), 'store'));
  return { ...store, ...change(store) };
}

test.each<[lacks: string, change: (store: ObjectStore) => Partial<ObjectStore>]>([
  ['reports a new key as taken', () => ({ createKey: async () => 'exists' })],
  [
    'ignores "If-None-Match: *"',
    ({ createKey }) => ({
      createKey: async (...asked) => {
        await createKey(...asked);
        return 'created';
      },
    }),
  ],
  ['does not return what was stored', () => ({ get: async () => Buffer.from('other') })],
  ['does not return what was stored', () => ({ get: async () => undefined })],
  ['does not return ranges of objects', ({ get }) => ({ getRange: (key) => get(key) })],
  ['does not list a new key', () => ({ async *list() {} })],
  [
    'does not list a new key',
    () => ({
      async *list() {
        yield { key: 'probe/~', bytes: 1, modifiedAtMs: 0 };
      },
    }),
  ],
  ['still returns a deleted key', () => ({ remove: async () => undefined })],
])('a store that %s is refused', async (lacks, change) => {
  const store = storeWith(change);
  await expect(probeStore(store)).rejects.toMatchObject({
    code: 'StorageUnsuitable',
    message: expect.stringContaining(`${store.address}: the store ${lacks}, so two writers could overwrite`),
    details: { store: store.address },
  });
});

test('the probe finds its key behind others, and deletes it also after a refusal', async () => {
  const store = storeWith(() => ({ getRange: async () => undefined }));
  await store.put('probe/!', { bytes: Buffer.from('other') });
  await expect(probeStore(store)).rejects.toThrow('ranges');
  expect((await Array.fromAsync(store.list(''))).map(({ key }) => key)).toEqual(['probe/!']);
});
