import { LRUCache } from 'lru-cache';
import { bundledStore } from '../../backup/bundled-store.ts';
import { newestSequence } from '../../backup/newest-sequence.ts';
import { readStoredCommit } from '../../backup/stored-commits.ts';
import { errorCode, isRetryable, TerminalError, TransientError } from '../../lib/errors.ts';
import { shareNextRun } from '../../lib/share-next-run.ts';
import { MINUTE_MS, SECOND_MS } from '../../lib/time.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import type { LakeFile, StoredCommit } from '../../publish/commit-schema.ts';
import { flatPlace } from '../../publish/lake-commit.ts';
import { commitKey, fileKey, lakePaths } from '../../publish/lake-layout.ts';
import type { CachedObject, FileCache } from '../../storage/file-cache.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import { type Generation, type LakeSource, openedGeneration } from './lake-reader.ts';

export interface StoredLakeOptions {
  /** The store of a workgroup's lake: its keys are `commits/...` and `files/...`. */
  storeOf(workgroupId: string): ObjectStore;
  cache: FileCache;
  /** A commit counts as the newest one for this time without another look. Default: 30,000. */
  lookEveryMs?: number;
  /**
   * The known commit is used for this time after the last look while the store does not answer. Default:
   * 300,000.
   */
  staleMsMax?: number;
  /** The time that a request waits for the store if it can use the known commit. Default: 2,000. */
  patienceMs?: number;
  /**
   * The pause after a look that found no commit. The same after a look without an answer, if the known commit
   * can be used. Default: 5,000.
   */
  pauseMs?: number;
  /** The longest look. Default: 15,000. */
  lookMsMax?: number;
}

/** The lakes of a store, with a cache on this disk. */
export interface StoredLake extends LakeSource {
  /** Notes the news that a commit exists. The next request reads it. Wrong news costs one look. */
  noteCommit(workgroupId: string, sequence: number): void;
}

/** What this process knows of the lake of a workgroup. Times are monotonic, in ms. */
interface Head {
  /** The newest known commit. Undefined before the first successful look. */
  generation: Generation | undefined;
  /** The last look if the store had no commit. */
  absence: { atMs: number; error: unknown } | undefined;
  /** When the last successful look at the store began. */
  surelyNewestAtMs: number;
  /** When the store did not answer a look, or not in time. */
  failedAtMs: number;
  /** The newest commit that news has named and that was not looked for yet. 0: none. */
  notedSequence: number;
  /** True if a file of the generation was missing. */
  isIncomplete: boolean;
  look(): Promise<void>;
}

/**
 * The newest commit is remembered for this number of workgroups. For all others it must be found again, which
 * needs a longer list of objects.
 */
const HEADS_MAX = 1_000;
/** A commit can be deleted between listing and reading. Then a newer one exists. */
const LOOKS_MAX = 3;

/**
 * Reads generations from an object store. It looks for a newer commit when a request comes, at most every
 * `lookEveryMs`, and after news.
 *
 * If the store does not answer, the known commit is still used for `staleMsMax` after the last look. So a
 * short failure of the store stops no report. An answer is never older than this time and the usual delay
 * together. After this time the reader throws, because newer commits may be missing. It never assumes that a
 * lake is empty. If the store does not answer and no commit of the workgroup is known, it throws. If the
 * store has no commit of the workgroup, it throws too, because the owner creates a commit before anything
 * else. A restart forgets the known commits.
 */
export function createStoredLake(options: StoredLakeOptions): StoredLake {
  const { storeOf, cache, lookEveryMs = 30 * SECOND_MS, staleMsMax = 5 * MINUTE_MS } = options;
  const { patienceMs = 2 * SECOND_MS, pauseMs = 5 * SECOND_MS, lookMsMax = 15 * SECOND_MS } = options;
  const heads = new LRUCache<string, Head>({ max: HEADS_MAX });

  function headOf(workgroupId: string): Head {
    let head = heads.get(workgroupId);
    if (!head) {
      head = {
        generation: undefined,
        absence: undefined,
        surelyNewestAtMs: Number.NEGATIVE_INFINITY,
        failedAtMs: Number.NEGATIVE_INFINITY,
        notedSequence: 0,
        isIncomplete: false,
        look: shareNextRun(() => look(workgroupId, head!)),
      };
      heads.set(workgroupId, head);
    }
    return head;
  }

  async function look(workgroupId: string, head: Head): Promise<void> {
    const startedAtMs = performance.now();
    const store = storeOf(workgroupId);
    const signal = AbortSignal.timeout(lookMsMax);
    const { notedSequence } = head;
    const known = head.generation?.commit;
    const isDue = head.isIncomplete || startedAtMs - head.surelyNewestAtMs >= lookEveryMs;
    const isNews = notedSequence > (known?.sequence ?? 0);
    if (!isDue && !isNews) return;
    try {
      const noted = isDue ? undefined : await readStoredCommit(store, notedSequence, signal, known);
      const newest = noted ?? (await findNewest(store, known, signal));
      if (newest.sequence !== known?.sequence) head.generation = open(workgroupId, newest, head);
      if (!noted) head.surelyNewestAtMs = startedAtMs;
      head.isIncomplete = false;
      if (head.notedSequence === notedSequence) head.notedSequence = 0;
    } catch (error) {
      if (isRetryable(error)) head.failedAtMs = performance.now();
      if (errorCode(error) === 'NotInStore') {
        head.absence = { atMs: performance.now(), error };
        if (head.notedSequence === notedSequence) head.notedSequence = 0;
      }
      throw error;
    }
  }

  function open(workgroupId: string, commit: StoredCommit, head: Head): Generation {
    const store = bundledStore(storeOf(workgroupId), commit);
    const objectOf = (file: LakeFile): CachedObject => {
      const key = fileKey(commit.format === 1 ? flatPlace(file) : file);
      return { store, key, name: `${workgroupId}/${key}`, bytes: file.bytes, sha256: file.sha256 };
    };
    return openedGeneration(lakePaths(cache.folder, workgroupId), commit, async (files, signal) => {
      try {
        return await cache.pin(files.map(objectOf), signal);
      } catch (error) {
        if (errorCode(error) === 'ObjectMissing') head.isIncomplete = true;
        throw error;
      }
    });
  }

  return {
    folders: [cache.folder],
    noteCommit(workgroupId, sequence) {
      const head = heads.get(workgroupId);
      const known = head?.generation?.commit.sequence ?? 0;
      if (head && sequence > Math.max(known, head.notedSequence)) head.notedSequence = sequence;
    },
    async newestGeneration(workgroupId) {
      const head = headOf(workgroupId);
      const nowMs = performance.now();
      const sureMs = nowMs - head.surelyNewestAtMs;
      const { absence } = head;
      if (absence && !head.generation && head.notedSequence === 0 && nowMs - absence.atMs < pauseMs)
        throw absence.error;
      if (sureMs < lookEveryMs && head.notedSequence === 0 && !head.isIncomplete) return published(head);
      if (!head.generation || sureMs >= staleMsMax) await head.look();
      else if (nowMs - head.failedAtMs >= pauseMs) {
        const outcome = await withTimeout(head.look(), patienceMs).catch((error: unknown) => {
          if (!isRetryable(error)) throw error;
        });
        // The store has not answered in time. So for `pauseMs` no request waits for it.
        if (outcome === 'late') head.failedAtMs = performance.now();
      }
      return published(head);
    },
  };
}

/**
 * @returns undefined if nothing is published: the first commit is the claim of the first owner, which has no
 *   warehouse yet
 * @throws TransientError `NotInStore` if the owner has published, and the store has no copy yet
 */
function published({ generation }: Head): Generation | undefined {
  const commit = generation?.commit;
  if (commit?.format === 2 && commit.hasPublished)
    throw new TransientError(
      'NotInStore',
      `the worker of ${commit.workgroupId} has not copied its data to the store yet; it does so within minutes`,
    );
  return generation && generation.commit.warehouseCreatedAtMs > 0 ? generation : undefined;
}

/**
 * The newest commit of a store.
 * @param known an earlier commit. The list begins with it, so an empty list shows that commits are missing
 * @throws TransientError `NotInStore` if the store has nothing of the workgroup. The place can be wrong, so
 *   this is not an empty lake
 * @throws TerminalError `LakeMissing` if the commits have disappeared
 */
async function findNewest(
  store: ObjectStore,
  known: StoredCommit | undefined,
  signal: AbortSignal,
): Promise<StoredCommit> {
  for (let attempt = 0; attempt < LOOKS_MAX; attempt++) {
    const newest = await newestSequence(store, { signal, ...(known && { from: known.sequence }) });
    if (newest === undefined) break;
    if (newest === known?.sequence) return known;
    const commit = await readStoredCommit(store, newest, signal, known);
    if (commit) return commit;
  }
  // The first commit of a workgroup is created before its first object.
  const found = await Promise.all(
    ['files/', 'snapshots/'].map((prefix) => store.list(prefix, { signal }).next()),
  );
  const isEmpty = found.every(({ done }) => done);
  if (!known && isEmpty)
    throw new TransientError(
      'NotInStore',
      `${store.address} has no commits: no worker has opened the workgroup with this bucket yet; start a worker, or check bucket and prefix`,
    );
  throw new TerminalError(
    'LakeMissing',
    `${store.address} has no ${commitKey(known?.sequence ?? 1)} and no later commit, but it had; check the bucket and its prefix`,
  );
}
