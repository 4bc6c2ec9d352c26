import type { WorkgroupConfig } from '../config/config.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import type { Mapping } from './import-mapping.ts';
/** What is to be imported. */
export interface ImportRequest {
  /** Absolute. */
  path: string;
  table: string;
  mapping: Mapping;
}

export interface ImportProgress {
  phase: 'checking' | 'landing';
  fileBytes: number;
  bytesChecked: number;
  rowsRead: number;
  rowsLanded: number;
  rowsRejected: number;
  /** How many rows there are, as far as that can be told beforehand. */
  rowsExpected: number | undefined;
}

export interface ImportOptions {
  workgroup: Pick<WorkgroupConfig, 'id' | 'devices' | 'timezone'>;
  threads: number;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
  onProgress: (progress: ImportProgress) => void;
  /** Rows of one batch, if other than usual. */
  batchRows?: number;
}
