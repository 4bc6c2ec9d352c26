import { lstat, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { z } from 'zod';
import { errorCode } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, HOUR_MS, MINUTE_MS, type UtcMs } from '../lib/time.ts';
import { listSequences, readCurrent } from './lake-commit.ts';
import {
  commitPath,
  fileKey,
  generationPath,
  type LakePaths,
  lakePaths,
  parseSequence,
} from './lake-layout.ts';

/** Every generation is kept this long after the next one. Then one of each period of this length is kept. */
const QUARTER_MS = 15 * MINUTE_MS;
/** Files without a commit may belong to a running publisher, so they are kept this long. */
const ORPHAN_MS = HOUR_MS;
/** Deleted files can be restored for this long. */
const TRASH_MS = HOUR_MS;

/** Items that are no longer needed. Paths are below the workgroup's lake. */
export interface RetentionPlan {
  /** Generations that move to the trash, with their commits. */
  generations: number[];
  /** Files and folders that no commit names: of removed generations, or after a crash. They move to the trash. */
  orphans: string[];
  /** Old files in the trash, which are deleted. */
  trash: string[];
}

export interface RetainOptions {
  lakeDir: string;
  workgroupId: string;
  /** How far back one generation for each quarter of an hour is kept. */
  keepGenerationsMs: number;
  clock: Clock;
  logger: Logger;
  /** Only reports what would be removed. */
  dryRun?: boolean;
}

/**
 * Removes old generations, files that no generation names, and remains of crashes. Files that a remaining commit names are never touched. Removed files
 * stay in the trash for an hour.
 */
export async function retainLake(options: RetainOptions): Promise<RetentionPlan> {
  const { workgroupId, clock, logger } = options;
  const paths = lakePaths(options.lakeDir, workgroupId);
  const plan = await planRetention(paths, clock.now(), options.keepGenerationsMs);
  if (options.dryRun) return plan;
  const nowMs = clock.now();
  for (const sequence of plan.generations) {
    // The folder first: a commit without a folder is found again, but a folder without a commit would look like an orphan.
    await discard(paths, generationPath(paths, sequence), nowMs);
    await discard(paths, commitPath(paths, sequence), nowMs);
  }
  for (const path of plan.orphans) await discard(paths, join(paths.root, path), nowMs);
  for (const path of plan.trash) await rm(join(paths.root, path), { recursive: true, force: true });
  const counts = {
    generations: plan.generations.length,
    orphans: plan.orphans.length,
    trash: plan.trash.length,
  };
  if (Object.values(counts).some((count) => count > 0))
    logger.info({ workgroup: workgroupId, ...counts }, 'publish.retain');
  return plan;
}

async function planRetention(
  paths: LakePaths,
  nowMs: UtcMs,
  keepGenerationsMs: number,
): Promise<RetentionPlan> {
  const commits = [];
  for (const sequence of await listSequences(paths)) commits.push(await readOutline(paths, sequence));
  const keep = keptSequences(commits, nowMs, keepGenerationsMs);
  const current = await readCurrent(paths);
  if (current !== undefined) keep.add(current);
  const named = new Set<string>();
  for (const { sequence, files } of commits) {
    if (keep.has(sequence)) for (const file of files) named.add(fileKey(file));
  }
  return {
    generations: commits.map(({ sequence }) => sequence).filter((sequence) => !keep.has(sequence)),
    orphans: [
      ...(await unnamedFiles(paths, named, nowMs)),
      ...(await lostGenerations(paths, commits)),
      ...(await olderThan(paths, paths.staging, nowMs - ORPHAN_MS)),
    ],
    trash: (await names(paths.trash))
      .filter((name) => nowMs - Number.parseInt(name, 10) >= TRASH_MS)
      .map((name) => join('trash', name)),
  };
}

/** The part of a commit that is needed here, because there are hundreds of commits. */
const outlineSchema = z.object({
  sequence: z.number(),
  createdAtMs: z.number(),
  files: z.array(z.object({ dataset: z.string(), folder: z.string(), name: z.string() })),
});
type Outline = z.output<typeof outlineSchema>;

async function readOutline(paths: LakePaths, sequence: number): Promise<Outline> {
  return outlineSchema.parse(JSON.parse(await readFile(commitPath(paths, sequence), 'utf8')));
}

/** A generation's age begins when the next one was published. */
export function keptSequences(
  commits: ReadonlyArray<Pick<Outline, 'sequence' | 'createdAtMs'>>,
  nowMs: UtcMs,
  keepGenerationsMs: number,
): Set<number> {
  const keep = new Set<number>();
  for (const [index, { sequence, createdAtMs }] of commits.entries()) {
    const next = commits[index + 1];
    const ageMs = next ? nowMs - next.createdAtMs : 0;
    const lastOfQuarter = !next || quarterOf(next.createdAtMs) !== quarterOf(createdAtMs);
    if (ageMs <= QUARTER_MS || (lastOfQuarter && ageMs <= keepGenerationsMs)) keep.add(sequence);
  }
  return keep;
}

function quarterOf(ms: UtcMs): number {
  return Math.floor(ms / QUARTER_MS);
}

async function unnamedFiles(paths: LakePaths, named: ReadonlySet<string>, nowMs: UtcMs): Promise<string[]> {
  const orphans: string[] = [];
  for (const entry of await readdir(paths.files, { recursive: true, withFileTypes: true })) {
    const path = relative(paths.root, join(entry.parentPath, entry.name));
    if (!entry.isFile() || named.has(path)) continue;
    const { mtimeMs } = await lstat(join(paths.root, path));
    if (nowMs - mtimeMs >= ORPHAN_MS) orphans.push(path);
  }
  return orphans;
}

/** Folders of generations without a commit. */
async function lostGenerations(paths: LakePaths, commits: readonly Outline[]): Promise<string[]> {
  const known = new Set(commits.map(({ sequence }) => sequence));
  const newest = commits.at(-1)?.sequence ?? 0;
  return (await names(paths.generations))
    .filter((name) => {
      const sequence = parseSequence(name);
      return sequence !== undefined && sequence < newest && !known.has(sequence);
    })
    .map((name) => join('generations', name));
}

async function olderThan(paths: LakePaths, folder: string, beforeMs: UtcMs): Promise<string[]> {
  const found: string[] = [];
  for (const name of await names(folder)) {
    const path = join(folder, name);
    if ((await lstat(path)).mtimeMs <= beforeMs) found.push(relative(paths.root, path));
  }
  return found;
}

async function names(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Moves an item to the trash. Its new name begins with the time. */
async function discard(paths: LakePaths, path: string, nowMs: UtcMs): Promise<void> {
  try {
    await rename(path, join(paths.trash, `${nowMs}-${basename(path)}`));
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}
