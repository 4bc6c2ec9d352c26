import { readdir } from 'node:fs/promises';
import { errorCode, isMissing } from '../../lib/errors.ts';
import { isThere } from '../../lib/is-there.ts';
import { MINUTE_MS } from '../../lib/time.ts';
import type { StoredCommit } from '../../publish/commit-schema.ts';
import { listSequences, readCommit } from '../../publish/lake-commit.ts';
import { commitPath, type LakePaths, leadingSequence } from '../../publish/lake-layout.ts';

/** A commit, and when it was seen as the newest one (monotonic, ms). */
interface SeenCommit {
  commit: StoredCommit;
  seenAtMs: number;
}

/**
 * Retention keeps each commit for at least two minutes. So if a commit was the newest one less than this time
 * ago, all later commits still exist. They are found by their numbers, without listing the folder.
 */
const FOLLOWERS_KEPT_MS = MINUTE_MS;

/**
 * Finds the newest commit of a lake that another process writes.
 * @param last the commit that this process saw before
 * @returns undefined if the lake has no commits and no remains of any
 * @throws if the commits of the lake have disappeared, and errors of the file system
 */
export async function findGeneration(
  paths: LakePaths,
  last: SeenCommit | undefined,
): Promise<StoredCommit | undefined> {
  if (last && performance.now() - last.seenAtMs < FOLLOWERS_KEPT_MS) {
    let newest = last.commit.sequence;
    while (await isThere(commitPath(paths, newest + 1))) newest += 1;
    if (newest === last.commit.sequence && (await isThere(commitPath(paths, newest)))) return last.commit;
    const commit = newest > last.commit.sequence && (await readCommit(paths, newest, last.commit));
    if (commit) return commit;
  }
  // Retention can delete a commit between listing and reading. Then a newer one is there.
  for (let attempt = 0; attempt < 3; attempt++) {
    const newest = (await listSequences(paths)).at(-1);
    if (newest === undefined) break;
    const commit =
      newest === last?.commit.sequence ? last.commit : await readCommit(paths, newest, last?.commit);
    if (commit) return commit;
  }
  if (last || (await hasRemains(paths)))
    throw new Error(`the lake ${paths.root} has no commits any more, but it was published`);
  return undefined;
}

/**
 * The newest commit that stays for an hour, because people can have a session on it. For reads that take
 * minutes.
 * @returns undefined if there is none
 */
export async function findLastingGeneration(
  paths: LakePaths,
  last: StoredCommit | undefined,
): Promise<StoredCommit | undefined> {
  const sequences = (await namesIn(paths.analytics)).flatMap((name) => leadingSequence(name) ?? []);
  for (const sequence of sequences.sort((a, b) => b - a).slice(0, 3)) {
    const commit = last?.sequence === sequence ? last : await readCommit(paths, sequence, last);
    if (commit) return commit;
  }
  return undefined;
}

/**
 * True if the folder of a lake has no commits, but shows that there were some. Files of generation 1 alone do
 * not show this, because a first publication writes them before its commit.
 */
async function hasRemains(paths: LakePaths): Promise<boolean> {
  if ((await namesIn(paths.analytics)).length > 0 || (await isThere(paths.current))) return true;
  const files = await readdir(paths.files, { recursive: true, withFileTypes: true }).catch(emptyIfMissing);
  return files.some((entry) => entry.isFile() && (leadingSequence(entry.name) ?? 0) > 1);
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(emptyIfMissing);
}

function emptyIfMissing(error: unknown): never[] {
  if (isMissing(error) || errorCode(error) === 'ENOTDIR') return [];
  throw error;
}
