import { resolve } from 'node:path';
import { StreamError } from '../contract/stream-errors.ts';
import type { DatasetName } from '../publish/datasets.ts';
import { type Commit, type LakeFile, readCommit, readCurrent } from '../publish/lake-commit.ts';
import { filePath, type LakePaths, lakePaths } from '../publish/lake-layout.ts';
import { openQueryPool, type QueryPool } from './query-pool.ts';
import { createSharing, type Sharing } from './sharing.ts';

export interface LakeReaderOptions {
  lakeDir: string;
  /** Folders beside the lake in which queries can write files. */
  writeFolders?: readonly string[];
  threads?: number;
  memoryMegabytes?: number;
  queriesMax?: number;
  waitingMax?: number;
  queryMsMax?: number;
}

/** Reads published generations only. One for each process. */
export interface LakeReader {
  /**
   * The current generation. A reader asks once for each query, so it sees one consistent state.
   * @returns undefined if nothing is published yet
   * @throws StreamError StorageUnavailable if the lake cannot be read
   */
  current(workgroupId: string): Promise<Generation | undefined>;
  /** See `QueryPool.run`. @throws StreamError StorageUnavailable */
  run: QueryPool['run'];
  /** Concurrent requests for the same answer share one computation. */
  share: Sharing['take'];
  close(): Promise<void>;
}

/** A generation and its folder. */
export interface Generation {
  commit: Commit;
  files(dataset: DatasetName): LakeFile[];
  path(file: LakeFile): string;
}

const defaults = {
  threads: 2,
  memoryMegabytes: 1024,
  queriesMax: 2,
  waitingMax: 64,
  queryMsMax: 30_000,
} as const;

export async function openLakeReader(options: LakeReaderOptions): Promise<LakeReader> {
  const lakeDir = resolve(options.lakeDir);
  const pool = await openQueryPool({
    ...defaults,
    ...options,
    folders: [lakeDir, ...(options.writeFolders ?? [])],
  });
  /** The last generation of each workgroup that was read. Commits never change. */
  const known = new Map<string, Generation>();

  async function read(workgroupId: string): Promise<Generation | undefined> {
    const paths = lakePaths(lakeDir, workgroupId);
    const sequence = await readCurrent(paths);
    if (sequence === undefined) return undefined;
    const last = known.get(workgroupId);
    if (last?.commit.sequence === sequence) return last;
    const commit = await readCommit(paths, sequence);
    if (!commit) throw new Error(`generation ${sequence} of workgroup ${workgroupId} has no commit`);
    const generation = generationOf(paths, commit);
    known.set(workgroupId, generation);
    return generation;
  }

  return {
    current: (workgroupId) => read(workgroupId).catch(unavailable),
    run: (work, signal) => pool.run(work, signal).catch(unavailable),
    share: createSharing().take,
    close: pool.close,
  };
}

/** A failure of the storage is not an error of the request, which can succeed later. */
function unavailable(cause: unknown): never {
  if (cause instanceof StreamError) throw cause;
  const error = new StreamError('StorageUnavailable', 'the published data cannot be read now', {}, 1);
  error.cause = cause;
  throw error;
}

function generationOf(paths: LakePaths, commit: Commit): Generation {
  const byDataset = Map.groupBy(commit.files, ({ dataset }) => dataset);
  return {
    commit,
    files: (dataset) => byDataset.get(dataset) ?? [],
    path: (file) => filePath(paths, file),
  };
}
