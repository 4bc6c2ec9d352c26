import { copyFile, link, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cannotLink } from '../lib/durable-files.ts';
import { isMissing, TerminalError, TransientError } from '../lib/errors.ts';
import { isFormatOne } from '../publish/commit-schema.ts';
import { commitText, parseCommit } from '../publish/lake-commit.ts';
import { commitKey, fileKey } from '../publish/lake-layout.ts';
import type { PackObject } from '../snapshot/pack-format.ts';
import { packsOf } from '../snapshot/take-snapshot.ts';
import { createOnce } from '../storage/create-once.ts';
import { createFolderStore } from '../storage/folder-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { bundledStore, withoutBundles } from './bundled-store.ts';
import { newestSequence } from './newest-sequence.ts';
import { isRestorable, type RestorableCommit, readStoredCommit } from './stored-commits.ts';

export interface BackupLakeOptions {
  /** The folder of the workgroup's lake, or the store of its replica. */
  source: { root: string } | { store: ObjectStore };
  /** The sequence of a commit with a snapshot. */
  sequence: number;
  target: ObjectStore;
  /**
   * A folder on the disk of the lake. Files are linked there, so that retention cannot delete them meanwhile.
   * If the lake is in a store, it has one object at a time.
   */
  stagingDir: string;
  onProgress?: (progress: { doneBytes: number; allBytes: number }) => void;
  signal?: AbortSignal;
}

export interface BackedUpLake {
  /** The sequence in the place. */
  sequence: number;
  /** The time of the data. */
  createdAtMs: number;
  /** The copied objects, and all objects that the commit needs. */
  copied: number;
  copiedBytes: number;
  objects: number;
  bytes: number;
  /** True if the place had this commit already. */
  isUnchanged: boolean;
}

/** The objects that a restore of a commit reads. */
export async function objectsOf(
  source: ObjectStore,
  { files, snapshot }: RestorableCommit,
  signal?: AbortSignal,
): Promise<PackObject[]> {
  return [
    ...files.map((file) => ({ key: fileKey(file), bytes: file.bytes, sha256: file.sha256 })),
    ...(await packsOf(source, snapshot, signal)),
  ];
}

/** Copies the objects that the target does not have yet. @returns them */
export async function copyObjects(
  objects: readonly PackObject[],
  options: Omit<BackupLakeOptions, 'sequence'>,
): Promise<PackObject[]> {
  const { source, target, stagingDir, signal, onProgress } = options;
  const missing = await lacking(target, objects, signal);
  const allBytes = sum(missing);
  let doneBytes = 0;
  const put = async ({ key, bytes, sha256 }: PackObject, path: string) => {
    signal?.throwIfAborted();
    await target.put(key, { path, bytes, sha256 }, signal);
    doneBytes += bytes;
    onProgress?.({ doneBytes, allBytes });
  };
  try {
    if ('root' in source) {
      await linkAll(source.root, stagingDir, missing);
      for (const one of missing) await put(one, join(stagingDir, one.key));
    } else {
      const path = join(stagingDir, 'object');
      for (const object of missing) {
        if (!(await source.store.download(object.key, path, object, signal)))
          throw changedMeanwhile(source.store);
        await put(object, path);
      }
    }
  } finally {
    await rm(stagingDir, { recursive: true, force: true });
  }
  return missing;
}

/**
 * Copies a commit and its snapshot into a store. Objects that the store has are not copied, and the commit
 * comes last. If it is interrupted, the store has its old commits, and the next backup copies the rest.
 * @throws TerminalError `ForeignBackup` if the store has the backup of another warehouse; TransientError if
 *   the same call can succeed later
 */
export async function backupLake(options: BackupLakeOptions): Promise<BackedUpLake> {
  const { target, signal } = options;
  const stored = 'root' in options.source ? createFolderStore(options.source.root) : options.source.store;
  const local = await readStoredCommit(stored, options.sequence, signal);
  if (!isRestorable(local)) throw changedMeanwhile(stored);
  const source = bundledStore(stored, local);
  const newest = await newestSequence(target, { signal });
  const before = newest === undefined ? undefined : await readStoredCommit(target, newest, signal);
  if (
    before &&
    (before.workgroupId !== local.workgroupId || before.warehouseCreatedAtMs !== local.warehouseCreatedAtMs)
  )
    throw new TerminalError(
      'ForeignBackup',
      `${target.address} has the backup of another warehouse${before.workgroupId === local.workgroupId ? ` of ${local.workgroupId}` : `: ${before.workgroupId}`}; nothing was copied. Use another place`,
    );
  const needed = await objectsOf(source, local, signal);
  const bytes = sum(needed);
  const done = { createdAtMs: local.createdAtMs, objects: needed.length, bytes };
  if (before && !isFormatOne(before) && before.nonce === local.nonce)
    return { ...done, sequence: before.sequence, copied: 0, copiedBytes: 0, isUnchanged: true };
  const missing = await copyObjects(
    needed,
    'root' in options.source ? options : { ...options, source: { store: source } },
  );
  const sequence = await createStoredCommit(target, local, before?.sequence ?? 0, signal);
  return { ...done, sequence, copied: missing.length, copiedBytes: sum(missing), isUnchanged: false };
}

/**
 * Creates the commit at its own sequence, or after the newest commit of the store if that one is as high.
 * @returns the sequence
 */
async function createStoredCommit(
  target: ObjectStore,
  commit: RestorableCommit,
  newest: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  for (let sequence = Math.max(commit.sequence, newest + 1); ; sequence++) {
    const bytes = Buffer.from(commitText({ ...withoutBundles(commit), sequence }));
    const outcome = await createOnce(target, { key: commitKey(sequence), bytes, signal });
    if (outcome.kind === 'created') return sequence;
    if (outcome.kind === 'unknown') throw outcome.cause;
    const other = parseCommit(outcome.bytes.toString('utf8'));
    // Another backup of the same commit was faster, or another backup of the place took the number.
    if (!isFormatOne(other) && other.nonce === commit.nonce) return sequence;
    if (other.warehouseCreatedAtMs !== commit.warehouseCreatedAtMs)
      throw new TransientError(
        'BackupConflict',
        `another backup writes to ${target.address} at the same time; try again`,
      );
  }
}

/** The objects that a store does not have, or has with another size. */
export async function lacking(
  target: ObjectStore,
  needed: readonly PackObject[],
  signal?: AbortSignal,
): Promise<PackObject[]> {
  const stored = new Map<string, number>();
  for (const prefix of ['files/', 'bundles/', 'snapshots/'])
    for await (const { key, bytes } of target.list(prefix, { signal })) stored.set(key, bytes);
  return needed.filter(({ key, bytes }) => stored.get(key) !== bytes);
}

async function linkAll(root: string, stagingDir: string, objects: readonly PackObject[]): Promise<void> {
  for (const { key } of objects) {
    const path = join(stagingDir, key);
    await mkdir(dirname(path), { recursive: true });
    await linkOrCopy(join(root, key), path).catch((error: unknown) => {
      throw isMissing(error) ? changedMeanwhile({ address: root }) : error;
    });
  }
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch((error: unknown) => {
    if (!cannotLink(error)) throw error;
    return copyFile(from, to);
  });
}

function changedMeanwhile({ address }: { address: string }): TransientError {
  return new TransientError('LakeChanged', `the lake ${address} has changed meanwhile; run the backup again`);
}

function sum(objects: readonly PackObject[]): number {
  return objects.reduce((total, { bytes }) => total + bytes, 0);
}
