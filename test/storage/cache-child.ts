import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type CachedObject, openFileCache } from '../../src/storage/file-cache.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';

/**
 * Fetches files again and again, until it is killed. Arguments: the folder of the store, the folder of the
 * cache, and the objects as JSON.
 */

const [storeDir, folder, text] = process.argv.slice(2);
const store = createFolderStore(storeDir!);
const objects = (JSON.parse(text!) as Array<Omit<CachedObject, 'store'>>).map((one) => ({ ...one, store }));
const cache = await openFileCache({ folder: folder!, bytesMax: 1e8, fetchesMax: 2 });
process.stdout.write('opened\n');
for (;;) {
  (await cache.pin(objects))[Symbol.dispose]();
  // The others stay, so that some files are always there.
  for (const [index, { name }] of objects.entries())
    if (index % 2 === 1) rmSync(join(folder!, name), { force: true });
}
