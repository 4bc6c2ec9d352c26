import type { CorrectionQuery } from '../correction/correction-request.ts';
import { type ListedCorrection, listCorrections } from '../correction/list-corrections.ts';
import { explainDay } from '../explain/explain-day.ts';
import type { ExplainArgs, Explained } from '../explain/explained-schema.ts';
import { type LandedImport, newestImports } from '../import/newest-imports.ts';
import type { Clock } from '../lib/time.ts';
import { listUploads, type UploadList } from '../upload/list-uploads.ts';
import { readShard } from '../warehouse/read-shard.ts';
import type { Shard } from '../warehouse/shard.ts';
import { readOpenImports, type UnfinishedImport } from '../warehouse/shard-status.ts';
import { type Assignment, warehousePath } from './assignment.ts';

/**
 * Like the operation `explain`, for a warehouse that no process has open. It is only read.
 * @throws TransientError if it does not exist, or a process has it open
 */
export function explainClosed(assignment: Assignment, args: ExplainArgs, clock: Clock): Promise<Explained> {
  const { workgroup, pipeline } = assignment;
  return readClosed(assignment, clock, (connection) =>
    explainDay(connection, args, { workgroup, nowMs: clock.now(), closeAfterMs: pipeline.closeAfter }),
  );
}

/** Like the operation `uploads`, see `explainClosed`. */
export function uploadsClosed(assignment: Assignment, clock: Clock): Promise<UploadList> {
  return readClosed(assignment, clock, listUploads);
}

/** Like the operation `corrections`, see `explainClosed`. */
export function correctionsClosed(
  assignment: Assignment,
  asked: CorrectionQuery,
  clock: Clock,
): Promise<ListedCorrection[]> {
  return readClosed(assignment, clock, (connection) =>
    listCorrections(connection, asked, assignment.workgroup.timezone),
  );
}

/** The unfinished imports, as in the operation `status`, see `explainClosed`. */
export function importsClosed(assignment: Assignment, clock: Clock): Promise<UnfinishedImport[]> {
  return readClosed(assignment, clock, readOpenImports);
}

/** Like the operation `importsNewest`, see `explainClosed`. */
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
      threads: pipeline.warehouseThreads,
      clock,
    },
    work,
  );
}
