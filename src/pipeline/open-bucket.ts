import { bundledStore } from '../backup/bundled-store.ts';
import { errorMessage, StaleOwnerError, TransientError } from '../lib/errors.ts';
import { shareNextRun } from '../lib/share-next-run.ts';
import { elapsedOf, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import { startSystemTimer } from '../lib/timer.ts';
import { lakePaths } from '../publish/lake-layout.ts';
import { openLake } from '../publish/open-lake.ts';
import type { ReplicaCommit } from '../replica/replica-commit.ts';
import { openReplicaOwner, type ReplicaOwner } from '../replica/replica-owner.ts';
import { recordIn } from '../replica/replication-state.ts';
import { startLakeFill } from '../replica/start-lake-fill.ts';
import { createAnalyticsUploader } from '../replica/upload-analytics.ts';
import { lakeFolder, lakeRoot } from './assignment.ts';
import type { ClaimedWorkgroup } from './claim-workgroup.ts';
import { createBackgroundCollection } from './collect-in-background.ts';
import type { OpenShard } from './open-shard.ts';
import { publishNow } from './publish-now.ts';
import { takeSnapshotNow } from './snapshot-stage.ts';
import type { BucketState, WorkgroupBucket } from './workgroup-bucket.ts';

/**
 * An owner that has nothing to commit looks this often for commits of other owners. A look costs as much as a
 * PUT.
 */
const LOOK_EVERY_MS = 5 * MINUTE_MS;
/** The last commit gets this time. A worker that gives up a shard waits 6 s for all of its work. */
const LAST_COMMIT_TIMEOUT_MS = 4 * SECOND_MS;

/** What was committed last, and what the next commit has to do. */
interface CommitProgress {
  /** The position of the stream in the newest commit. */
  committedOffset: string | undefined;
  committedAtMs: UtcMs | undefined;
  /** True if new data must be published before the next commit. */
  mustPublish: boolean;
  /** When it was last checked that no other owner has committed. */
  aloneCheckedAtMs: number;
}

/** Begins the work on the bucket of a claimed workgroup, after its warehouse was opened. */
export async function openWorkgroupBucket(
  open: OpenShard,
  { store, claim, warehouse }: ClaimedWorkgroup,
): Promise<WorkgroupBucket> {
  const { shard, assignment, clock, logger } = open;
  const owner = await openReplicaOwner({
    store,
    claim,
    root: lakeRoot(assignment),
    record: recordIn(shard),
    clock,
  });
  const progress: CommitProgress = {
    committedOffset: warehouse === 'restored' ? await streamOffsetOf(open) : offsetIn(claim),
    committedAtMs: claim.generation ? claim.createdAtMs : undefined,
    mustPublish: false,
    aloneCheckedAtMs: elapsedOf(clock),
  };
  let lost: StaleOwnerError | undefined;
  let isClosing = false;
  const closing = new AbortController();
  const paths = lakePaths(lakeFolder(assignment), shard.workgroupId);
  const { unbundle } = owner;
  const uploadAnalytics = createAnalyticsUploader({ store, shard, paths, unbundle, clock, logger });
  let uploading: Promise<void> = Promise.resolve();
  const fill = startLakeFill({
    // The newest commit names the bundles that exist.
    storeNow: () => bundledStore(store, owner.head()),
    workgroupId: shard.workgroupId,
    paths,
    filesNow: async () =>
      (await openLake(shard, { lakeDir: lakeFolder(assignment), clock })).head?.files ?? [],
    logger,
  });

  const state = (): BucketState => ({
    sequence: owner.head().sequence,
    committedAtMs: progress.committedAtMs,
    fill: fill.state(),
  });

  /**
   * Runs work that only the owner may do. After another worker has claimed the workgroup, every call throws
   * the StaleOwnerError.
   */
  async function asOwner<Result>(work: () => Promise<Result>): Promise<Result> {
    if (lost) throw lost;
    try {
      return await work();
    } catch (error) {
      if (error instanceof StaleOwnerError) lost = error;
      throw error;
    }
  }

  const collection = createBackgroundCollection({
    owner,
    workgroupId: shard.workgroupId,
    onLost: (error) => {
      lost = error;
    },
    logger,
  });

  async function commitNow(): Promise<BucketState> {
    closing.signal.throwIfAborted();
    const checkedAtMs = clock.now();
    const next = await open.inLake(() => nextGeneration(open, owner, progress, closing.signal));
    if (!next) {
      if (elapsedOf(clock) - progress.aloneCheckedAtMs >= LOOK_EVERY_MS) await lookNow();
      if (progress.committedAtMs !== undefined) progress.committedAtMs = checkedAtMs;
      return state();
    }
    await collection.interrupt();
    // This is not in the queue of generations, so publications do not wait for the bucket.
    const mirrored = await owner.mirror(next.generation, closing.signal);
    progress.aloneCheckedAtMs = elapsedOf(clock);
    progress.committedOffset = next.offset;
    progress.committedAtMs = next.atMs;
    if (mirrored.kind === 'mirrored')
      logger.info({ workgroup: shard.workgroupId, ...mirrored }, 'bucket.committed');
    uploading = uploadAnalytics(owner.head(), { signal: closing.signal });
    return state();
  }

  /** If the bucket does not answer, the next commit looks again. */
  async function lookNow(): Promise<void> {
    const beganAtMs = elapsedOf(clock);
    await owner.look(closing.signal);
    progress.aloneCheckedAtMs = beganAtMs;
  }

  const commit = shareNextRun(async () => {
    const committed = await asOwner(commitNow);
    if (!isClosing) collection.startIfDue();
    return committed;
  });

  return {
    state,
    lost: () => lost,
    commit({ isComplete }) {
      progress.mustPublish ||= isComplete;
      return commit();
    },
    look: (sequence) =>
      asOwner(async () => {
        if (sequence > owner.head().sequence) await lookNow();
      }),
    noteHibernation: (idle) =>
      asOwner(async () => {
        await collection.interrupt();
        await owner.noteHibernation(idle, closing.signal);
        return state();
      }),
    async close() {
      isClosing = true;
      const late = new TransientError(
        'StorageBusy',
        `not everything was committed within ${LAST_COMMIT_TIMEOUT_MS / SECOND_MS} s`,
      );
      const stopTimer = startSystemTimer(LAST_COMMIT_TIMEOUT_MS, () => closing.abort(late));
      try {
        if (lost) closing.abort(lost);
        await Promise.all([fill.stop(), collection.interrupt()]);
        if (lost) return;
        progress.mustPublish = true;
        await commit();
        uploading = uploadAnalytics(owner.head(), { isFinal: true, signal: closing.signal });
      } catch (error) {
        closing.abort(error);
        // A failure is only logged. Data that is not in the bucket is still on this disk, and most of it also
        // in the stream.
        logger.warn({ workgroup: shard.workgroupId, error: errorMessage(error) }, 'bucket.not-committed');
      } finally {
        await uploading;
        stopTimer();
      }
    },
  };
}

/** The generation to commit, and the position of the stream that it has. Undefined without a change. */
async function nextGeneration(
  open: OpenShard,
  owner: Pick<ReplicaOwner, 'head'>,
  progress: CommitProgress,
  signal: AbortSignal,
) {
  const { shard, assignment, snapshots, clock } = open;
  if (progress.mustPublish || snapshots.isWanted) {
    progress.mustPublish = false;
    await publishNow(open, signal).catch((error: unknown) => {
      progress.mustPublish = true;
      throw error;
    });
  }
  const offset = await streamOffsetOf(open);
  const { head } = await openLake(shard, { lakeDir: lakeFolder(assignment), clock });
  if (!head) return undefined;
  // The warehouse can change while the lake stays the same, for example by an upload or by messages that are
  // repeated.
  const isForced = snapshots.isWanted || offset !== progress.committedOffset;
  if (!isForced && head.nonce === owner.head().generation?.nonce) return undefined;
  const atMs = clock.now();
  return { generation: await takeSnapshotNow(open, isForced, signal), offset, atMs };
}

async function streamOffsetOf({ shard }: Pick<OpenShard, 'shard'>): Promise<string | undefined> {
  return (await shard.checkpoint('stream'))?.nextOffset.toString();
}

function offsetIn({ checkpoints }: ReplicaCommit): string | undefined {
  return checkpoints.find(({ origin }) => origin === 'stream')?.nextOffset;
}
