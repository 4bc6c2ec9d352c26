import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { RestorePoint } from '../../backup/stored-commits.ts';
import type { Config } from '../../config/config.ts';
import { errorMessage, TerminalError } from '../../lib/errors.ts';
import type { Service } from '../../service/service.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import { repeatRequests } from '../../storage/repeat-requests.ts';
import { workgroupStore } from '../../storage/workgroup-store.ts';
import { printData } from '../terminal/output.ts';
import { type BucketRestore, describeBucketRestore, type RestoredWorkgroup } from './bucket-restore-view.ts';
import { bucketAddress, type Place } from './choose-place.ts';

interface Asked {
  ids: readonly string[];
  at: RestorePoint;
  /** A backup. Undefined: an earlier commit of the bucket. */
  place: Place | undefined;
  force: boolean;
}

/**
 * Restores workgroups whose state is in the bucket of `storage.s3`: adds a commit with the content of an
 * earlier one, or of a backup. The service can run.
 */
export async function restoreInBucket(
  command: Command,
  config: Config,
  service: Service,
  { ids, at, place, force }: Asked,
): Promise<void> {
  const bucket = bucketAddress(config.storage.s3!);
  if (!place && at.kind === 'newest') {
    printData(command, service.terminal, { place: bucket, workgroups: [] }, () => `${nothingToDo(bucket)}\n`);
    return;
  }
  const workgroups: RestoredWorkgroup[] = [];
  const missing: string[] = [];
  let failure: unknown;
  for (const id of ids) {
    try {
      workgroups.push(await restoreOne(config, service, id, { at, place, force }));
    } catch (error) {
      if (!(error instanceof TerminalError && error.code === 'NothingToRestore')) throw error;
      failure ??= error;
      missing.push(id);
    }
  }
  if (workgroups.length === 0) throw failure;
  await announce(config, service, workgroups);
  const state = place && (await restoreStateOf(config, service, place, workgroups));
  const restored = { place: place?.name ?? bucket, workgroups, missing, state };
  printData(command, service.terminal, restored, (columnsMax, shown) =>
    describeBucketRestore(shown, columnsMax),
  );
}

/**
 * Tells running owners and readers of the new commits. Without it owners find them within minutes, and
 * readers within 30 s.
 */
async function announce(
  config: Config,
  { logger }: Service,
  restored: readonly RestoredWorkgroup[],
): Promise<void> {
  if (config.queue.backend !== 'redis') return;
  const { openQueueRedis } = await import('../../service/open-control.ts');
  const { announceCommit } = await import('../../service/commit-news.ts');
  try {
    const redis = await openQueueRedis(config, logger);
    try {
      for (const { workgroup, commit, isNew } of restored)
        if (isNew) await announceCommit(redis, workgroup, commit);
    } finally {
      redis.close();
    }
  } catch (error) {
    logger.warn({ error: errorMessage(error) }, 'commit-news.not-sent');
  }
}

/**
 * Restores the runs of exports into the bucket, and the files of audit and access into the data folder of
 * this machine.
 */
async function restoreStateOf(
  config: Config,
  service: Service,
  place: Place,
  restored: readonly RestoredWorkgroup[],
): Promise<BucketRestore['state']> {
  const { restoreState } = await import('../../backup/backup-state.ts');
  const { exportsToBucket } = await import('./exports-in-bucket.ts');
  const { dataDir } = config;
  const exportsRoot = join(dataDir, 'backup', randomUUID());
  const atMs = Math.max(...restored.map(({ createdAtMs }) => createdAtMs));
  const ids = restored.map(({ workgroup }) => workgroup);
  try {
    const { signal } = service;
    const all = await restoreState({ store: place.state, dataDir, exportsRoot, atMs, signal });
    const files = all.restored - (await countFiles(exportsRoot));
    const runs = await exportsToBucket(config, service, ids, exportsRoot);
    return { runs, files, filesKept: all.kept };
  } finally {
    await rm(exportsRoot, { recursive: true, force: true });
  }
}

async function countFiles(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).length;
}

async function restoreOne(
  config: Config,
  { signal }: Service,
  id: string,
  { at, place, force }: Omit<Asked, 'ids'>,
): Promise<RestoredWorkgroup> {
  const store = repeatRequests(workgroupStore(config.storage, id)!);
  const { commit, isNew, replaced, content } = place
    ? await restorePlace(config, store, place.of(id), { at, force, signal })
    : await restoreEarlier(store, at as Exclude<RestorePoint, { kind: 'newest' }>, signal);
  const { sequence: from, createdAtMs } = content;
  return {
    workgroup: id,
    commit: commit.sequence,
    from,
    createdAtMs,
    isNew,
    ...(replaced !== undefined && { replaced }),
  };
}

async function restoreEarlier(
  store: ObjectStore,
  at: Exclude<RestorePoint, { kind: 'newest' }>,
  signal: AbortSignal,
) {
  const { findReplicaCommit, restoreReplica } = await import('../../replica/restore-replica.ts');
  const content = await findReplicaCommit(store, at, signal);
  return { content, ...(await restoreReplica(store, content, signal)) };
}

async function restorePlace(
  { dataDir }: Config,
  target: ObjectStore,
  source: ObjectStore,
  options: { at: RestorePoint; force: boolean; signal: AbortSignal },
) {
  const { restoreBackup } = await import('../../replica/restore-backup.ts');
  return restoreBackup(target, { source, stagingDir: join(dataDir, 'backup', randomUUID()), ...options });
}

function nothingToDo(bucket: string): string {
  return `Nothing to restore: the state of all workgroups is in ${bucket}. Start the service, and it continues from there. "--at" goes back to an earlier commit.`;
}
