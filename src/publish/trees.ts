import { linkSync, mkdirSync } from 'node:fs';
import { mkdir, readdir, rename, rm, rmdir, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { cannotLink, linkOrCopyWhole, syncPath } from '../lib/durable-files.ts';
import { errorCode, isMissing } from '../lib/errors.ts';
import { isThere } from '../lib/is-there.ts';
import type { UtcMs } from '../lib/time.ts';
import type { Commit } from './commit-schema.ts';
import { readCurrent } from './lake-commit.ts';
import {
  analyticsPath,
  commitPath,
  filePath,
  filePlace,
  type LakePaths,
  parseSequence,
  treePath,
  uniqueName,
} from './lake-layout.ts';

/** The facts about its trees that the owner of a lake remembers. */
export interface Trees {
  /** The last renewal of `current` by this process. */
  renewedAtMs: UtcMs | undefined;
  /**
   * The files of trees that this process has made, by name of the tree. A tree of an earlier process is read
   * from the disk.
   */
  readonly known: Map<string, Set<string>>;
}

/**
 * `current` and the trees before it. A tree is changed again when it is the oldest, so readers have time to
 * finish.
 */
const TREES_MAX = 3;
/** The tree that is being changed. */
const NEXT = 'next';
/** Links are created in the thread that lands messages, so only this many at a time, about 2 ms. */
const LINKS_PER_TURN = 64;

/**
 * Makes `current` show a generation: changes the oldest tree by the difference, and points `current` at it. A
 * crash leaves `current` as it was, and the next call continues.
 */
export async function pointCurrent(paths: LakePaths, trees: Trees, commit: Commit): Promise<void> {
  const target = treePath(paths, commit.sequence);
  if (!(await isThere(target))) {
    const next = await takeOldest(paths, trees);
    const files = await bringUpToDate(paths, next, commit, trees.known.get(NEXT));
    await rename(next, target);
    trees.known.delete(NEXT);
    trees.known.set(String(commit.sequence), files);
  }
  const staged = join(paths.staging, uniqueName(commit.sequence));
  await symlink(relative(paths.root, target), staged);
  await rename(staged, paths.current);
  await syncPath(paths.root);
}

/** @returns the folder of the next tree: the oldest one, or an empty one if there are few */
async function takeOldest(paths: LakePaths, trees: Trees): Promise<string> {
  const next = join(paths.trees, NEXT);
  // A crash has left it.
  if (await isThere(next)) return next;
  const current = await readCurrent(paths);
  const names = await readdir(paths.trees);
  const sequences = names.flatMap((name) => parseSequence(name) ?? []).sort((a, b) => a - b);
  const oldest = sequences.find((sequence) => sequence !== current);
  if (sequences.length < TREES_MAX || oldest === undefined) {
    await mkdir(next);
    trees.known.set(NEXT, new Set());
    return next;
  }
  await rename(treePath(paths, oldest), next);
  const files = trees.known.get(String(oldest));
  if (files) trees.known.set(NEXT, files);
  trees.known.delete(String(oldest));
  return next;
}

/** @returns the places of the files of the tree */
async function bringUpToDate(
  paths: LakePaths,
  tree: string,
  commit: Commit,
  known: Set<string> | undefined,
): Promise<Set<string>> {
  const has = known ?? (await filesOf(tree));
  const filesByPlace = new Map(commit.files.map((file) => [filePlace(file), file]));
  for (const place of has) {
    if (filesByPlace.has(place)) continue;
    await rm(join(tree, place), { force: true });
    has.delete(place);
    await removeEmpty(tree, dirname(join(tree, place)));
  }
  const made = new Set<string>();
  let linked = 0;
  for (const [place, file] of filesByPlace) {
    if (has.has(place)) continue;
    const path = join(tree, place);
    const folder = dirname(path);
    if (!made.has(folder)) mkdirSync(folder, { recursive: true });
    made.add(folder);
    await linkFile(filePath(paths, file), path);
    has.add(place);
    linked += 1;
    if (linked % LINKS_PER_TURN === 0) await nextTurn();
  }
  for (const [from, name] of [
    [analyticsPath(paths, commit.sequence), 'analytics.duckdb'],
    [commitPath(paths, commit.sequence), 'commit.json'],
  ] as const) {
    await rm(join(tree, name), { force: true });
    await linkOrCopyWhole(from, join(tree, name));
  }
  await syncPath(tree);
  return has;
}

/** A synchronous link takes a fifth of the time of an asynchronous one. */
async function linkFile(from: string, to: string): Promise<void> {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!cannotLink(error) && errorCode(error) !== 'EEXIST') throw error;
    await linkOrCopyWhole(from, to);
  }
}

/** The places of the files in a tree, without the two files next to the datasets. */
async function filesOf(tree: string): Promise<Set<string>> {
  const entries = await readdir(tree, { recursive: true, withFileTypes: true });
  return new Set(
    entries
      .filter((entry) => !entry.isDirectory() && entry.parentPath !== tree)
      .map((entry) => relative(tree, join(entry.parentPath, entry.name))),
  );
}

/** Removes a folder and the folders above it, up to the tree, if they are empty. */
async function removeEmpty(tree: string, folder: string): Promise<void> {
  for (let empty = folder; empty !== tree; empty = dirname(empty)) {
    try {
      await rmdir(empty);
    } catch (error) {
      if (errorCode(error) === 'ENOTEMPTY' || errorCode(error) === 'EEXIST') return;
      if (!isMissing(error)) throw error;
    }
  }
}
