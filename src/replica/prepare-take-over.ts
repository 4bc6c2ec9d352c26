import { mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { PreparedRestore } from '../backup/restore-lake.ts';
import { ifMissing, TransientError } from '../lib/errors.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { packObject, packsOf } from '../snapshot/take-snapshot.ts';
import { unpack } from '../snapshot/unpack.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { generationOf, readReplicaHead } from './replica-commit.ts';

/*
 * The successor of a worker that is about to leave fetches the warehouse before it claims the workgroup.
 * Nothing is claimed and nothing is visible: the files are next to the files of the workgroup, and only the
 * restore after the claim uses them. It checks each block, so they decide nothing.
 */

interface PrepareTakeOverOptions {
  store: ObjectStore;
  warehousePath: string;
  /** The folder of the workgroup's local lake. */
  root: string;
  /** A smaller warehouse is not fetched, because its restore is fast. Default: 32 MiB. */
  fileBytesMin?: number;
  signal?: AbortSignal;
}

const SUFFIX = '.prepared';
const FILE_BYTES_MIN = 32 * MEBIBYTE;
/** Storing messages is more important, so the disk is not filled. */
const FREE_BYTES_MIN = 256 * MEBIBYTE;

/** Where the prepared files of a workgroup are, if there are any. */
export function preparedAt(warehousePath: string, root: string): PreparedRestore {
  return { root: root + SUFFIX, warehouse: warehousePath + SUFFIX };
}

/**
 * Fetches and unpacks the snapshot of the newest commit. Files of an earlier call are replaced.
 * @returns the size of the warehouse file; undefined if there is nothing worth fetching
 * @throws TransientError `DiskFull`, and as `unpack` does; then there are no prepared files
 */
export async function prepareTakeOver(options: PrepareTakeOverOptions): Promise<number | undefined> {
  const { store, warehousePath, root, fileBytesMin = FILE_BYTES_MIN, signal } = options;
  const prepared = preparedAt(warehousePath, root);
  await removePrepared(prepared);
  const head = await readReplicaHead(store, { signal });
  const snapshot = head && generationOf(head)?.snapshot;
  if (!snapshot || snapshot.fileBytes < fileBytesMin) return undefined;
  const { fileBytes } = snapshot;
  try {
    const packs = await packsOf(store, snapshot, signal);
    const packBytes = packs.reduce((sum, { bytes }) => sum + bytes, 0);
    await refuseSmallDisk(dirname(root), fileBytes + packBytes);
    await unpack(store, {
      pack: packObject(snapshot),
      fileBytes,
      path: prepared.warehouse,
      keepIn: prepared.root,
      signal,
    });
    return fileBytes;
  } catch (error) {
    await removePrepared(prepared);
    throw error;
  }
}

export async function removePrepared({ root, warehouse }: PreparedRestore): Promise<void> {
  for (const path of [root, warehouse, `${warehouse}.restoring`])
    await rm(path, { recursive: true, force: true });
}

/** Removes files that a killed process has left in the folders of the warehouses and of the lakes. */
export async function removeAllPrepared(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const names = await readdir(folder).catch(ifMissing([]));
    for (const name of names)
      if (name.endsWith(SUFFIX) || name.endsWith(`${SUFFIX}.restoring`))
        await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** @throws TransientError `DiskFull` */
async function refuseSmallDisk(folder: string, bytes: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= bytes + FREE_BYTES_MIN) return;
  const needed = Math.ceil((bytes + FREE_BYTES_MIN) / MEBIBYTE);
  throw new TransientError(
    'DiskFull',
    `${folder}: preparing to take ${basename(folder)} over needs ${needed} MiB, which the disk does not have; free some space`,
  );
}
