import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { hashFile, syncPath } from '../lib/durable-files.ts';
import { TransientError } from '../lib/errors.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { queryLiterally, type SqlParameters } from '../warehouse/query.ts';
import type { LakeFile } from './commit-schema.ts';
import { datasets } from './datasets.ts';
import { filePath, type LakePaths, uniqueName } from './lake-layout.ts';

/** The content of a file of the lake. */
export interface FileRequest extends Omit<LakeFile, 'name' | 'bytes' | 'sha256'> {
  dataset: keyof typeof datasets;
  select: string;
  parameters: SqlParameters;
}

/** A file that is written and checked, but not in its place yet. */
export interface StagedFile {
  staged: string;
  file: Omit<LakeFile, 'sha256'>;
}

/** Fast, and a third smaller than the default. Higher levels take twice the time for a few percent. */
const PARQUET = 'FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3';

/**
 * Writes the rows of a statement to a file in staging, and reads its row count back. An incomplete COPY, or
 * one with other rows than counted, never becomes part of the lake.
 * @throws TransientError if the file does not have the expected rows
 */
export async function stageFile(
  connection: DuckDBConnection,
  paths: LakePaths,
  sequence: number,
  { select, parameters, ...wanted }: FileRequest,
): Promise<StagedFile> {
  const name = `${uniqueName(sequence)}.parquet`;
  const staged = join(paths.staging, name);
  await queryLiterally(connection, `COPY (${select}\n) TO $path (${PARQUET})`, {
    ...parameters,
    path: staged,
  });
  const [written] = await queryLiterally<{ row_count: number; bytes: number }>(
    connection,
    loadSql('publish/verify_file'),
    { path: staged },
  );
  if (written!.row_count !== wanted.rows) throw mismatch(wanted, 'rows', wanted.rows, written!.row_count);
  if (datasets[wanted.dataset].energy && wanted.energyWh !== undefined) {
    const [energy] = await queryLiterally<{ energy_wh: number }>(
      connection,
      loadSql('publish/sum_file_energy'),
      { path: staged },
    );
    if (!isSameEnergy(energy!.energy_wh, wanted.energyWh))
      throw mismatch(wanted, 'Wh', wanted.energyWh, energy!.energy_wh);
  }
  return { staged, file: { ...wanted, name, bytes: written!.bytes } };
}

/** Beyond 2^53 the last digits of a sum depend on the order. */
function isSameEnergy(oneWh: number, otherWh: number): boolean {
  if (Math.abs(oneWh) <= Number.MAX_SAFE_INTEGER) return oneWh === otherWh;
  return Math.abs(oneWh - otherWh) <= Math.abs(oneWh) * 1e-9;
}

/** Makes a staged file durable and moves it to its place. No commit names it yet. */
export async function settleFile(paths: LakePaths, { staged, file }: StagedFile): Promise<LakeFile> {
  const path = filePath(paths, file);
  const [sha256] = await Promise.all([
    hashFile(staged),
    syncPath(staged),
    mkdir(dirname(path), { recursive: true }),
  ]);
  await rename(staged, path);
  return { ...file, sha256 };
}

/** Makes the names of moved files durable, and the names of their folders, which can be new. */
export async function syncFolders(paths: LakePaths, files: readonly LakeFile[]): Promise<void> {
  const folders = new Set<string>();
  for (const file of files) {
    for (let folder = dirname(filePath(paths, file)); folder !== paths.root; folder = dirname(folder))
      folders.add(folder);
  }
  await Promise.all([...folders].map(syncPath));
}

/** Removes files without a commit after a failure. Maintenance removes the rest later. */
export async function discardFiles(paths: LakePaths, staged: readonly StagedFile[]): Promise<void> {
  for (const { staged: path, file } of staged) {
    for (const each of [path, filePath(paths, file)]) {
      await rm(each, { force: true }).catch(() => {});
    }
  }
}

function mismatch(
  { dataset, folder }: Pick<LakeFile, 'dataset' | 'folder'>,
  unit: string,
  wanted: number,
  found: number,
): TransientError {
  return new TransientError(
    'PublishMismatch',
    `a new file of ${dataset}/${folder} has ${found} ${unit} instead of ${wanted}; nothing was published`,
    { details: { dataset, folder, wanted, found } },
  );
}
