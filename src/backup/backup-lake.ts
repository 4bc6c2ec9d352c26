import { copyFile, link, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cannotLink } from '../lib/durable-files.ts';
import { errorCode, TerminalError, TransientError } from '../lib/errors.ts';
import { isFormatOne } from '../publish/commit-schema.ts';
import { commitText, parseCommit } from '../publish/lake-commit.ts';
import { commitKey, fileKey } from '../publish/lake-layout.ts';
import { packsOf } from '../snapshot/take-snapshot.ts';
import { createOnce } from '../storage/create-once.ts';
import { createFolderStore } from '../storage/folder-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { isRestorable, type RestorableCommit, readStoredCommit, storedSequences } from './stored-commits.ts';

export interface BackupLakeOptions {
  /** The folder of the workgroup's lake. */
  root: string;
  /** The sequence of a local generation with a snapshot. */
  sequence: number;
  target: ObjectStore;
  /** A folder on the disk of the lake. Files are linked there, so that retention cannot delete them meanwhile. */
  stagingDir: string;
  onProgress?: (progress: { doneBytes: number; allBytes: number }) => void;
  signal?: AbortSignal;
}

export interface BackedUpLake {
  /** The sequence in the place. */
  sequence: number;
  /** The time of the data. */
  createdAtMs: number;
  /** What was copied, of what the commit needs. */
  copied: number;
  copiedBytes: number;
  objects: number;
  bytes: number;
  /** True if the place had this commit already. */
  isUnchanged: boolean;
}

interface Needed {
  key: string;
  bytes: number;
  sha256: string;
}

/**
 * Copies a generation and its snapshot into a store: only what the store lacks, and the commit at the end. If it is interrupted, the store has its old
 * commits, and the next backup copies the rest.
 * @throws TerminalError `ForeignBackup` if the store has the backup of another warehouse; TransientError if the same call can succeed later
 */
export async function backupLake(options: BackupLakeOptions): Promise<BackedUpLake> {
  const { root, target, signal } = options;
  const source = createFolderStore(root);
  const local = await readStoredCommit(source, options.sequence);
  if (!isRestorable(local)) throw changedMeanwhile(root);
  const newest = (await storedSequences(target, signal)).at(-1);
  const before = newest === undefined ? undefined : await readStoredCommit(target, newest, signal);
  if (
    before &&
    (before.workgroupId !== local.workgroupId || before.warehouseCreatedAtMs !== local.warehouseCreatedAtMs)
  )
    throw new TerminalError(
      'ForeignBackup',
      `${target.address} has the backup of another warehouse${before.workgroupId === local.workgroupId ? ` of ${local.workgroupId}` : `: ${before.workgroupId}`}; nothing was copied. Use another place`,
    );
  const needed: Needed[] = [
    ...local.files.map((file) => ({ key: fileKey(file), bytes: file.bytes, sha256: file.sha256 })),
    ...(await packsOf(source, local.snapshot)),
  ];
  const bytes = sum(needed);
  const done = { createdAtMs: local.createdAtMs, objects: needed.length, bytes };
  if (before && !isFormatOne(before) && before.nonce === local.nonce)
    return { ...done, sequence: before.sequence, copied: 0, copiedBytes: 0, isUnchanged: true };
  const missing = await lacking(target, needed, signal);
  await withLinks(options, missing, async (pathOf) => {
    let doneBytes = 0;
    for (const one of missing) {
      signal?.throwIfAborted();
      await target.put(one.key, { path: pathOf(one.key), bytes: one.bytes, sha256: one.sha256 }, signal);
      doneBytes += one.bytes;
      options.onProgress?.({ doneBytes, allBytes: sum(missing) });
    }
  });
  const sequence = await createStoredCommit(target, local, before?.sequence ?? 0, signal);
  return { ...done, sequence, copied: missing.length, copiedBytes: sum(missing), isUnchanged: false };
}

/** Creates the commit at its own sequence, or after the newest commit of the store if that one is as high. @returns the sequence */
async function createStoredCommit(
  target: ObjectStore,
  commit: RestorableCommit,
  newest: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  for (let sequence = Math.max(commit.sequence, newest + 1); ; sequence++) {
    const bytes = Buffer.from(commitText({ ...commit, sequence }));
    const outcome = await createOnce(target, { key: commitKey(sequence), bytes, ...(signal && { signal }) });
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
async function lacking(
  target: ObjectStore,
  needed: readonly Needed[],
  signal?: AbortSignal,
): Promise<Needed[]> {
  const stored = new Map<string, number>();
  for (const prefix of ['files/', 'snapshots/'])
    for await (const { key, bytes } of target.list(prefix, { ...(signal && { signal }) }))
      stored.set(key, bytes);
  return needed.filter(({ key, bytes }) => stored.get(key) !== bytes);
}

async function withLinks(
  { root, stagingDir }: BackupLakeOptions,
  needed: readonly Needed[],
  work: (pathOf: (key: string) => string) => Promise<void>,
): Promise<void> {
  const pathOf = (key: string) => join(stagingDir, key);
  try {
    for (const { key } of needed) {
      await mkdir(dirname(pathOf(key)), { recursive: true });
      await linkOrCopy(join(root, key), pathOf(key)).catch((error: unknown) => {
        throw errorCode(error) === 'ENOENT' ? changedMeanwhile(root) : error;
      });
    }
    await work(pathOf);
  } finally {
    await rm(stagingDir, { recursive: true, force: true });
  }
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch((error: unknown) => {
    if (!cannotLink(error)) throw error;
    return copyFile(from, to);
  });
}

function changedMeanwhile(root: string): TransientError {
  return new TransientError('LakeChanged', `the lake ${root} has changed meanwhile; run the backup again`);
}

function sum(objects: readonly Needed[]): number {
  return objects.reduce((total, { bytes }) => total + bytes, 0);
}
