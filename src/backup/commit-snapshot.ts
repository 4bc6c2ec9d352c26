import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, HOUR_MS } from '../lib/time.ts';
import type { Commit } from '../publish/commit-schema.ts';
import { createCommit, isPublishConflict } from '../publish/lake-commit.ts';
import { planCommit, storePublication } from '../publish/lake-guard.ts';
import { newNonce, uniqueName } from '../publish/lake-layout.ts';
import { adoptCommit, forgetLake, type OpenLake, openLake } from '../publish/open-lake.ts';
import type { PublishableShard } from '../publish/publishable-shard.ts';
import { packsOf, takeSnapshot } from '../snapshot/take-snapshot.ts';
import { createFolderStore } from '../storage/folder-store.ts';
import type { Shard } from '../warehouse/shard.ts';

interface CommitSnapshotOptions {
  lakeDir: string;
  /**
   * Adds a generation even if the newest one has a snapshot, because the warehouse has changed and the lake
   * has not.
   */
  isForced?: boolean;
  clock: Clock;
  logger: Logger;
  signal?: AbortSignal | undefined;
}

/**
 * Adds a generation with the same files and a snapshot of the warehouse. Does nothing if the newest
 * generation has a snapshot, unless `isForced`. The warehouse stores the nonce of the generation before the
 * snapshot is taken, so the restored warehouse and the generation know each other.
 *
 * The caller must not publish at the same time.
 * @returns the newest generation, which has a snapshot
 * @throws TransientError `NothingPublished`, or if the warehouse is busy; and as openLake does
 */
export async function commitSnapshot(
  shard: PublishableShard & Pick<Shard, 'readFrozen'>,
  options: CommitSnapshotOptions,
): Promise<Commit & Required<Pick<Commit, 'snapshot'>>> {
  const { clock, logger } = options;
  const lake = await openLake(shard, options);
  const { head, paths } = lake;
  if (!head)
    throw new TransientError('NothingPublished', `workgroup ${shard.workgroupId} has published nothing yet`);
  if (head.snapshot && !options.isForced) return { ...head, snapshot: head.snapshot };
  const store = createFolderStore(paths.root);
  const sequence = head.sequence + 1;
  const planned = { sequence, nonce: newNonce() };
  await planCommit(shard, planned);
  const previous = await newestSnapshot(lake, head);
  const key = `snapshots/${uniqueName(sequence)}.pack`;
  const { pack, bytes, sha256, fileBytes } = await takeSnapshot(shard, {
    store,
    key,
    previous,
    stagingDir: paths.staging,
    logger,
    signal: options.signal,
  });
  const snapshot = { pack, bytes, sha256, fileBytes };
  const commit = { ...head, ...planned, createdAtMs: clock.now(), ownerEpoch: String(shard.epoch), snapshot };
  try {
    await createCommit(paths, commit);
  } catch (error) {
    forgetLake(shard, lake);
    if (isPublishConflict(error)) await store.remove(key);
    throw error;
  }
  adoptCommit(lake, commit);
  await shard.transaction((connection) => storePublication(connection, 'published', commit), {
    isQuiet: true,
  });
  await removeUnusedPacks(lake, commit, clock.now());
  return commit;
}

/** The snapshot of the newest generation that has one. */
async function newestSnapshot({ retained, paths }: OpenLake, head: Commit): Promise<Commit['snapshot']> {
  return (await retained.generations(paths, head)).findLast(({ snapshot }) => snapshot)?.snapshot;
}

/** The packs of snapshots by the name of their newest pack. Packs never change, so each map is read once. */
const packsRead = new WeakMap<OpenLake, Map<string, readonly string[]>>();

/**
 * Deletes packs that no generation needs and that are at least an hour old. Reads only the maps of snapshots
 * that it has not seen before.
 */
async function removeUnusedPacks(lake: OpenLake, head: Commit, nowMs: number): Promise<void> {
  const { paths, retained } = lake;
  const store = createFolderStore(paths.root);
  const folder = join(paths.root, 'snapshots');
  const names = await readdir(folder).catch(ifMissing([]));
  const old: string[] = [];
  for (const name of names) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found && nowMs - found.mtimeMs > HOUR_MS) old.push(name);
  }
  if (old.length === 0) return;
  const before = packsRead.get(lake);
  const packs = new Map<string, readonly string[]>();
  for (const { snapshot } of await retained.generations(paths, head)) {
    if (!snapshot || packs.has(snapshot.pack)) continue;
    const known = before?.get(snapshot.pack);
    packs.set(snapshot.pack, known ?? (await packsOf(store, snapshot)).map(({ key }) => key));
  }
  packsRead.set(lake, packs);
  const needed = new Set([...packs.values()].flat());
  for (const name of old) if (!needed.has(`snapshots/${name}`)) await rm(join(folder, name), { force: true });
}
