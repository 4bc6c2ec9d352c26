import { createAudit } from '../audit/audit.ts';
import { localActor } from '../audit/local-actor.ts';
import { createBackfillJob } from '../backfill/backfill-job.ts';
import { createInterpreter } from '../client/interpret.ts';
import { AUDIT_TABLE, DEVICE_STATUS_TABLE } from '../contract/messages.ts';
import { createImportJob } from '../import/import-job.ts';
import { errorMessage } from '../lib/errors.ts';
import { createInTurn } from '../lib/in-turn.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import { renewCurrent } from '../publish/renew-current.ts';
import type { UnusedClaims } from '../replica/take-over-replica.ts';
import { OWNER_LOCK_WAIT_MS } from '../warehouse/database.ts';
import { openShard } from '../warehouse/shard.ts';
import { type Assignment, lakeFolder, warehousePath } from './assignment.ts';
import { claimWorkgroup } from './claim-workgroup.ts';
import { storedPosition } from './live-reader.ts';
import { openWorkgroupBucket } from './open-bucket.ts';
import type { OpenShard } from './open-shard.ts';

/**
 * Opens a workgroup's warehouse and its reader at the checkpoint. With a bucket it takes the workgroup over
 * first.
 * @param claims claims in the bucket from earlier attempts of this process that failed. This attempt uses
 *   them again
 */
export async function openAssignment(
  assignment: Assignment,
  clock: Clock,
  logger: Logger,
  claims: UnusedClaims = new Map(),
): Promise<OpenShard> {
  const { workgroup, pipeline, limits } = assignment;
  const claimed = await claimWorkgroup(assignment, { claims, clock, logger });
  const shard = await openShard({
    path: warehousePath(assignment),
    workgroupId: workgroup.id,
    memoryMegabytes: pipeline.warehouseMemoryMegabytes,
    threads: pipeline.warehouseThreads,
    namesMax: limits.namesPerWorkgroup,
    tablesMax: limits.tablesPerWorkgroup,
    neededTables: [DEVICE_STATUS_TABLE, AUDIT_TABLE, ...workgroup.energyStreams.map(({ table }) => table)],
    folders: [lakeFolder(assignment)],
    lockWaitMs: OWNER_LOCK_WAIT_MS,
    ...(claimed && { epoch: BigInt(claimed.claim.ownerEpoch) }),
    clock,
    logger,
  });
  const interpret = createInterpreter(shard.names, { defaultTable: workgroup.upstream?.table });
  const position = await storedPosition(shard);
  const audit = createAudit({ dataDir: assignment.dataDir, actor: localActor(), clock });
  const imports = createImportJob(shard, {
    workgroup,
    threads: pipeline.warehouseThreads,
    audit,
    clock,
    logger,
  });
  const lakeDir = lakeFolder(assignment);
  const backfills = createBackfillJob(shard, { workgroup, lakeDir, audit, clock, logger });
  const changes = createInTurn();
  const generations = createInTurn();
  const open: OpenShard = {
    shard,
    assignment,
    interpret,
    position,
    stuck: undefined,
    imports,
    backfills,
    inTurn: changes,
    inLake: generations,
    bucket: undefined,
    snapshots: { lastAtMs: undefined, isWanted: false },
    clock,
    logger,
  };
  try {
    if (claimed) open.bucket = await openWorkgroupBucket(open, claimed);
  } catch (error) {
    await shard.close();
    throw error;
  }
  claims.delete(workgroup.id);
  return open;
}

/**
 * Closes a shard: stops its jobs, commits to the bucket, makes the folder `current` show the newest
 * generation, and closes the file.
 */
export async function closeAssignment(open: OpenShard): Promise<void> {
  const { shard, imports, backfills, assignment, bucket, clock, logger } = open;
  await Promise.all([imports.stop(), backfills.stop()]);
  await bucket?.close();
  try {
    // If the shard was lost, the other worker has newer data, so this lake is not shown any more.
    if (!bucket?.lost())
      await open.inLake(() => renewCurrent(shard, { lakeDir: lakeFolder(assignment), isFinal: true, clock }));
  } catch (error) {
    // A failure is only logged. Reports do not need the folder `current`, and the next process renews it.
    logger.warn({ workgroup: shard.workgroupId, error: errorMessage(error) }, 'publish.current');
  } finally {
    await shard.close();
  }
}
