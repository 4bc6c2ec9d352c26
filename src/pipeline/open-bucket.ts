import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage, StaleOwnerError, TransientError } from '../lib/errors.ts';
import { oneAtATime } from '../lib/one-at-a-time.ts';
import { HOUR_MS, SECOND_MS } from '../lib/time.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { openLake } from '../publish/open-lake.ts';
import type { ReplicaCommit } from '../replica/replica-commit.ts';
import { openReplicaOwner } from '../replica/replica-owner.ts';
import { recordIn } from '../replica/replication-state.ts';
import { type TakenOver, takeOverReplica } from '../replica/take-over-replica.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { workgroupStore } from '../storage/workgroup-store.ts';
import { type Assignment, lakeFolder, warehousePath } from './assignment.ts';
import type { OpenShard } from './open-shard.ts';
import { publishNow } from './publish-now.ts';
import { takeSnapshotNow } from './take-snapshots.ts';
import type { BucketState, WorkgroupBucket } from './workgroup-bucket.ts';

/** A workgroup that was claimed in the bucket, before its warehouse is opened. */
export interface ClaimedWorkgroup extends TakenOver {
  store: ObjectStore;
}

/** An empty file in the lake. Its time is that of the last collection in the bucket. */
const COLLECTED_FILE = 'collected';
/** A worker that gives up a shard waits 6 s for everything. */
const CLOSE_MS = 4 * SECOND_MS;

/**
 * Claims the workgroup of an assignment in the bucket, and restores its warehouse and lake if the local ones are older.
 * @returns undefined if no bucket is configured
 * @throws as `takeOverReplica` does
 */
export async function claimWorkgroup(
  assignment: Assignment,
  { clock, logger }: Pick<OpenShard, 'clock' | 'logger'>,
): Promise<ClaimedWorkgroup | undefined> {
  const { workgroup } = assignment;
  const store = workgroupStore(assignment.storage ?? {}, workgroup.id);
  if (!store) return undefined;
  const startMs = performance.now();
  const taken = await takeOverReplica({
    store,
    workgroupId: workgroup.id,
    warehousePath: warehousePath(assignment),
    root: lakeRoot(assignment),
    clock,
  });
  const { claim, warehouse, movedAway, rolledBack } = taken;
  logger.info(
    {
      workgroup: workgroup.id,
      sequence: claim.sequence,
      epoch: claim.ownerEpoch,
      warehouse,
      movedAway,
      ...(rolledBack && { rolledBack }),
      durationMs: Math.round(performance.now() - startMs),
    },
    'bucket.claimed',
  );
  return { ...taken, store };
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
  const closing = new AbortController();

  const state = (): BucketState => ({
    sequence: owner.head().sequence,
    committedAtMs,
    isLakeComplete: true,
  });

  async function streamOffset(): Promise<string | undefined> {
    return (await shard.checkpoint('stream'))?.nextOffset.toString();
  }

  /** The generation to commit, and the position of the stream that it has at least. Undefined without a change. */
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
    return { generation: await takeSnapshotNow(open, isForced), offset, atMs };
  }

  async function commitNow(): Promise<BucketState> {
    if (lost) throw lost;
    const checkedAtMs = clock.now();
    try {
      // Outside of the queue of generations, so that publications do not wait for the bucket.
      const next = await open.inLake(nextGeneration);
      if (!next) {
        if (committedAtMs !== undefined) committedAtMs = checkedAtMs;
        return state();
      }
      const mirrored = await owner.mirror(next.generation, closing.signal);
      committedOffset = next.offset;
      committedAtMs = next.atMs;
      if (mirrored.kind === 'mirrored')
        logger.info({ workgroup: shard.workgroupId, ...mirrored }, 'bucket.committed');
      await collectIfDue();
      return state();
    } catch (error) {
      if (error instanceof StaleOwnerError) lost = error;
      throw error;
    }
  }

  /** Deletes once an hour what no kept commit needs. A shard can be open for less than an hour, so a file notes the last time. */
  async function collectIfDue(): Promise<void> {
    const path = join(lakeRoot(assignment), COLLECTED_FILE);
    const before = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    const ageMs = Date.now() - (before ?? Number.NEGATIVE_INFINITY);
    if (before !== undefined && ageMs >= 0 && ageMs < HOUR_MS) return;
    // A new owner begins an hour later, because the first time reads all commits of a day.
    if (before !== undefined) {
      const collected = await owner.collect({ signal: closing.signal });
      logger.info({ workgroup: shard.workgroupId, ...collected }, 'bucket.collected');
    }
    writeFileSync(path, '');
  }

  const commit = oneAtATime(commitNow);

  return {
    state,
    lost: () => lost,
    commit(isComplete) {
      mustPublish ||= isComplete;
      return commit();
    },
    async close() {
      if (lost) return;
      mustPublish = true;
      const committing = commit();
      try {
        const outcome = await withTimeout(committing, CLOSE_MS);
        if (outcome === 'late')
          throw new TransientError('StorageBusy', 'the bucket has not answered in time');
      } catch (error) {
        closing.abort(error);
        await committing.catch(() => undefined);
        // What the bucket does not have is on this disk and in the stream.
        logger.warn({ workgroup: shard.workgroupId, error: errorMessage(error) }, 'bucket.not-committed');
      }
    },
  };
}

function lakeRoot(assignment: Assignment): string {
  return join(lakeFolder(assignment), assignment.workgroup.id);
}

function offsetIn({ checkpoints }: ReplicaCommit): string | undefined {
  return checkpoints.find(({ origin }) => origin === 'stream')?.nextOffset;
}
