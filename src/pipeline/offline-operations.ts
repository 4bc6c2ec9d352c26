import type { CorrectionQuery } from '../correction/correction-request.ts';
import { type ListedCorrection, listCorrections } from '../correction/list-corrections.ts';
import { explainDay } from '../explain/explain-day.ts';
import type { ExplainArgs, Explained } from '../explain/explained-schema.ts';
import { type LandedImport, newestImports } from '../import/newest-imports.ts';
import type { Clock } from '../lib/time.ts';
import { listUploads, type UploadList } from '../upload/list-uploads.ts';
import { readShard } from '../warehouse/read-shard.ts';
import type { Shard } from '../warehouse/shard.ts';
import { type OpenImport, readOpenImports } from '../warehouse/shard-status.ts';
import { type Assignment, warehousePath } from './assignment.ts';

/**
 * As the operation `explain`, of a warehouse that no process has open; it is only read.
 * @throws TransientError where there is none yet, or where a process has it open after all
 */
export function explainClosed(assignment: Assignment, args: ExplainArgs, clock: Clock): Promise<Explained> {
  const { workgroup } = assignment;
  return readClosed(assignment, clock, (connection) =>
    explainDay(connection, args, { workgroup, nowMs: clock.now() }),
  );
}

/** As the operation `uploads`, of a warehouse that no process has open; else as `explainClosed`. */
export function uploadsClosed(assignment: Assignment, clock: Clock): Promise<UploadList> {
  return readClosed(assignment, clock, listUploads);
}

/** As the operation `corrections`, of a warehouse that no process has open; else as `explainClosed`. */
export function correctionsClosed(
  assignment: Assignment,
  asked: CorrectionQuery,
  clock: Clock,
): Promise<ListedCorrection[]> {
  return readClosed(assignment, clock, (connection) =>
    listCorrections(connection, asked, assignment.workgroup.timezone),
  );
}

/** The imports that do not count, as in the operation `status`, of a warehouse that no process has open; else as `explainClosed`. */
export function importsClosed(assignment: Assignment, clock: Clock): Promise<OpenImport[]> {
  return readClosed(assignment, clock, readOpenImports);
}

/** As the operation `importsNewest`, of a warehouse that no process has open; else as `explainClosed`. */
export function importsNewestClosed(assignment: Assignment, clock: Clock): Promise<LandedImport[]> {
  return readClosed(assignment, clock, (connection) =>
    newestImports(connection, assignment.workgroup, clock.now()),
  );
}

function readClosed<Result>(
  assignment: Assignment,
  clock: Clock,
  work: (connection: Awaited<ReturnType<Shard['connect']>>) => Promise<Result>,
): Promise<Result> {
  const { workgroup, pipeline } = assignment;
  return readShard(
    {
      path: warehousePath(assignment),
      workgroupId: workgroup.id,
      memoryMegabytes: pipeline.warehouseMemoryMegabytes,
      threads: pipeline.threads,
      clock,
    },
    work,
  );
}
