import { existsSync, statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError } from '../lib/errors.ts';
import type { Clock, UtcMs } from '../lib/time.ts';
import { type Commit, isFormatOne } from './commit-schema.ts';
import { readHead } from './lake-commit.ts';
import {
  NEW_LAKE_FILE,
  readPublication,
  refuseOtherWarehouse,
  refuseStaleOwner,
  storePublication,
} from './lake-guard.ts';
import { commitPath, type LakePaths, lakePaths } from './lake-layout.ts';
import { migrateLake } from './migrate-lake.ts';
import type { PublishableShard } from './publishable-shard.ts';
import { createRetained, type Retained } from './retained-generations.ts';
import type { Trees } from './trees.ts';

/**
 * The lake of a shard, as its owner has it in memory. The owner is its only writer, so reading it again and
 * again is not needed.
 */
export interface OpenLake {
  readonly paths: LakePaths;
  /** The newest generation. Undefined if nothing was published. */
  head: Commit | undefined;
  /** The old generations and the files that only they name. */
  readonly retained: Retained;
  /** The folders for people. */
  readonly trees: Trees;
  /**
   * The inputs of the declared datasets of the newest generation, see `declaredInputs`. Undefined if this
   * process has not published.
   */
  publishedInputs: string | undefined;
  /** When retention has last searched the folders for files of crashes. */
  searchedAtMs: UtcMs | undefined;
  /** The identity of the warehouse file. */
  readonly warehouseInode: number | undefined;
}

const opened = new WeakMap<PublishableShard, Map<string, Promise<OpenLake>>>();

/**
 * Opens the lake of a shard, or returns it if it is open. Checks that lake and warehouse belong together, and
 * migrates a lake of an older format.
 * @throws StaleOwnerError if another worker has published
 * @throws TerminalError if lake and warehouse do not belong together, or if one of them was deleted
 */
export async function openLake(
  shard: PublishableShard,
  options: { lakeDir: string; clock: Clock },
): Promise<OpenLake> {
  const paths = lakePaths(options.lakeDir, shard.workgroupId);
  const lakes = opened.get(shard) ?? new Map<string, Promise<OpenLake>>();
  opened.set(shard, lakes);
  const known = await lakes.get(paths.root);
  if (known) {
    refuseLostWarehouse(shard, known);
    if (isAsKnown(paths, known.head)) return known;
    lakes.delete(paths.root);
  }
  let opening = lakes.get(paths.root);
  if (!opening) {
    opening = prepare(shard, paths, options.clock);
    lakes.set(paths.root, opening);
    opening.catch(() => lakes.delete(paths.root));
  }
  return opening;
}

/**
 * Forgets the commit in memory, after a failure that can have created a commit. The next `openLake` reads the
 * lake again.
 */
export function forgetLake(shard: PublishableShard, { paths }: OpenLake): void {
  opened.get(shard)?.delete(paths.root);
}

/** Makes a commit that was created the head. */
export function adoptCommit(lake: OpenLake, commit: Commit): void {
  lake.retained.add(lake.head, commit);
  lake.head = commit;
}

async function prepare(shard: PublishableShard, paths: LakePaths, clock: Clock): Promise<OpenLake> {
  const stored = await readHead(paths);
  refuseStaleOwner(stored, shard);
  const publication = await shard.transaction(readPublication, { isQuiet: true });
  refuseOtherWarehouse(stored, publication, paths, shard.workgroupId);
  for (const folder of [paths.files, paths.commits, paths.analytics, paths.trees, paths.staging])
    await mkdir(folder, { recursive: true });
  const head = stored && isFormatOne(stored) ? await migrateLake(shard, paths, stored, clock.now()) : stored;
  if (head) await rm(join(paths.root, NEW_LAKE_FILE), { force: true });
  if (head && head === stored && head.nonce !== publication.published_nonce) {
    // After a crash the head can be a commit that the warehouse has planned and not noted. It is noted now,
    // before the next one is planned.
    await shard.transaction((connection) => storePublication(connection, 'published', head), {
      isQuiet: true,
    });
  }
  return {
    paths,
    head,
    retained: createRetained(),
    publishedInputs: undefined,
    searchedAtMs: undefined,
    trees: { renewedAtMs: undefined, known: new Map() },
    warehouseInode: statSync(shard.path, { throwIfNoEntry: false })?.ino,
  };
}

function refuseLostWarehouse(shard: PublishableShard, lake: OpenLake): void {
  if (statSync(shard.path, { throwIfNoEntry: false })?.ino === lake.warehouseInode) return;
  throw new TerminalError(
    'WarehouseMissing',
    `the warehouse of workgroup ${shard.workgroupId} was deleted or replaced while it was open: ${shard.path}. Nothing was published. Stop the service, run "wattline restore --force", which takes the last snapshot in the lake, or name a backup, and start it again`,
    { details: { workgroupId: shard.workgroupId, path: shard.path } },
  );
}

/** True if the lake on the disk is the one in memory. It takes at most two calls of the file system. */
function isAsKnown(paths: LakePaths, head: Commit | undefined): boolean {
  if (head) return existsSync(commitPath(paths, head.sequence));
  return existsSync(paths.commits) && !existsSync(commitPath(paths, 1));
}
