import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { TransientError } from '../lib/errors.ts';
import { formatCountOf } from '../lib/format-count.ts';
import type { LakeFile } from './commit-schema.ts';
import { filePath, type LakePaths } from './lake-layout.ts';

/** The file in the folder of a lake that exists until all files of its newest generation are on this disk. */
export const INCOMPLETE_FILE = 'incomplete';

/**
 * False after a takeover, until the files of the lake are copied from the bucket. Until then a commit can
 * name files that only the bucket has, so nothing may read them here.
 */
export function isLakeComplete({ root }: Pick<LakePaths, 'root'>): boolean {
  return !existsSync(join(root, INCOMPLETE_FILE));
}

/** The files that are not on this disk. */
export function missingFiles(paths: Pick<LakePaths, 'root'>, files: readonly LakeFile[]): LakeFile[] {
  return files.filter((file) => !existsSync(filePath(paths, file)));
}

/** @throws TransientError `LakeIncomplete` if one of the files is still only in the bucket */
export function refuseMissing(paths: Pick<LakePaths, 'root'>, files: readonly LakeFile[]): void {
  if (isLakeComplete(paths)) return;
  const { length } = missingFiles(paths, files);
  if (length === 0) return;
  throw new TransientError(
    'LakeIncomplete',
    `${formatCountOf(length, 'file of the lake that this needs is', 'files of the lake that this needs are')} still being copied from the bucket, because this machine has taken the workgroup over; "wattline status" shows how many are left; do the same again later`,
  );
}
