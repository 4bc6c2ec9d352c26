import type { Config } from '../config/config.ts';
import type { HealthAsker, HealthState } from '../http/health-routes.ts';
import { errorMessage } from '../lib/errors.ts';
import { type Clock, elapsedOf, SECOND_MS } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { lakeFolder } from '../pipeline/assignment.ts';
import { hasPublished } from '../pipeline/has-published.ts';
import { isLakeHere } from '../pipeline/is-lake-here.ts';
import { createLocalLake, type LakeSource } from '../report/lake/lake-reader.ts';
import { createNearestLake } from '../report/lake/nearest-lake.ts';
import { createStoredLake } from '../report/lake/stored-lake.ts';
import { openFileCache } from '../storage/file-cache.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { serviceStore, workgroupStore } from '../storage/workgroup-store.ts';
import { holdCacheFolder } from './hold-cache-folder.ts';

/** The lakes of an installation with a bucket, for one process. */
export interface BucketLake {
  /** Each workgroup is read on this machine if its complete lake is here, and otherwise from the bucket. */
  source: LakeSource;
  /**
   * The same for reads that take minutes. On this machine see `LocalLakeOptions.isForLongReads`. In the
   * bucket there is no difference, because it keeps the files of a replaced commit for a day.
   */
  longReadSource: LakeSource;
  /** True if the complete lake of the workgroup is on this machine. */
  isHere(workgroupId: string): boolean;
  /** See `StoredLake.noteCommit`. */
  noteCommit(workgroupId: string, sequence: number): void;
  /** False if the bucket cannot be read. */
  readiness(asker: HealthAsker): Promise<HealthState>;
  close(): Promise<void>;
}

/** The result of a check of the bucket is used for this time, because each check costs two requests. */
const CHECK_KEPT_MS = 10 * SECOND_MS;
/** A check of the bucket that takes longer has failed. It is less than the 3 s that `/ready` waits. */
const CHECK_MS_MAX = 2 * SECOND_MS;

/**
 * Opens the cache for files of the bucket. Sends no request.
 * @param isCommand true for a process that ends soon. Its cache is deleted at its end
 * @returns undefined if no bucket is configured
 */
export async function openBucketLake(
  config: Pick<Config, 'dataDir' | 'storage'>,
  { clock, isCommand = false }: { clock: Clock; isCommand?: boolean },
): Promise<BucketLake | undefined> {
  const { dataDir, storage } = config;
  const shared = serviceStore(storage);
  if (!shared) return undefined;
  const { folder, release } = await holdCacheFolder(dataDir, isCommand, clock);
  const cache = await openFileCache({ folder, bytesMax: storage.cacheMegabytes * MEBIBYTE }).catch(
    async (error: unknown) => {
      await release();
      throw error;
    },
  );
  const localLake = ({ isForLongReads }: { isForLongReads: boolean }) =>
    createLocalLake({
      lakeDir: lakeFolder(config),
      hasPublished: (workgroupId) => hasPublished(dataDir, workgroupId),
      isForLongReads,
    });
  const stored = createStoredLake({ storeOf: (workgroupId) => workgroupStore(storage, workgroupId)!, cache });
  const findProblem = createProblemCheck(shared, clock);
  const isHere = (workgroupId: string) => isLakeHere(dataDir, workgroupId, clock.now());
  return {
    source: createNearestLake({ local: localLake({ isForLongReads: false }), stored, isHere }),
    longReadSource: createNearestLake({ local: localLake({ isForLongReads: true }), stored, isHere }),
    isHere,
    noteCommit: stored.noteCommit,
    async readiness({ maySeeNames }) {
      const problem = await findProblem();
      return { ok: problem === undefined, ...(problem && maySeeNames && { detail: { problem } }) };
    },
    async close() {
      await cache.close();
      await release();
    },
  };
}

/** Checks that objects of the bucket can be listed and read. @returns the problem if they cannot */
function createProblemCheck(store: ObjectStore, clock: Clock): () => Promise<string | undefined> {
  let last: { atMs: number; problem: Promise<string | undefined> } | undefined;

  async function findProblem(): Promise<string | undefined> {
    const signal = AbortSignal.timeout(CHECK_MS_MAX);
    try {
      // No object has this name, so the answers are short.
      await store.list('readable/', { signal }).next();
      await store.get('readable', { signal });
      return undefined;
    } catch (error) {
      return signal.aborted
        ? `${store.address} has not answered within ${CHECK_MS_MAX / SECOND_MS} s`
        : errorMessage(error);
    }
  }

  return () => {
    const atMs = elapsedOf(clock);
    if (last === undefined || atMs - last.atMs > CHECK_KEPT_MS) last = { atMs, problem: findProblem() };
    return last.problem;
  };
}
