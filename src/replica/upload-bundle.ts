import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Hex } from '../lib/durable-files.ts';
import { isMissing } from '../lib/errors.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { BUNDLE_BYTES_MAX, type Bundle, type LakeFile } from '../publish/commit-schema.ts';
import { fileKey, newBundleKey } from '../publish/lake-layout.ts';
import { changedFile } from '../storage/folder-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { lakeChanged } from './upload-objects.ts';

/** Larger files are separate objects. */
const FILE_BYTES_MAX = 4 * MEBIBYTE;

/**
 * Divides new files into bundles and separate objects. A bundle costs one PUT for all its files. One small
 * file alone is not a bundle.
 * @returns the bundles, and the other files
 */
export function planBundles(files: readonly LakeFile[]): { bundles: LakeFile[][]; others: LakeFile[] } {
  const bundles: LakeFile[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const file of files) {
    if (file.bytes > FILE_BYTES_MAX) continue;
    bytes += file.bytes;
    if (bytes > BUNDLE_BYTES_MAX) {
      bundles.push([]);
      bytes = file.bytes;
    }
    bundles.at(-1)!.push(file);
  }
  const chosen = bundles.filter(({ length }) => length > 1);
  const inBundle = new Set(chosen.flat());
  return { bundles: chosen, others: files.filter((file) => !inBundle.has(file)) };
}

/**
 * Copies files of a local lake into one object of a store.
 * @throws TransientError `LakeChanged` if a file was deleted meanwhile; TerminalError `FileDamaged` if a file
 *   has other bytes than its commit notes
 */
export async function uploadBundle(
  store: ObjectStore,
  root: string,
  files: readonly LakeFile[],
  { sequence, signal }: { sequence: number; signal?: AbortSignal },
): Promise<Bundle> {
  const parts: Buffer[] = [];
  const places: Bundle['places'] = [];
  let offset = 0;
  for (const file of files) {
    const path = join(root, fileKey(file));
    const bytes = await readFile(path).catch((error: unknown) => {
      throw isMissing(error) ? lakeChanged(path, error) : error;
    });
    if (sha256Hex(bytes) !== file.sha256) throw changedFile(path);
    parts.push(bytes);
    places.push({ name: file.name, offset });
    offset += bytes.length;
  }
  const bytes = Buffer.concat(parts);
  const key = newBundleKey(sequence);
  await store.put(key, { bytes }, signal);
  return { key, bytes: bytes.length, sha256: sha256Hex(bytes), places };
}
