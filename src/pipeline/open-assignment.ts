import PQueue from 'p-queue';
import { createAudit } from '../audit/audit.ts';
import { localActor } from '../audit/local-actor.ts';
import { type BackfillJob, createBackfillJob } from '../backfill/backfill-job.ts';
import { createInterpreter } from '../client/interpret.ts';
import { createImportJob, type ImportJob } from '../import/import-job.ts';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock, UtcMs } from '../lib/time.ts';
import { renewCurrent } from '../publish/renew-current.ts';
import { openShard } from '../warehouse/shard.ts';
import { type Assignment, lakeFolder, warehousePath } from './assignment.ts';
import { type LiveReader, storedPosition } from './live-reader.ts';

/** A shard that this thread has open, with its jobs. */
export interface OpenShard extends LiveReader {
  assignment: Assignment;
  imports: ImportJob;
  backfills: BackfillJob;
  /** Runs changes of readings and energy one after another, because two transactions that change the same rows would fail. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Runs publications and snapshots one after another, because each adds a generation. */
  inLake<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Which snapshots the lake has, and needs. */
  snapshots: { lastAtMs: UtcMs | undefined; isWanted: boolean };
  clock: Clock;
  logger: Logger;
}

/** Opens a workgroup's warehouse and its reader at the checkpoint. */
export async function openAssignment(
  assignment: Assignment,
  clock: Clock,
  logger: Logger,
): Promise<OpenShard> {
  const { workgroup, pipeline, limits } = assignment;
  const shard = await openShard({
    path: warehousePath(assignment),
    workgroupId: workgroup.id,
    memoryMegabytes: pipeline.warehouseMemoryMegabytes,
    threads: pipeline.threads,
    namesMax: limits.namesPerWorkgroup,
    folders: [lakeFolder(assignment)],
    clock,
    logger,
  });
  const table = workgroup.upstream?.table;
  const interpret = createInterpreter(shard.names, { defaultTable: table === '-' ? undefined : table });
  const position = await storedPosition(shard);
  const audit = createAudit({ dataDir: assignment.dataDir, actor: localActor(), clock });
  const imports = createImportJob(shard, { workgroup, threads: pipeline.threads, audit, clock, logger });
  const lakeDir = lakeFolder(assignment);
  const backfills = createBackfillJob(shard, { workgroup, lakeDir, audit, clock, logger });
  const changes = new PQueue({ concurrency: 1 });
  const generations = new PQueue({ concurrency: 1 });
  return {
    shard,
    assignment,
    interpret,
    position,
    stuck: undefined,
    imports,
    backfills,
    inTurn: (work) => changes.add(work),
    inLake: (work) => generations.add(work),
    snapshots: { lastAtMs: undefined, isWanted: false },
    clock,
    logger,
  };
}

/** Stops its jobs, makes `current` show the newest generation, and closes its file. */
export async function closeAssignment(open: OpenShard): Promise<void> {
  const { shard, imports, backfills, assignment, clock, logger } = open;
  await Promise.all([imports.stop(), backfills.stop()]);
  try {
    await renewCurrent(shard, { lakeDir: lakeFolder(assignment), isFinal: true, clock });
  } catch (error) {
    // Reports do not need it, and the next process renews it.
    logger.warn({ workgroup: shard.workgroupId, error: errorMessage(error) }, 'publish.current');
  } finally {
    await shard.close();
  }
}
