import { linkSync, mkdirSync } from 'node:fs';
import { access, mkdir, rename, rm, symlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { cannotLink, linkOrCopy, syncPath } from '../lib/durable-files.ts';
import { errorCode } from '../lib/errors.ts';
import { writeAnalytics } from './analytics.ts';
import { type Commit, listSequences, readCurrent } from './lake-commit.ts';
import {
  commitPath,
  filePath,
  generationMarker,
  generationPath,
  type LakePaths,
  uniqueName,
} from './lake-layout.ts';
import type { PublishShard } from './publish-shard.ts';

/** Links are created in the thread that lands messages, so only this many at a time, about 2 ms. */
const LINKS_PER_TURN = 64;

/**
 * Creates the folders of a committed generation for people (Hive partitions and `analytics.duckdb`), and moves `current` to it. Does nothing if that is
 * done, and continues after a crash.
 */
export async function completeGeneration(
  shard: Pick<PublishShard, 'connect'>,
  paths: LakePaths,
  commit: Commit,
): Promise<void> {
  if (!(await exists(generationMarker(paths, commit.sequence)))) await layOut(shard, paths, commit);
  if ((await readCurrent(paths)) !== commit.sequence) await moveCurrent(paths, commit.sequence);
}

async function layOut(shard: Pick<PublishShard, 'connect'>, paths: LakePaths, commit: Commit): Promise<void> {
  const root = generationPath(paths, commit.sequence);
  await rm(root, { recursive: true, force: true });
  await mkdir(root, { recursive: true });
  const made = new Set<string>();
  let linked = 0;
  for (const file of commit.files) {
    const { dataset, folder, name } = file;
    const target = join(root, dataset, folder);
    if (!made.has(target)) mkdirSync(target, { recursive: true });
    made.add(target);
    await linkFile(filePath(paths, file), join(target, name));
    linked += 1;
    if (linked % LINKS_PER_TURN === 0) await nextTurn();
  }
  await writeAnalytics(shard, root, commit);
  await linkOrCopy(commitPath(paths, commit.sequence), generationMarker(paths, commit.sequence));
  await syncPath(root);
}

/** A synchronous link takes a fifth of the time of an asynchronous one. */
async function linkFile(from: string, to: string): Promise<void> {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!cannotLink(error)) throw error;
    await linkOrCopy(from, to);
  }
}

/** Replaces `current` atomically. A publisher that is behind does not change it. */
async function moveCurrent(paths: LakePaths, sequence: number): Promise<void> {
  if ((await listSequences(paths)).at(-1) !== sequence) return;
  const staged = join(paths.staging, uniqueName(sequence));
  await symlink(relative(paths.root, generationPath(paths, sequence)), staged);
  await rename(staged, paths.current);
  await syncPath(paths.root);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: unknown) => {
      if (errorCode(error) === 'ENOENT') return false;
      throw error;
    },
  );
}
