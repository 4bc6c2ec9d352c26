import { resolve } from 'node:path';
import { StreamError } from '../contract/stream-errors.ts';
import type { LakeFile, StoredCommit } from '../publish/commit-schema.ts';
import type { DatasetName } from '../publish/datasets.ts';
import { storedFilePath } from '../publish/lake-commit.ts';
import { type LakePaths, lakePaths } from '../publish/lake-layout.ts';
import { findGeneration, findLastingGeneration } from './find-generation.ts';
import { openQueryPool, type QueryPool } from './query-pool.ts';
import { createSharing, type Sharing } from './sharing.ts';

export interface LakeReaderOptions {
  lakeDir: string;
  /**
   * True if the workgroup has published according to its warehouse. Then a missing lake is an error, and not a lake without data. Default: only what
   * this process has seen, and the folder of the lake.
   */
  hasPublished?: (workgroupId: string) => boolean;
  /** True for reads that take minutes: uses the newest generation that stays for an hour. It is at most `pipeline.currentEvery` old. */
  isLasting?: boolean;
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
   * @throws StreamError StorageUnavailable if the lake cannot be read, or is missing although something was published
   */
  current(workgroupId: string): Promise<Generation | undefined>;
  /** See `QueryPool.run`. @throws StreamError StorageUnavailable */
  run: QueryPool['run'];
  /** Concurrent requests for the same answer share one computation. */
  share: Sharing['take'];
  close(): Promise<void>;
}

/** A generation and its files. */
export interface Generation {
  commit: StoredCommit;
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
  /** The last generation of each workgroup that was read, and when it was the newest (monotonic, ms). Commits never change. */
  const known = new Map<string, { generation: Generation; seenAtMs: number }>();
  const lasting = new Map<string, Generation>();
  /** Concurrent requests share one look at the lake. */
  const reading = new Map<string, Promise<Generation | undefined>>();

  async function read(workgroupId: string): Promise<Generation | undefined> {
    const paths = lakePaths(lakeDir, workgroupId);
    const last = known.get(workgroupId);
    const seenAtMs = performance.now();
    const newest = await findGeneration(
      paths,
      last && { commit: last.generation.commit, seenAtMs: last.seenAtMs },
    );
    if (!newest) {
      if (options.hasPublished?.(workgroupId))
        throw new Error(`the lake of workgroup ${workgroupId} is missing: ${paths.root}`);
      return undefined;
    }
    const generation = last?.generation.commit === newest ? last.generation : generationOf(paths, newest);
    known.set(workgroupId, { generation, seenAtMs });
    if (!options.isLasting) return generation;
    const before = lasting.get(workgroupId);
    const found = await findLastingGeneration(paths, before?.commit);
    if (!found) return generation;
    const kept = before?.commit === found ? before : generationOf(paths, found);
    lasting.set(workgroupId, kept);
    return kept;
  }

  function current(workgroupId: string): Promise<Generation | undefined> {
    let reads = reading.get(workgroupId);
    if (!reads) {
      reads = read(workgroupId).finally(() => reading.delete(workgroupId));
      reading.set(workgroupId, reads);
    }
    return reads;
  }

  return {
    current: (workgroupId) => current(workgroupId).catch(unavailable),
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

function generationOf(paths: LakePaths, commit: StoredCommit): Generation {
  const byDataset = Map.groupBy(commit.files, ({ dataset }) => dataset);
  return {
    commit,
    files: (dataset) => byDataset.get(dataset) ?? [],
    path: (file) => storedFilePath(paths, commit, file),
  };
}
