import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { type Clock, elapsedOf, SECOND_MS } from '../lib/time.ts';
import { lakeFolder, warehouseFile } from '../pipeline/assignment.ts';
import { isFresh, readStatuses } from '../pipeline/workgroup-status.ts';
import type { OpenControl } from './open-control.ts';
import type { WorkState } from './worker-readiness.ts';

/** Health checks are frequent, and each look asks every owner. */
const KEPT_MS = 2 * SECOND_MS;

/**
 * The state of workers in other processes, from their files in the data folder and from their answers. The
 * files are read synchronously, at most once in 2 s: 300 of them take 3 ms, and 47 ms in the thread pool.
 */
export function watchWorkElsewhere(
  { dataDir, queue, storage }: Pick<Config, 'dataDir' | 'queue' | 'storage'>,
  workgroups: Pick<Workgroups, 'list'>,
  control: Pick<OpenControl, 'reaches' | 'isServed'>,
  clock: Clock,
): () => Promise<WorkState> {
  let last: { atMs: number; work: Promise<WorkState> } | undefined;

  async function readWork(): Promise<WorkState> {
    const list = workgroups.list();
    const ids = new Set(list.map(({ id }) => id));
    const fresh = readStatuses(dataDir).filter(
      (one) => ids.has(one.workgroupId) && isFresh(one, clock.now()),
    );
    const open = await Promise.all(list.map(({ id }) => isServed(id)));
    return {
      workgroups: list.length,
      troubles: fresh.flatMap(({ troubles = [] }) => troubles),
      closed: list.filter((_, index) => !open[index]).map(({ id }) => id),
    };
  }

  /**
   * With the queue in Redis, a worker on another machine may have it. A lake without a warehouse is a
   * read-only copy, as is a lake in the bucket.
   */
  async function isServed(id: string): Promise<boolean> {
    // If Redis does not answer, this is not known. The check of Redis reports the problem.
    if (queue.backend === 'redis') return control.isServed(id).catch(() => true);
    const hasLake = storage.s3 !== undefined || existsSync(join(lakeFolder({ dataDir }), id));
    return (hasLake && !existsSync(warehouseFile(dataDir, id))) || control.reaches(id);
  }

  return () => {
    const atMs = elapsedOf(clock);
    if (last === undefined || atMs - last.atMs > KEPT_MS) last = { atMs, work: readWork() };
    return last.work;
  };
}
