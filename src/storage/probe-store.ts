import { randomBytes } from 'node:crypto';
import { TerminalError } from '../lib/errors.ts';
import type { ObjectStore } from './object-store.ts';

/**
 * Checks with a small object that a store can do everything that a lake needs: create a key, refuse to create
 * it again, read, list, delete.
 * @throws TerminalError that says what is missing, TransientError if the store does not answer
 */
export async function probeStore(store: ObjectStore, signal?: AbortSignal): Promise<void> {
  const name = randomBytes(16).toString('hex');
  const key = `probe/${name}`;
  const bytes = Buffer.from(`${name}\n`);
  const lacks = (what: string) =>
    new TerminalError(
      'StorageUnsuitable',
      `${store.address}: the store ${what}, so two writers could overwrite each other or data could be missed; use a store with the conditional writes and the listing of S3`,
      { details: { store: store.address } },
    );
  if ((await store.createKey(key, bytes, signal)) !== 'created') throw lacks('reports a new key as taken');
  try {
    if ((await store.createKey(key, Buffer.from('second\n'), signal)) !== 'exists')
      throw lacks('ignores "If-None-Match: *"');
    const read = await store.get(key, { signal });
    if (!read?.equals(bytes)) throw lacks('does not return what was stored');
    if ((await store.getRange(key, 1, 4, signal))?.equals(bytes.subarray(1, 5)) !== true)
      throw lacks('does not return ranges of objects');
    const listed: string[] = [];
    // The key itself must not be listed after itself.
    for await (const object of store.list('probe/', {
      startAfter: `probe/${name.slice(0, -1)}`,
      signal,
    })) {
      listed.push(object.key);
      if (object.key >= key) break;
    }
    if (!listed.includes(key)) throw lacks('does not list a new key');
  } finally {
    await store.remove(key, signal);
  }
  if ((await store.get(key, { signal })) !== undefined) throw lacks('still returns a deleted key');
}
