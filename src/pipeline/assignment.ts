import { join } from 'node:path';
import type { Config, WorkgroupConfig } from '../config/config.ts';

/** A workgroup to work on, with the settings that the thread needs. */
export interface Assignment {
  workgroup: WorkgroupConfig;
  dataDir: string;
  pipeline: Config['pipeline'];
  limits: Config['limits'];
  /** The bucket that has the state of all workgroups, if one is configured. Default: none. */
  storage?: Pick<Config['storage'], 's3'>;
}

export function assignmentOf(config: Omit<Assignment, 'workgroup'>, workgroup: WorkgroupConfig): Assignment {
  const { dataDir, pipeline, limits, storage } = config;
  return { workgroup, dataDir, pipeline, limits, ...(storage && { storage: { s3: storage.s3 } }) };
}

export function warehousePath({ dataDir, workgroup }: Assignment): string {
  return warehouseFile(dataDir, workgroup.id);
}

export function warehouseFile(dataDir: string, workgroupId: string): string {
  return join(dataDir, 'warehouse', `${workgroupId}.duckdb`);
}

/** The folder of the workgroup's lake. */
export function lakeRoot(assignment: Assignment): string {
  return join(lakeFolder(assignment), assignment.workgroup.id);
}

export function lakeFolder({ dataDir }: { dataDir: string }): string {
  return join(dataDir, 'lake');
}
