import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncPath, writeSharedFile } from '../lib/durable-files.ts';
import { TerminalError } from '../lib/errors.ts';
import type { Clock } from '../lib/time.ts';
import { INCOMPLETE_FILE } from '../publish/is-lake-complete.ts';
import { commitText } from '../publish/lake-commit.ts';
import { type Publication, readPublication } from '../publish/lake-guard.ts';
import { commitKey, fileKey } from '../publish/lake-layout.ts';
import { packObject, packsOf } from '../snapshot/take-snapshot.ts';
import { unpack } from '../snapshot/unpack.ts';
import { createFolderStore } from '../storage/folder-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { openDatabase } from '../warehouse/database.ts';
import type { Migration } from '../warehouse/load-sql.ts';
import { migrate } from '../warehouse/migrate.ts';
import { onConnection } from '../warehouse/recovering-database.ts';
import { warehouseFailure } from '../warehouse/warehouse-failures.ts';
import { bundledStore, withoutBundles } from './bundled-store.ts';
import { movedName } from './delete-moved-data.ts';
import { isDamage } from './find-damage.ts';
import type { RestorableCommit } from './stored-commits.ts';

interface RestoreLakeOptions {
  source: ObjectStore;
  commit: RestorableCommit;
  /** The warehouse file to restore. */
  warehousePath: string;
  /** The folder of the workgroup's lake to restore. */
  root: string;
  /** Moves existing data away. Without it existing data is an error. */
  force: boolean;
  /**
   * False to leave out the files of the lake. Then the lake is not complete, see `isLakeComplete`. Default:
   * true.
   */
  hasFiles?: boolean;
  /**
   * Parts of the restored data that are on this disk already. They are consumed, even if the restore fails.
   * Default: none.
   */
  prepared?: PreparedRestore;
  /** The schema. Default: the schema of this program. */
  migrations?: Migration[];
  clock: Clock;
  onProgress?: (progress: { doneBytes: number; allBytes: number }) => void;
  signal?: AbortSignal;
}

/** A snapshot of this or another commit of the workgroup, next to the target. */
export interface PreparedRestore {
  /** A folder with its packs, which becomes the folder of the lake. */
  root: string;
  /** Its warehouse file. Each block is checked, so it can also be damaged. */
  warehouse: string;
}

export interface RestoredLake {
  files: number;
  bytes: number;
  /** The place of the data that was here before the restore. `deleteMovedData` deletes it later. */
  movedAway: string[];
}

/**
 * Restores the warehouse of one commit, and its lake unless `hasFiles` is false. Everything is checked by
 * SHA-256 next to the target, and moved into place at the end. No process may have the warehouse open.
 * @throws TerminalError `DataExists` without `force`, `ObjectDamaged`, `ObjectMissing`; then nothing has
 *   changed
 */
export async function restoreLake(options: RestoreLakeOptions): Promise<RestoredLake> {
  const { warehousePath, root, force, clock, signal } = options;
  const existing = [warehousePath, `${warehousePath}.wal`, root].filter((path) => existsSync(path));
  const isEmptyLake = async () => (await readdir(root)).length === 0;
  if (
    existing.length > 0 &&
    !force &&
    !(existing.length === 1 && existing[0] === root && (await isEmptyLake()))
  )
    throw new TerminalError(
      'DataExists',
      `there is data already: ${existing.join(', ')}. Nothing was restored. With --force it is moved away first, and kept for 7 days`,
    );
  const draftRoot = `${root}.restoring`;
  const draftWarehouse = `${warehousePath}.restored`;
  const drafts = [draftRoot, draftWarehouse, `${draftWarehouse}.wal`];
  const removeDrafts = async () => {
    for (const draft of drafts) await rm(draft, { recursive: true, force: true });
  };
  await removeDrafts();
  try {
    const base = await usePrepared(options.prepared, draftRoot);
    const restored = await restoreBeside(options, draftRoot, draftWarehouse, base).catch(
      async (error: unknown) => {
        // The prepared file may be damaged. The store has everything, so it is tried without this file.
        if (base === undefined || !isDamage(error)) throw error;
        await removeDrafts();
        return restoreBeside(options, draftRoot, draftWarehouse);
      },
    );
    signal?.throwIfAborted();
    const nowMs = clock.now();
    const movedAway: string[] = [];
    for (const path of existing) {
      const away = movedName(path, nowMs);
      await rename(path, away);
      movedAway.push(away);
    }
    // The warehouse is moved first. A warehouse without a lake refuses to publish. A lake without a warehouse
    // would look like a new one.
    await rename(draftWarehouse, warehousePath);
    await rename(draftRoot, root);
    for (const path of [warehousePath, root]) await syncPath(dirname(path));
    return { ...restored, movedAway };
  } finally {
    await removeDrafts();
  }
}

/** @returns the path of a warehouse file with blocks of the wanted one. Undefined without it */
async function usePrepared(
  prepared: PreparedRestore | undefined,
  draftRoot: string,
): Promise<string | undefined> {
  if (!prepared || !existsSync(prepared.root) || !existsSync(prepared.warehouse)) return undefined;
  await rename(prepared.root, draftRoot);
  return prepared.warehouse;
}

async function restoreBeside(
  options: RestoreLakeOptions,
  draftRoot: string,
  draftWarehouse: string,
  base?: string,
): Promise<Pick<RestoredLake, 'files' | 'bytes'>> {
  const { hasFiles = true, onProgress, signal } = options;
  const source = bundledStore(options.source, options.commit);
  const commit = withoutBundles(options.commit);
  const files = hasFiles ? commit.files : [];
  const packs = await packsOf(source, commit.snapshot, signal);
  const objects = files.map((file) => ({ key: fileKey(file), bytes: file.bytes, sha256: file.sha256 }));
  const allBytes = [...objects, ...packs].reduce((sum, { bytes }) => sum + bytes, 0);
  let doneBytes = 0;
  const noteDone = (bytes: number) => onProgress?.({ doneBytes: doneBytes + bytes, allBytes });
  await mkdir(join(draftRoot, 'snapshots'), { recursive: true });
  const packKeys = new Set(packs.map(({ key }) => key));
  for (const name of await readdir(join(draftRoot, 'snapshots')))
    if (!packKeys.has(`snapshots/${name}`)) await rm(join(draftRoot, 'snapshots', name));
  // Without a base the packs are fetched while they are unpacked.
  for (const { key, ...expected } of base === undefined ? objects : [...objects, ...packs]) {
    signal?.throwIfAborted();
    if (
      !existsSync(join(draftRoot, key)) &&
      !(await source.download(key, join(draftRoot, key), expected, signal))
    )
      throw new TerminalError(
        'ObjectMissing',
        `${source.address}/${key} does not exist, but commit ${commit.sequence} needs it; restore another commit with --at`,
      );
    doneBytes += expected.bytes;
    noteDone(0);
  }
  const local = createFolderStore(draftRoot);
  await mkdir(dirname(draftWarehouse), { recursive: true });
  const { snapshot } = commit;
  const unpacking = {
    pack: packObject(snapshot),
    fileBytes: snapshot.fileBytes,
    path: draftWarehouse,
    signal,
  };
  if (base !== undefined) await unpack(local, { ...unpacking, base });
  else await unpack(source, { ...unpacking, keepIn: draftRoot, onProgress: noteDone });
  await checkWarehouse(draftWarehouse, commit, options);
  await local.createKey(commitKey(commit.sequence), Buffer.from(commitText(commit)));
  if (!hasFiles) await writeSharedFile(join(draftRoot, INCOMPLETE_FILE), '');
  return { files: files.length, bytes: allBytes };
}

/**
 * Checks that a restored warehouse and a commit belong together. The file is a private copy: it is brought to
 * the schema of this program, because a snapshot can be older than the program.
 * @throws TerminalError if they do not belong together, or the file is damaged or of a newer program
 */
export async function checkWarehouse(
  path: string,
  commit: RestorableCommit,
  { clock, migrations }: Pick<RestoreLakeOptions, 'clock' | 'migrations'>,
): Promise<void> {
  const database = await openDatabase({ path, memoryMegabytes: 256, threads: 1, clock });
  let publication: Publication;
  try {
    publication = await onConnection(database, async (connection) => {
      await migrate(connection, { path, clock, migrations });
      return readPublication(connection);
    });
  } catch (error) {
    throw warehouseFailure(error, path);
  } finally {
    await database.close();
  }
  if (publication.planned_nonce === commit.nonce && publication.created_at_ms === commit.warehouseCreatedAtMs)
    return;
  throw new TerminalError(
    'SnapshotForeign',
    `the snapshot ${commit.snapshot.pack} does not belong to commit ${commit.sequence} of ${commit.workgroupId}; restore another commit with --at`,
  );
}
