import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { StreamError, unavailable } from '../../contract/stream-errors.ts';
import { errorCode } from '../../lib/errors.ts';
import { createSharing, type Sharing } from '../../lib/sharing.ts';
import { SECOND_MS } from '../../lib/time.ts';
import type { LakeFile, StoredCommit } from '../../publish/commit-schema.ts';
import type { DatasetName } from '../../publish/datasets.ts';
import { storedFilePath } from '../../publish/lake-commit.ts';
import { type LakePaths, lakePaths } from '../../publish/lake-layout.ts';
import { isWrongStatement } from '../../warehouse/warehouse-failures.ts';
import { findGeneration, findLastingGeneration } from './find-generation.ts';
import { openQueryPool } from './query-pool.ts';

type LakeReaderOptions = QueryOptions & (LocalLakeOptions | { source: LakeSource });

/** A lake in a folder of this machine. */
export interface LocalLakeOptions {
  lakeDir: string;
  /**
   * True if the workgroup has published according to its warehouse. Then a missing lake is an error, and not
   * a lake without data. Default: only what this process has seen, and the folder of the lake.
   */
  hasPublished?: (workgroupId: string) => boolean;
  /**
   * True for reads that take minutes: uses the newest generation that stays for an hour. It is at most
   * `pipeline.currentEvery` old.
   */
  isForLongReads?: boolean;
}

interface QueryOptions {
  /** Folders next to the lake in which queries can write files. */
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
   * @throws StreamError StorageUnavailable if the lake cannot be read, or is missing although something was
   *   published
   */
  newestGeneration(workgroupId: string): Promise<Generation | undefined>;
  /**
   * Runs a query, see `QueryPool.run`. The files that it reads are on this disk until it has ended.
   * @throws StreamError StorageUnavailable; DuckDB's error of a statement that it does not understand
   */
  run<Result>(
    files: QueryFiles | undefined,
    work: (connection: DuckDBConnection) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result>;
  /** Concurrent requests for the same answer share one computation. */
  share: Sharing['take'];
  /** A folder for temporary files that queries can write. It is deleted at the end. */
  scratchFolder(): Promise<string>;
  close(): Promise<void>;
}

/** A place with generations: a folder of this machine, a store with a cache, or both. */
export interface LakeSource {
  /** The paths of all files are below them. */
  folders: readonly string[];
  /** See `LakeReader.newestGeneration`. */
  newestGeneration(workgroupId: string): Promise<Generation | undefined>;
}

/** A generation and its files. */
export interface Generation {
  commit: StoredCommit;
  files(dataset: DatasetName): LakeFile[];
  /**
   * The path of a file. The file is surely there only while it is pinned. A statement can be composed with
   * the path before that.
   */
  path(file: LakeFile): string;
  /** Brings files to this disk, and keeps them there until the result is disposed. */
  pin(files: readonly LakeFile[], signal?: AbortSignal): Promise<Disposable>;
}

/** Files that a query reads. */
export interface QueryFiles {
  generation: Generation;
  files: readonly LakeFile[];
}

const defaults = {
  threads: 2,
  memoryMegabytes: 1024,
  queriesMax: 2,
  waitingMax: 128,
  queryMsMax: 30 * SECOND_MS,
} as const;

export async function openLakeReader(options: LakeReaderOptions): Promise<LakeReader> {
  const source = 'source' in options ? options.source : createLocalLake(options);
  const scratch = join(tmpdir(), `wattline-${randomUUID()}`);
  const pool = await openQueryPool({
    ...defaults,
    ...options,
    folders: [...source.folders, ...(options.writeFolders ?? []), scratch],
  });
  /** Concurrent requests share one look at the lake. */
  const looks = new Map<string, Promise<Generation | undefined>>();

  function newestGeneration(workgroupId: string): Promise<Generation | undefined> {
    let look = looks.get(workgroupId);
    if (!look) {
      look = source.newestGeneration(workgroupId).finally(() => looks.delete(workgroupId));
      looks.set(workgroupId, look);
    }
    return look;
  }

  async function run<Result>(
    files: QueryFiles | undefined,
    work: (connection: DuckDBConnection) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    // The files are fetched before a connection is taken, because this can take longer than a query.
    using _held = await files?.generation.pin(files.files, signal);
    return await pool.run(work, signal, files?.generation.commit.workgroupId);
  }

  return {
    newestGeneration: (workgroupId) => newestGeneration(workgroupId).catch(refuseFailure),
    run: (files, work, signal) => run(files, work, signal).catch(refuseFailure),
    share: createSharing().take,
    async scratchFolder() {
      await mkdir(scratch, { recursive: true, mode: 0o700 });
      return scratch;
    },
    async close() {
      await pool.close();
      await rm(scratch, { recursive: true, force: true });
    },
  };
}

/** Reads generations from the folder of a lake. */
export function createLocalLake(options: LocalLakeOptions): LakeSource {
  const lakeDir = resolve(options.lakeDir);
  /**
   * The last generation of each workgroup that was read, and when it was the newest (monotonic, ms). Commits
   * never change.
   */
  const known = new Map<string, { generation: Generation; seenAtMs: number }>();
  const lasting = new Map<string, Generation>();
  return {
    folders: [lakeDir],
    async newestGeneration(workgroupId) {
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
      const generation =
        last?.generation.commit === newest ? last.generation : localGeneration(paths, newest);
      known.set(workgroupId, { generation, seenAtMs });
      if (!options.isForLongReads) return generation;
      const before = lasting.get(workgroupId);
      const found = await findLastingGeneration(paths, before?.commit);
      if (!found) return generation;
      const lastingGeneration = before?.commit === found ? before : localGeneration(paths, found);
      lasting.set(workgroupId, lastingGeneration);
      return lastingGeneration;
    },
  };
}

/**
 * Nothing has to be pinned in a local lake, because retention keeps files for longer than a query can take.
 */
const heldAnyway: Disposable = { [Symbol.dispose]: () => undefined };

function localGeneration(paths: LakePaths, commit: StoredCommit): Generation {
  return openedGeneration(paths, commit, async () => heldAnyway);
}

export function openedGeneration(paths: LakePaths, commit: StoredCommit, pin: Generation['pin']): Generation {
  const byDataset = Map.groupBy(commit.files, ({ dataset }) => dataset);
  return {
    commit,
    files: (dataset) => byDataset.get(dataset) ?? [],
    path: (file) => storedFilePath(paths, commit, file),
    pin,
  };
}

/**
 * The texts for callers, by the code of the failure. The messages of the errors themselves are not for
 * callers, because they name paths and buckets.
 */
export const lakeFailureReasons: Readonly<Record<string, string>> = {
  CacheTooSmall: 'the answer needs more data than the cache of this server can hold; ask for fewer days',
  CacheBusy: 'running reports use the whole cache of this server; ask again in a moment',
  DiskFull: 'the disk of this server is full; ask again when it has space',
  NotInStore: 'no worker has stored data of this workgroup yet; ask again when one runs',
  ObjectMissing: 'the published data has changed meanwhile; ask again',
  ObjectDamaged: 'a file of the published data is damaged in its store; wattline verify names it',
  StorageBusy: 'the store of the published data does not answer; ask again in a moment',
  StorageUnreachable: 'the store of the published data does not answer; ask again in a moment',
};

/**
 * Converts a failure of the storage into StorageUnavailable, because the same request can succeed later. A
 * fault of the program stays what it is.
 */
function refuseFailure(cause: unknown): never {
  if (cause instanceof StreamError || isWrongStatement(cause)) throw cause;
  const reason = lakeFailureReasons[errorCode(cause) ?? ''] ?? 'the published data cannot be read now';
  throw unavailable(reason, 1, cause);
}
