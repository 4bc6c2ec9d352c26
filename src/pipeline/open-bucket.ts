import { createAudit } from '../audit/audit.ts';
import { localActor } from '../audit/local-actor.ts';
import { bundledStore } from '../backup/bundled-store.ts';
import { errorMessage, StaleOwnerError, TerminalError, TransientError } from '../lib/errors.ts';
import { shareNextRun } from '../lib/share-next-run.ts';
import { elapsedOf, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import { startSystemTimer } from '../lib/timer.ts';
import { isLakeComplete } from '../publish/is-lake-complete.ts';
import { listSequences } from '../publish/lake-commit.ts';
import { type LakePaths, lakePaths } from '../publish/lake-layout.ts';
import { openLake } from '../publish/open-lake.ts';
import { preparedAt } from '../replica/prepare-take-over.ts';
import type { ReplicaCommit } from '../replica/replica-commit.ts';
import { openReplicaOwner } from '../replica/replica-owner.ts';
import { recordIn } from '../replica/replication-state.ts';
import { startLakeFill } from '../replica/start-lake-fill.ts';
import { type TakenOver, takeOverReplica, type UnusedClaims } from '../replica/take-over-replica.ts';
import { createAnalyticsUploader } from '../replica/upload-analytics.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { repeatRequests } from '../storage/repeat-requests.ts';
import { workgroupStore } from '../storage/workgroup-store.ts';
import { type Assignment, lakeFolder, lakeRoot, warehousePath } from './assignment.ts';
import { createBackgroundCollection } from './collect-in-background.ts';
import type { OpenShard } from './open-shard.ts';
import { publishNow } from './publish-now.ts';
import { takeSnapshotNow } from './snapshot-stage.ts';
import type { BucketState, WorkgroupBucket } from './workgroup-bucket.ts';

/** A workgroup that was claimed in the bucket, before its warehouse is opened. */
export interface ClaimedWorkgroup extends TakenOver {
  store: ObjectStore;
}

/**
 * An owner that has nothing to commit looks this often for commits of others. A look costs as much as a PUT.
 */
const LOOK_EVERY_MS = 5 * MINUTE_MS;
/** A worker that gives up a shard waits 6 s for everything. */
const LAST_COMMIT_TIMEOUT_MS = 4 * SECOND_MS;

/**
 * Claims the workgroup of an assignment in the bucket, and restores its warehouse if the local one is older.
 * @returns undefined if no bucket is configured
 * @throws TerminalError `LakeIncomplete` if no bucket is configured, and the lake needs it; and as
 *   `takeOverReplica` does
 */
export async function claimWorkgroup(
  assignment: Assignment,
  { claims, clock, logger }: Pick<OpenShard, 'clock' | 'logger'> & { claims: UnusedClaims },
): Promise<ClaimedWorkgroup | undefined> {
  const { workgroup } = assignment;
  const place = workgroupStore(assignment.storage ?? {}, workgroup.id);
  const store = place && repeatRequests(place);
  const paths = lakePaths(lakeFolder(assignment), workgroup.id);
  if (!store) {
    if (!isLakeComplete(paths)) throw needsBucket(paths);
    return undefined;
  }
  const startMs = performance.now();
  const taken = await takeOverReplica({
    store,
    workgroupId: workgroup.id,
    warehousePath: warehousePath(assignment),
    root: lakeRoot(assignment),
    hasPublished: (await listSequences(paths)).length > 0,
    prepared: preparedAt(warehousePath(assignment), lakeRoot(assignment)),
    claims,
    clock,
  });
  const { claim, warehouse, movedAway, localFault, rolledBack } = taken;
  const level = localFault ? 'warn' : 'info';
  logger[level](
    {
      workgroup: workgroup.id,
      sequence: claim.sequence,
      epoch: claim.ownerEpoch,
      warehouse,
      movedAway,
      ...(localFault && { localFault }),
      ...(rolledBack && { rolledBack }),
      durationMs: Math.round(performance.now() - startMs),
    },
    'bucket.claimed',
  );
  if (rolledBack) recordRollBack(assignment, rolledBack, { clock, logger });
  return { ...taken, store };
}

/**
 * Uploads and corrections after the earlier commit were acknowledged, and are lost. Somebody has to know it.
 */
function recordRollBack(
  { workgroup, dataDir }: Assignment,
  { to, reason }: NonNullable<TakenOver['rolledBack']>,
  { clock, logger }: Pick<OpenShard, 'clock' | 'logger'>,
): void {
  const audit = createAudit({ dataDir, actor: localActor(), clock });
  audit.record(workgroup.id, { action: 'bucket.rolled-back', target: `commit ${to}`, data: { reason } });
  const next =
    'uploads, corrections and imports after this commit are lost; compare their lists, and send them again';
  logger.error({ workgroup: workgroup.id, to, reason, next }, 'bucket.rolled-back');
}

/** Begins the work on the bucket of a claimed workgroup, after its warehouse was opened. */
export async function openWorkgroupBucket(
  open: OpenShard,
  { store, claim, warehouse }: ClaimedWorkgroup,
): Promise<WorkgroupBucket> {
  const { shard, assignment, snapshots, clock, logger } = open;
  const owner = await openReplicaOwner({
    store,
    claim,
    root: lakeRoot(assignment),
    record: recordIn(shard),
    clock,
  });
  /** The position of the stream in the newest commit. */
  let committedOffset = warehouse === 'restored' ? await streamOffset() : offsetIn(claim);
  let committedAtMs = claim.generation ? claim.createdAtMs : undefined;
  let lost: StaleOwnerError | undefined;
  let mustPublish = false;
  let isClosing = false;
  /** When it was last checked that no other owner has committed. */
  let aloneCheckedAtMs = elapsedOf(clock);
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
    committedAtMs,
    fill: fill.state(),
  });

  async function streamOffset(): Promise<string | undefined> {
    return (await shard.checkpoint('stream'))?.nextOffset.toString();
  }

  /**
   * The generation to commit, and the position of the stream that it has at least. Undefined without a
   * change.
   */
  async function nextGeneration() {
    if (mustPublish || snapshots.isWanted) {
      mustPublish = false;
      await publishNow(open, closing.signal).catch((error: unknown) => {
        mustPublish = true;
        throw error;
      });
    }
    const offset = await streamOffset();
    const { head } = await openLake(shard, { lakeDir: lakeFolder(assignment), clock });
    if (!head) return undefined;
    // Uploads and repeated messages can change the warehouse without a change of the lake.
    const isForced = snapshots.isWanted || offset !== committedOffset;
    if (!isForced && head.nonce === owner.head().generation?.nonce) return undefined;
    const atMs = clock.now();
    return { generation: await takeSnapshotNow(open, isForced, closing.signal), offset, atMs };
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
    if (lost) throw lost;
    closing.signal.throwIfAborted();
    const checkedAtMs = clock.now();
    try {
      const next = await open.inLake(nextGeneration);
      if (!next) {
        if (elapsedOf(clock) - aloneCheckedAtMs >= LOOK_EVERY_MS) await lookNow();
        if (committedAtMs !== undefined) committedAtMs = checkedAtMs;
        return state();
      }
      await collection.interrupt();
      // Outside of the queue of generations, so that publications do not wait for the bucket.
      const mirrored = await owner.mirror(next.generation, closing.signal);
      aloneCheckedAtMs = elapsedOf(clock);
      committedOffset = next.offset;
      committedAtMs = next.atMs;
      if (mirrored.kind === 'mirrored')
        logger.info({ workgroup: shard.workgroupId, ...mirrored }, 'bucket.committed');
      uploading = uploadAnalytics(owner.head(), { signal: closing.signal });
      return state();
    } catch (error) {
      if (error instanceof StaleOwnerError) lost = error;
      throw error;
    }
  }

  /** If the bucket does not answer, the next commit looks again. */
  async function lookNow(): Promise<void> {
    const beganAtMs = elapsedOf(clock);
    await owner.look(closing.signal);
    aloneCheckedAtMs = beganAtMs;
  }

  const commit = shareNextRun(async () => {
    const committed = await commitNow();
    if (!isClosing) collection.startIfDue();
    return committed;
  });

  return {
    state,
    lost: () => lost,
    commit({ isComplete }) {
      mustPublish ||= isComplete;
      return commit();
    },
    async look(sequence) {
      if (lost) throw lost;
      if (sequence <= owner.head().sequence) return;
      try {
        await lookNow();
      } catch (error) {
        if (error instanceof StaleOwnerError) lost = error;
        throw error;
      }
    },
    async noteHibernation(idle) {
      if (lost) throw lost;
      try {
        await collection.interrupt();
        await owner.noteHibernation(idle, closing.signal);
        return state();
      } catch (error) {
        if (error instanceof StaleOwnerError) lost = error;
        throw error;
      }
    },
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
        mustPublish = true;
        await commit();
        uploading = uploadAnalytics(owner.head(), { isFinal: true, signal: closing.signal });
      } catch (error) {
        closing.abort(error);
        // Data that is not in the bucket is on this disk and in the stream.
        logger.warn({ workgroup: shard.workgroupId, error: errorMessage(error) }, 'bucket.not-committed');
      } finally {
        await uploading;
        stopTimer();
      }
    },
  };
}

function needsBucket({ root }: LakePaths): TerminalError {
  return new TerminalError(
    'LakeIncomplete',
    `the lake ${root} has not all of its files: they were being copied from the bucket of storage.s3, which is not configured any more. Configure storage.s3 again until "wattline status" shows no missing files, or stop the service and run "wattline restore --force" with the place of a backup`,
  );
}

function offsetIn({ checkpoints }: ReplicaCommit): string | undefined {
  return checkpoints.find(({ origin }) => origin === 'stream')?.nextOffset;
}
