import { Readable } from 'node:stream';
import { TerminalError } from '../lib/errors.ts';
import type { StoredCommit } from '../publish/commit-schema.ts';
import { fileKey } from '../publish/lake-layout.ts';
import { damagedObject, type ObjectStore } from '../storage/object-store.ts';
import { receiveFile } from '../storage/receive-file.ts';

/** The place of a file that is not a separate object. */
interface BundledFile {
  /** The key of the bundle. */
  bundle: string;
  /** The position of its first byte in the bundle. */
  offset: number;
  bytes: number;
}

/**
 * The bundled files of a commit by their key.
 * @throws TerminalError `ObjectDamaged` if a file is not within its bundle
 */
export function bundledFiles(commit: StoredCommit): Map<string, BundledFile> {
  const byKey = new Map<string, BundledFile>();
  if (commit.format === 1 || !commit.bundles) return byKey;
  const files = new Map(commit.files.map((file) => [file.name, file]));
  for (const { key: bundle, bytes, places } of commit.bundles) {
    for (const { name, offset } of places) {
      const file = files.get(name);
      if (file && offset + file.bytes > bytes) throw outside(commit, name, bundle);
      if (file) byKey.set(fileKey(file), { bundle, offset, bytes: file.bytes });
    }
  }
  return byKey;
}

function outside({ sequence, workgroupId }: StoredCommit, name: string, bundle: string): TerminalError {
  return new TerminalError(
    'ObjectDamaged',
    `commit ${sequence} of ${workgroupId} is damaged: ${name} is not within ${bundle}, where it should be`,
  );
}

/**
 * The store of a commit, in which each file of the commit can be read by its key, even if it is in a bundle.
 * If the bundle was deleted, the file is a separate object since a later commit. Lists contain the objects of
 * the store.
 */
export function bundledStore(store: ObjectStore, commit: StoredCommit): ObjectStore {
  const places = bundledFiles(commit);
  if (places.size === 0) return store;
  return {
    ...store,
    async get(key, options = {}) {
      const place = places.get(key);
      const bytes = place && (await store.getRange(place.bundle, place.offset, place.bytes, options.signal));
      return bytes ?? store.get(key, options);
    },
    async getRange(key, start, length, signal) {
      const place = places.get(key);
      const inside = place && Math.max(0, Math.min(length, place.bytes - start));
      const bytes = place && (await store.getRange(place.bundle, place.offset + start, inside!, signal));
      return bytes ?? store.getRange(key, start, length, signal);
    },
    async download(key, path, expected, signal) {
      const place = places.get(key);
      const bytes = place && (await store.getRange(place.bundle, place.offset, place.bytes, signal));
      if (!bytes) return store.download(key, path, expected, signal);
      await receiveFile(Readable.from([bytes]), path, expected, {
        damagedError: (what) => damagedObject(store.address, key, `${what} (in ${place!.bundle})`),
        signal,
      });
      return true;
    },
  };
}

/** A commit for a place that has each file as a separate object. */
export function withoutBundles<Any extends StoredCommit>(commit: Any): Any {
  if (commit.format === 1) return commit;
  const { bundles: _, ...rest } = commit;
  return rest as Any;
}
