import { lstat, readdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ifMissing } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, HOUR_MS, MINUTE_MS, type UtcMs } from '../lib/time.ts';
import { readCurrent } from './lake-commit.ts';
import { analyticsPath, commitKey, fileKey, leadingSequence } from './lake-layout.ts';
import { type OpenLake, openLake } from './open-lake.ts';
import type { PublishableShard } from './publishable-shard.ts';
import type { Lifetime, RetainedGeneration } from './retained-generations.ts';

/** A generation without views is read by reports only. A query of a report takes at most 30 s. */
const REPORT_MS = 2 * MINUTE_MS;
/** A generation with views can be read by a session of an analyst for this long. */
const SESSION_MS = HOUR_MS;
/** Of older generations, one with views and one with a snapshot of each period of this length is kept. */
const THINNED_TO_MS = HOUR_MS;
/**
 * Files without a commit may belong to a running publisher, so they are kept this long. They are also
 * searched only once in this time.
 */
const ORPHAN_MS = HOUR_MS;
/** Folders of format 1: a folder of links for each generation, and deleted files. */
const OLD_GENERATIONS = 'generations';
const OLD_TRASH = 'trash';

/** Items that are no longer needed. Paths are below the workgroup's lake. */
export interface RetentionPlan {
  /** Generations whose commit and views are deleted. */
  generations: number[];
  /** Files that only these generations named. */
  files: string[];
  /** Files and folders that no generation names, after a crash or of an older format. */
  orphans: string[];
}

interface RetainOptions {
  lakeDir: string;
  /** How far back one generation of each hour is kept. */
  keepGenerationsMs: number;
  clock: Clock;
  logger: Logger;
  /** Only reports what would be removed. */
  dryRun?: boolean;
}

/**
 * Deletes old generations, the files that only they named, and remains of crashes. Files that a remaining
 * commit names are never touched.
 * @throws as openLake does
 */
export async function retainLake(shard: PublishableShard, options: RetainOptions): Promise<RetentionPlan> {
  const { clock, logger } = options;
  const lake = await openLake(shard, options);
  const { searchedAtMs } = lake;
  const plan = await planRetention(lake, clock.now(), options.keepGenerationsMs);
  if (options.dryRun) {
    lake.searchedAtMs = searchedAtMs;
    return plan;
  }
  const { paths, retained } = lake;
  const remove = (path: string) => rm(join(paths.root, path), { recursive: true, force: true });
  for (const sequence of plan.generations) {
    // The views first: views without a commit would name files that are deleted.
    await rm(analyticsPath(paths, sequence), { force: true });
    await remove(oldGeneration(sequence));
    // One process owns a folder, so a deleted name cannot be created by an older owner. In a bucket it can:
    // there commits must stay for a week.
    await remove(commitKey(sequence));
    retained.forgetGeneration(sequence);
  }
  for (const key of plan.files) {
    await remove(key);
    retained.former.delete(key);
  }
  for (const path of plan.orphans) await remove(path);
  const counts = {
    generations: plan.generations.length,
    files: plan.files.length,
    orphans: plan.orphans.length,
  };
  if (Object.values(counts).some((count) => count > 0))
    logger.info({ workgroup: shard.workgroupId, ...counts }, 'publish.retain');
  return plan;
}

async function planRetention(
  lake: OpenLake,
  nowMs: UtcMs,
  keepGenerationsMs: number,
): Promise<RetentionPlan> {
  const { paths, head, retained } = lake;
  if (!head) return { generations: [], files: [], orphans: [] };
  const withViews = new Set([...(await sequencesIn(paths.analytics)), ...(await oldGenerations(lake))]);
  const generations = (await retained.generations(paths, head)).map((generation) => ({
    ...generation,
    hasViews: withViews.has(generation.sequence),
    hasSnapshot: generation.snapshot !== undefined,
  }));
  const keep = keptSequences(generations, nowMs, keepGenerationsMs);
  const current = await readCurrent(paths);
  if (current !== undefined) keep.add(current);
  const sequences = [...keep].sort((a, b) => a - b);
  const known = new Set(generations.map(({ sequence }) => sequence));
  return {
    generations: generations.map(({ sequence }) => sequence).filter((sequence) => !keep.has(sequence)),
    files: [...retained.former].flatMap(([key, lifetime]) => (isNeeded(lifetime, sequences) ? [] : [key])),
    orphans: [
      ...[...withViews]
        .filter((sequence) => sequence < head.sequence && !known.has(sequence))
        .flatMap(viewsOf),
      ...(await abandonedFiles(lake, nowMs)),
      ...(await oldFolders(lake)),
    ],
  };

  function viewsOf(sequence: number): string[] {
    return [relative(paths.root, analyticsPath(paths, sequence)), oldGeneration(sequence)];
  }
}

/** A generation, and if people can have a session on it. */
interface ThinnedGeneration extends Pick<RetainedGeneration, 'sequence' | 'createdAtMs'> {
  hasViews: boolean;
  /** The warehouse can be restored to it. */
  hasSnapshot: boolean;
}

/** A generation's age begins when the next one was published. `generations` are ascending. */
export function keptSequences(
  generations: readonly ThinnedGeneration[],
  nowMs: UtcMs,
  keepGenerationsMs: number,
): Set<number> {
  const chosen = new Set([
    ...lastOfHours(generations, ({ hasViews }) => hasViews),
    ...lastOfHours(
      generations.filter(({ hasSnapshot }) => hasSnapshot),
      () => true,
    ),
  ]);
  // The warehouse can always be restored.
  const restorable = generations.findLast(({ hasSnapshot }) => hasSnapshot)?.sequence;
  const keep = new Set<number>();
  for (const [index, { sequence, hasViews }] of generations.entries()) {
    const next = generations[index + 1];
    const ageMs = next ? nowMs - next.createdAtMs : 0;
    const keepMs = Math.max(hasViews ? SESSION_MS : REPORT_MS, chosen.has(sequence) ? keepGenerationsMs : 0);
    if (!next || sequence === restorable || ageMs <= keepMs) keep.add(sequence);
  }
  return keep;
}

/** The last generation of each hour, if possible with what `isBetter` asks for. */
function lastOfHours(
  generations: readonly ThinnedGeneration[],
  isBetter: (generation: ThinnedGeneration) => boolean,
): number[] {
  const lastByHour = new Map<number, ThinnedGeneration>();
  for (const generation of generations) {
    const hour = Math.floor(generation.createdAtMs / THINNED_TO_MS);
    const before = lastByHour.get(hour);
    if (!before || isBetter(generation) || !isBetter(before)) lastByHour.set(hour, generation);
  }
  return [...lastByHour.values()].map(({ sequence }) => sequence);
}

/** True if a kept generation has the file. `kept` is ascending. */
function isNeeded({ first, last }: Lifetime, kept: readonly number[]): boolean {
  const newest = kept.findLast((sequence) => sequence <= last);
  return newest !== undefined && newest >= first;
}

/**
 * Files that a crash has left: old enough, and not of any generation. The folders are read once in
 * `ORPHAN_MS`.
 */
async function abandonedFiles(lake: OpenLake, nowMs: UtcMs): Promise<string[]> {
  const { paths, head, retained } = lake;
  const staged = await olderThan(paths.root, paths.staging, nowMs);
  const sinceMs = nowMs - (lake.searchedAtMs ?? Number.NEGATIVE_INFINITY);
  if (sinceMs >= 0 && sinceMs < ORPHAN_MS) return staged;
  lake.searchedAtMs = nowMs;
  const named = new Set(head?.files.map(fileKey));
  const found = await olderThan(paths.root, paths.files, nowMs);
  return [...staged, ...found.filter((path) => !named.has(path) && !retained.former.has(path))];
}

async function olderThan(root: string, folder: string, nowMs: UtcMs): Promise<string[]> {
  const orphans: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const path = join(entry.parentPath, entry.name);
    const file = await lstat(path).catch(ifMissing(undefined));
    if (file && nowMs - file.mtimeMs >= ORPHAN_MS) orphans.push(relative(root, path));
  }
  return orphans.sort();
}

function oldGeneration(sequence: number): string {
  return join(OLD_GENERATIONS, String(sequence).padStart(12, '0'));
}

function oldGenerations({ paths }: OpenLake): Promise<number[]> {
  return sequencesIn(join(paths.root, OLD_GENERATIONS));
}

/** The folders of format 1 that are empty or no longer used. */
async function oldFolders({ paths }: OpenLake): Promise<string[]> {
  const folders: string[] = [];
  const generations = await names(join(paths.root, OLD_GENERATIONS));
  if (generations?.length === 0) folders.push(OLD_GENERATIONS);
  if (await names(join(paths.root, OLD_TRASH))) folders.push(OLD_TRASH);
  return folders;
}

async function sequencesIn(folder: string): Promise<number[]> {
  return ((await names(folder)) ?? []).flatMap((name) => leadingSequence(name) ?? []);
}

async function names(folder: string): Promise<string[] | undefined> {
  return readdir(folder).catch(ifMissing(undefined));
}
