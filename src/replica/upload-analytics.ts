import { stat } from 'node:fs/promises';
import { hashFile, sha256Hex } from '../lib/durable-files.ts';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, DAY_MS, elapsedOf, HOUR_MS, MINUTE_MS, type UtcMs } from '../lib/time.ts';
import { stageMovableAnalytics } from '../publish/analytics.ts';
import { isLakeComplete } from '../publish/is-lake-complete.ts';
import { analyticsKey, fileKey, type LakePaths, parseAnalyticsKey } from '../publish/lake-layout.ts';
import type { PublishableShard } from '../publish/publishable-shard.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { type ReplicaCommit, readReplicaCommit } from './replica-commit.ts';
import type { ReplicaOwner } from './replica-owner.ts';

interface AnalyticsUploaderOptions {
  store: ObjectStore;
  shard: Pick<PublishableShard, 'connect' | 'workgroupId'>;
  /** The local lake. Nothing is uploaded until it has all files. */
  paths: LakePaths;
  /** Copies the files of a commit that are not separate objects, see `ReplicaOwner.unbundle`. */
  unbundle: ReplicaOwner['unbundle'];
  clock: Clock;
  logger: Logger;
}

/**
 * Uploads the views for analysts of the newest commit, if its files have changed, at most once an hour. To be
 * called after each commit.
 * @param options.isFinal true to upload before the hour is over, because no later commit of this owner
 *   follows
 * @returns never an error. A failure is logged, and the next call after 10 minutes tries again
 */
type UploadAnalytics = (
  head: ReplicaCommit,
  options?: { isFinal?: boolean; signal?: AbortSignal },
) => Promise<void>;

/** The newest views in the store. */
interface StoredViews {
  sequence: number;
  atMs: UtcMs;
  fingerprint: string | undefined;
}

const EVERY_MS = HOUR_MS;
const RETRY_PAUSE_MS = 10 * MINUTE_MS;
/**
 * The files of a commit are kept for a day. After that the same views are uploaded again, for a later commit.
 */
const RENEW_MS = DAY_MS / 2;

/** The owner of a workgroup has one. Calls run one after the other. */
export function createAnalyticsUploader(options: AnalyticsUploaderOptions): UploadAnalytics {
  const { store, shard, paths, unbundle, clock, logger } = options;
  /**
   * Undefined if the store must be asked: in the beginning, and after a failure, because the upload can still
   * have succeeded.
   */
  let last: StoredViews | undefined;
  let failedAtMs: number | undefined;
  let running: Promise<void> = Promise.resolve();

  async function upload(head: ReplicaCommit, isFinal: boolean, signal?: AbortSignal): Promise<void> {
    if (!head.generation || !isLakeComplete(paths)) return;
    if (!isFinal && failedAtMs !== undefined && elapsedOf(clock) - failedAtMs < RETRY_PAUSE_MS) return;
    try {
      last ??= await findNewestViews(store, signal);
      // A clock that was set back must not delay an upload.
      const ageMs = last ? Math.abs(clock.now() - last.atMs) : Number.POSITIVE_INFINITY;
      if (last?.sequence === head.sequence || (!isFinal && ageMs < EVERY_MS)) return;
      const fingerprint = fingerprintOf(head);
      if (last && ageMs < RENEW_MS) {
        last.fingerprint ??= await fingerprintOfCommit(last.sequence, signal);
        if (last.fingerprint === fingerprint) return;
      }
      const startMs = performance.now();
      await unbundle(head, signal);
      await using staged = await stageMovableAnalytics(shard, paths, head);
      const { path } = staged;
      const { size: bytes } = await stat(path);
      const content = { path, bytes, sha256: await hashFile(path) };
      await store.put(analyticsKey(head.sequence), content, signal);
      last = { sequence: head.sequence, atMs: clock.now(), fingerprint };
      failedAtMs = undefined;
      const durationMs = Math.round(performance.now() - startMs);
      logger.info(
        { workgroup: shard.workgroupId, sequence: head.sequence, bytes, durationMs },
        'analytics.uploaded',
      );
    } catch (error) {
      last = undefined;
      failedAtMs = elapsedOf(clock);
      logger.warn({ workgroup: shard.workgroupId, error: errorMessage(error) }, 'analytics.not-uploaded');
    }
  }

  async function fingerprintOfCommit(sequence: number, signal?: AbortSignal): Promise<string> {
    const commit = await readReplicaCommit(store, sequence, signal);
    return commit ? fingerprintOf(commit) : '';
  }

  return (head, { isFinal = false, signal } = {}) => {
    running = running.then(() => upload(head, isFinal, signal));
    return running;
  };
}

async function findNewestViews(store: ObjectStore, signal?: AbortSignal): Promise<StoredViews | undefined> {
  let newest: StoredViews | undefined;
  for await (const { key, modifiedAtMs } of store.list('analytics/', { signal })) {
    const sequence = parseAnalyticsKey(key);
    if (sequence !== undefined) newest = { sequence, atMs: modifiedAtMs, fingerprint: undefined };
  }
  return newest;
}

/** Equal if the files of two commits are the same. */
function fingerprintOf({ files }: ReplicaCommit): string {
  return sha256Hex(files.map(fileKey).sort().join('\n'));
}
