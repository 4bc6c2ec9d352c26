import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { workgroupIdSchema } from '../contract/messages.ts';
import { InputError } from '../lib/errors.ts';

/**
 * The folders of one workgroup's lake.
 *
 *     files/<dataset>/<folder>/<name>.parquet    immutable, each name is used once; the folder has Hive partitions
 *     commits/<sequence>.json           the files of one generation; created exclusively, never changed
 *     generations/<sequence>/           the same files as Hive partitions, with analytics.duckdb
 *     current -> generations/<sequence>
 *     staging/, trash/                  files that are not yet, or no longer, part of the lake
 */
export interface LakePaths {
  root: string;
  files: string;
  commits: string;
  generations: string;
  current: string;
  staging: string;
  trash: string;
}

/** @throws InputError if DuckDB would read the path as a pattern */
export function lakePaths(lakeDir: string, workgroupId: string): LakePaths {
  const root = resolve(lakeDir, workgroupIdSchema.parse(workgroupId));
  if (/[*?[\]]/.test(root)) {
    throw new InputError('the folder of the lake', [
      { path: root, message: 'must not have *, ?, [ or ] in its path' },
    ]);
  }
  return {
    root,
    files: join(root, 'files'),
    commits: join(root, 'commits'),
    generations: join(root, 'generations'),
    current: join(root, 'current'),
    staging: join(root, 'staging'),
    trash: join(root, 'trash'),
  };
}

const SEQUENCE_DIGITS = 12;

/** A sequence as a name that sorts as text. */
export function sequenceName(sequence: number): string {
  return String(sequence).padStart(SEQUENCE_DIGITS, '0');
}

/** @returns undefined if the name (without its ending) is not a sequence */
export function parseSequence(name: string): number | undefined {
  return /^\d{12}$/.test(name) ? Number(name) : undefined;
}

export function commitPath(paths: LakePaths, sequence: number): string {
  return join(paths.commits, `${sequenceName(sequence)}.json`);
}

export function generationPath(paths: LakePaths, sequence: number): string {
  return join(paths.generations, sequenceName(sequence));
}

/** The last entry of a generation's folder. If it exists, the folder is complete. */
export function generationMarker(paths: LakePaths, sequence: number): string {
  return join(generationPath(paths, sequence), 'commit.json');
}

/** The key of a file below the workgroup's lake: the same in a folder and in a bucket. */
export function fileKey({
  dataset,
  folder,
  name,
}: {
  dataset: string;
  folder: string;
  name: string;
}): string {
  return `files/${dataset}/${folder === '' ? '' : `${folder}/`}${name}`;
}

/** The path of a file of a local lake. */
export function filePath(
  paths: Pick<LakePaths, 'root'>,
  file: { dataset: string; folder: string; name: string },
): string {
  return join(paths.root, fileKey(file));
}

/** The key of a commit below the workgroup's lake. */
export function commitKey(sequence: number): string {
  return `commits/${sequenceName(sequence)}.json`;
}

/** A new random nonce of a commit. */
export function newNonce(): string {
  return randomBytes(16).toString('hex');
}

/** A unique name in the lake. */
export function uniqueName(sequence: number): string {
  return `${sequenceName(sequence)}-${randomBytes(8).toString('hex')}`;
}

/**
 * A value as part of a Hive folder name. Special characters are percent-encoded, as DuckDB and Spark expect. `*` too, because DuckDB would read it as a
 * pattern.
 */
export function folderValue(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('*', '%2A');
}
