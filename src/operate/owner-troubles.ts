import type { Config } from '../config/config.ts';
import { describeProcess, processFacts } from '../lib/process-facts.ts';
import { formatInstant, type UtcMs } from '../lib/time.ts';
import type { Trouble } from '../pipeline/trouble.ts';
import { isFresh, type WorkgroupStatus } from '../pipeline/workgroup-status.ts';
import { readControlFile } from '../worker-rpc/control-file.ts';
import { type LocalWorkers, localOwnerPid } from '../worker-rpc/local-workers.ts';

/**
 * The problem of a workgroup if a signal has stopped the process that holds its data. The process cannot
 * write this into its status.
 */
export function stoppedOwnerTroubles(
  { dataDir }: Pick<Config, 'dataDir'>,
  workgroupId: string,
  nowMs: UtcMs,
): Trouble[] {
  const owner = readControlFile(dataDir, workgroupId);
  if (!owner || !processFacts(owner.pid)?.isStopped) return [];
  const message = `the data are held by ${describeProcess(owner.pid)}`;
  return [{ workgroupId, sinceMs: nowMs, stage: 'open', state: 'not-open', message }];
}

/**
 * The problem of a worker that has the data open and writes no status. A full disk is the usual cause.
 * Without this problem the workgroup would look like one that somebody has stopped.
 */
export function silentWorkerTroubles(
  { dataDir }: Pick<Config, 'dataDir'>,
  status: WorkgroupStatus,
  nowMs: UtcMs,
): Trouble[] {
  const { workgroupId, processId, updatedAtMs, hasStopped } = status;
  if (hasStopped || isFresh(status, nowMs)) return [];
  // A worker that a signal has stopped is a problem of `stoppedOwnerTroubles`.
  if (localOwnerPid(dataDir, workgroupId) !== processId || processFacts(processId)?.isStopped) return [];
  const message = `its worker, process ${processId}, runs, but has written no status since ${formatInstant(updatedAtMs)}; look for the cause in its log, such as a full disk`;
  return [{ workgroupId, sinceMs: updatedAtMs, stage: 'store', state: 'failing', message }];
}

/**
 * The problem of a workgroup if its worker on this machine was stopped by a signal or killed. A workgroup
 * that hibernates has no owner, so `stoppedOwnerTroubles` does not find it.
 */
export function workerTroubles(
  { dataDir }: Pick<Config, 'dataDir'>,
  workers: LocalWorkers,
  workgroupId: string,
  nowMs: UtcMs,
): Trouble[] {
  const trouble = (message: string): Trouble[] => [
    { workgroupId, sinceMs: nowMs, stage: 'open', state: 'not-open', message },
  ];
  switch (workers.kind) {
    case 'living':
    case 'none':
      return [];
    case 'stopped': {
      const isKnown = readControlFile(dataDir, workgroupId)?.pid === workers.pid;
      return isKnown ? [] : trouble(`its worker is ${describeProcess(workers.pid)}`);
    }
    case 'ended':
      return trouble(
        `its worker, process ${workers.pid}, was killed or has crashed; start it again with "wattline up" or "wattline worker"`,
      );
    default:
      return workers satisfies never;
  }
}
