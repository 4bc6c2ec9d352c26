import type { LakeSource } from './lake-reader.ts';

interface NearestLakeOptions {
  /** The lakes of this machine. They have generations that the store does not have yet. */
  local: LakeSource;
  /** The lakes of all workgroups, which can be a commit behind. */
  stored: LakeSource;
  /** True if this machine has the complete and newest lake of the workgroup. */
  isHere(workgroupId: string): boolean;
}

/**
 * Reads the lake of a workgroup on this machine if the lake is here, and otherwise from the store. This is
 * decided anew for each request.
 */
export function createNearestLake({ local, stored, isHere }: NearestLakeOptions): LakeSource {
  return {
    folders: [...local.folders, ...stored.folders],
    newestGeneration: (workgroupId) => (isHere(workgroupId) ? local : stored).newestGeneration(workgroupId),
  };
}
