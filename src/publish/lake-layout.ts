import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { workgroupIdSchema } from '../contract/messages.ts';
import { InputError } from '../lib/errors.ts';

/**
 * The folders of one workgroup's lake. The keys of `commits/`, `files/`, `analytics/` and `snapshots/` are
 * the same in a bucket. A bucket also has `bundles/`: objects that have several new files each.
 *
 *     commits/<sequence>.json                    one generation; created if absent, never changed
 *     files/<dataset>/<folder>/<name>.parquet    immutable; a name is used once; Hive partitions
 *     analytics/<sequence>.duckdb                views on one generation, if it has any
 *     trees/<sequence>/                          links to the files of one generation, for tools
 *     current -> trees/<sequence>
 *     staging/                                   files that are not yet part of the lake
 */
export interface LakePaths {
  root: string;
  files: string;
  commits: string;
  analytics: string;
  trees: string;
  current: string;
  staging: string;
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
    analytics: join(root, 'analytics'),
    trees: join(root, 'trees'),
    current: join(root, 'current'),
    staging: join(root, 'staging'),
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

/**
 * @param name a name that begins with a sequence, as those of `uniqueName` do
 * @returns undefined if it does not begin with one
 */
export function leadingSequence(name: string): number | undefined {
  return parseSequence(name.slice(0, SEQUENCE_DIGITS));
}

/** The key of a commit below the workgroup's lake. */
export function commitKey(sequence: number): string {
  return `commits/${sequenceName(sequence)}.json`;
}

/** @returns the sequence, or undefined if it is another key */
export function parseCommitKey(key: string): number | undefined {
  return parseSequence(/^commits\/(\d{12})\.json$/.exec(key)?.[1] ?? '');
}

export function commitPath(paths: Pick<LakePaths, 'root'>, sequence: number): string {
  return join(paths.root, commitKey(sequence));
}

/** The key of the views of a commit below the workgroup's lake. */
export function analyticsKey(sequence: number): string {
  return `analytics/${sequenceName(sequence)}.duckdb`;
}

/** @returns the sequence, or undefined if it is another key */
export function parseAnalyticsKey(key: string): number | undefined {
  return parseSequence(/^analytics\/(\d{12})\.duckdb$/.exec(key)?.[1] ?? '');
}

export function analyticsPath(paths: Pick<LakePaths, 'root'>, sequence: number): string {
  return join(paths.root, analyticsKey(sequence));
}

export function treePath(paths: Pick<LakePaths, 'trees'>, sequence: number): string {
  return join(paths.trees, sequenceName(sequence));
}

/** The dataset, the Hive folder and the name of a file. */
export interface FilePlace {
  dataset: string;
  folder: string;
  name: string;
}

/** The place of a file below `files/`, and below a tree. */
export function filePlace({ dataset, folder, name }: FilePlace): string {
  return `${dataset}/${folder === '' ? '' : `${folder}/`}${name}`;
}

/** The key of a file below the workgroup's lake: the same in a folder and in a bucket. */
export function fileKey(file: FilePlace): string {
  return `files/${filePlace(file)}`;
}

/** A new key of a bundle, for a commit of a bucket. */
export function newBundleKey(sequence: number): string {
  return `bundles/${uniqueName(sequence)}.bundle`;
}

/** The path of a file of a local lake. */
export function filePath(paths: Pick<LakePaths, 'root'>, file: FilePlace): string {
  return join(paths.root, fileKey(file));
}

/** A new random nonce of a commit: 32 hexadecimal digits. */
export function newNonce(): string {
  return randomBytes(16).toString('hex');
}

/** A unique name in the lake. It begins with the sequence of the generation that it was made for. */
export function uniqueName(sequence: number): string {
  return `${sequenceName(sequence)}-${randomBytes(8).toString('hex')}`;
}

/**
 * A value as part of a Hive folder name. Special characters are percent-encoded, as DuckDB and Spark expect.
 * `*` too, because DuckDB would read it as a pattern. Readers take two words for a missing value, so their
 * first character is encoded.
 */
export function folderValue(text: string): string {
  const value = encodeURIComponent(text.toWellFormed()).replaceAll('*', '%2A');
  if (!/^(?:null|__hive_default_partition__)$/i.test(value)) return value;
  return `%${value.charCodeAt(0).toString(16).toUpperCase()}${value.slice(1)}`;
}
