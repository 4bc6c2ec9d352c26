import { link, mkdir, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { wholeWh } from '../contract/whole-wh.ts';
import { cannotLink, syncPath, writeDurably } from '../lib/durable-files.ts';
import { errorCode, TerminalError, TransientError } from '../lib/errors.ts';
import { commitPath, type LakePaths, parseSequence, uniqueName } from './lake-layout.ts';

const integerText = z.string().regex(/^-?\d+$/);

const lakeFileSchema = z.object({
  dataset: z.string().regex(/^[a-z_]+$/),
  /** Its folder below `files/<dataset>/`: Hive partitions such as `month=2026-11`, or nothing. */
  folder: z.string().regex(/^(?:[a-z_]+=[^/]+(?:\/[a-z_]+=[^/]+)*)?$/),
  /** Its name in that folder. Each name is used once. */
  name: z.string().regex(/^[0-9a-f-]+\.parquet$/),
  /** The period of its rows. Empty if the dataset is not split by time. */
  period: z.string(),
  rows: z.number().int().min(0),
  bytes: z.number().int().min(0),
  sha256: z.string(),
  createdAtMs: z.number().int(),
  /** 0 for a published file. 1 more than the merged files. */
  level: z.number().int().min(0),
  /** The sum of energy_wh of its rows, in energy datasets. */
  energyWh: wholeWh.optional(),
  /** The fingerprint of a small dataset, to find changes. */
  fingerprint: z.string().optional(),
});

/** The newest snapshot of the warehouse whose state fits a commit. */
const snapshotSchema = z.object({
  /** Its key below the workgroup's lake. */
  pack: z.string().regex(/^snapshots\/\d{12}-[0-9a-f]+\.pack$/),
  bytes: z.number().int().min(0),
  sha256: z.string(),
  /** The size of the warehouse file that the pack restores. */
  fileBytes: z.number().int().min(0),
});

const commitSchema = z.object({
  format: z.literal(2),
  /** Random. It shows who has created a commit, and which warehouse belongs to it. */
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
  /** If the commit was written together with a snapshot. */
  snapshot: snapshotSchema.optional(),
  workgroupId: z.string(),
  sequence: z.number().int().min(1),
  createdAtMs: z.number().int(),
  /** The fencing epoch of the worker that wrote it. */
  ownerEpoch: integerText,
  /** The warehouse that it was published from. */
  warehouseCreatedAtMs: z.number().int(),
  /** All messages of the batches up to this one are in the files, once. */
  batchId: integerText,
  /** The last batch that intervals and days contain. */
  rolledUpBatchId: integerText,
  checkpoints: z.array(
    z.object({
      origin: z.string(),
      logEpoch: z.string().nullable(),
      nextOffset: integerText,
      lastStoreTimeMs: z.number().int().nullable(),
    }),
  ),
  /** Sums over the files below, for checks. */
  totals: z.object({ messages: z.number().int(), dailyEnergyWh: wholeWh }),
  files: z.array(lakeFileSchema),
});

/** One immutable file of the lake. */
export type LakeFile = z.output<typeof lakeFileSchema>;
/** One generation: a consistent list of immutable files. */
export type Commit = z.output<typeof commitSchema>;

/** The sequences of all commits, ascending. */
export async function listSequences(paths: LakePaths): Promise<number[]> {
  const names = await readdir(paths.commits).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
  return names
    .flatMap((name) => (name.endsWith('.json') ? (parseSequence(name.slice(0, -5)) ?? []) : []))
    .sort((a, b) => a - b);
}

/** @returns undefined if the commit does not exist (any more) */
export async function readCommit(paths: LakePaths, sequence: number): Promise<Commit | undefined> {
  let text: string;
  try {
    text = await readFile(commitPath(paths, sequence), 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return commitSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new TerminalError('CommitUnreadable', `the commit ${commitPath(paths, sequence)} cannot be read`, {
      cause,
      details: { workgroup: basename(paths.root), sequence },
    });
  }
}

/** The newest generation, also if `current` does not point at it yet. Undefined if nothing was published. */
export async function readHead(paths: LakePaths): Promise<Commit | undefined> {
  const newest = (await listSequences(paths)).at(-1);
  return newest === undefined ? undefined : readCommit(paths, newest);
}

/** The sequence that `current` points at. Undefined if nothing was published. */
export async function readCurrent(paths: LakePaths): Promise<number | undefined> {
  try {
    return parseSequence(basename(await readlink(paths.current)));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Creates the commit atomically and durably. This creates the generation, and decides between publishers: if two write the same sequence, one fails.
 * @throws TransientError `PublishConflict` if the sequence is taken; nothing is visible then
 */
export async function createCommit(paths: LakePaths, commit: Commit): Promise<void> {
  const target = commitPath(paths, commit.sequence);
  const staged = join(paths.staging, `${uniqueName(commit.sequence)}.json`);
  await mkdir(paths.commits, { recursive: true });
  const text = `${JSON.stringify(commitSchema.parse(commit))}\n`;
  try {
    await writeDurably(staged, text);
    await link(staged, target).catch((error: unknown) => {
      if (!cannotLink(error)) throw error;
      return writeDurably(target, text);
    });
    await syncPath(paths.commits);
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST') throw cause;
    throw new TransientError(
      'PublishConflict',
      `another publisher has committed generation ${commit.sequence} of workgroup ${commit.workgroupId}; nothing of this one was published`,
      { cause, details: { workgroupId: commit.workgroupId, sequence: commit.sequence } },
    );
  } finally {
    await rm(staged, { force: true });
  }
}

/** True if another publisher was first. */
export function isPublishConflict(error: unknown): boolean {
  return error instanceof TransientError && error.code === 'PublishConflict';
}
