import { createAudit } from '../audit/audit.ts';
import { localActor } from '../audit/local-actor.ts';
import { TerminalError } from '../lib/errors.ts';
import { isLakeComplete } from '../publish/is-lake-complete.ts';
import { listSequences } from '../publish/lake-commit.ts';
import { type LakePaths, lakePaths } from '../publish/lake-layout.ts';
import { preparedAt } from '../replica/prepare-take-over.ts';
import { type TakenOver, takeOverReplica, type UnusedClaims } from '../replica/take-over-replica.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { repeatRequests } from '../storage/repeat-requests.ts';
import { workgroupStore } from '../storage/workgroup-store.ts';
import { type Assignment, lakeFolder, lakeRoot, warehousePath } from './assignment.ts';
import type { OpenShard } from './open-shard.ts';

/** A workgroup that was claimed in the bucket, before its warehouse is opened. */
export interface ClaimedWorkgroup extends TakenOver {
  store: ObjectStore;
}

/**
 * Claims the workgroup of an assignment in the bucket, and restores its warehouse if the local one is older.
 * @param place the bucket. Default: that of the assignment
 * @returns undefined if no bucket is configured
 * @throws TerminalError `LakeIncomplete` if no bucket is configured, but some files of the lake are only in
 *   the bucket. Also as `takeOverReplica` does
 */
export async function claimWorkgroup(
  assignment: Assignment,
  { claims, clock, logger }: Pick<OpenShard, 'clock' | 'logger'> & { claims: UnusedClaims },
  place = workgroupStore(assignment.storage ?? {}, assignment.workgroup.id),
): Promise<ClaimedWorkgroup | undefined> {
  const { workgroup } = assignment;
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
 * Records that an earlier commit was restored. Later uploads and corrections are lost, although they were
 * acknowledged, so an operator must know it.
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

function needsBucket({ root }: LakePaths): TerminalError {
  return new TerminalError(
    'LakeIncomplete',
    `the lake ${root} is not complete: its files were being copied from the bucket of storage.s3, which is not configured any more. Configure storage.s3 again until "wattline status" shows no missing files, or stop the service and run "wattline restore --force" with the place of a backup`,
  );
}
