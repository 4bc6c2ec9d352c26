import { existsSync } from 'node:fs';
import { warehouseFile } from './assignment.ts';
import { readStatus } from './workgroup-status.ts';

/**
 * True if a workgroup has a warehouse on this machine, and its worker has published from it. Then the lake
 * must be on this machine too.
 */
export function hasPublished(dataDir: string, workgroupId: string): boolean {
  if (!existsSync(warehouseFile(dataDir, workgroupId))) return false;
  return readStatus(dataDir, workgroupId)?.publish.generation !== undefined;
}
