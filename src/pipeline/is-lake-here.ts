import { join } from 'node:path';
import type { UtcMs } from '../lib/time.ts';
import { isLakeComplete } from '../publish/is-lake-complete.ts';
import { lakeFolder } from './assignment.ts';
import { isFresh, readStatus } from './workgroup-status.ts';

/**
 * For an installation with a bucket. True if a worker with this data folder owns the workgroup and has all
 * files of its lake here. If the status is old, a worker on another machine may have taken over. Then only
 * the bucket certainly has the newest data.
 */
export function isLakeHere(dataDir: string, workgroupId: string, nowMs: UtcMs): boolean {
  const status = readStatus(dataDir, workgroupId);
  if (!status || status.isHibernated || !isFresh(status, nowMs)) return false;
  if (status.bucket?.isLakeComplete !== true) return false;
  // The status can be from an earlier owner on this machine, before a takeover.
  return isLakeComplete({ root: join(lakeFolder({ dataDir }), workgroupId) });
}
