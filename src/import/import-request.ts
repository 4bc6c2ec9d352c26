import type { WorkgroupConfig } from '../config/config.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import type { Mapping } from './import-mapping.ts';

/** A file to import. */
export interface ImportRequest {
  /** Absolute. */
  path: string;
  /** The path that people see. Undefined if it is `path`, so the file is not a temporary one. */
  shownPath?: string | undefined;
  table: string;
  mapping: Mapping;
}

/** The path of a file for people. */
export function shownPathOf({ path, shownPath }: Pick<ImportRequest, 'path' | 'shownPath'>): string {
  return shownPath ?? path;
}

export interface ImportProgress {
  phase: 'checking' | 'landing';
  fileBytes: number;
  bytesChecked: number;
  rowsRead: number;
  rowsLanded: number;
  rowsRejected: number;
  /** The estimated number of rows, if known. */
  rowsExpected: number | undefined;
}

export interface ImportOptions {
  workgroup: Pick<WorkgroupConfig, 'id' | 'devices' | 'timezone'>;
  threads: number;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
  onProgress: (progress: ImportProgress) => void;
  /** Rows of one batch. Default: 40,960. */
  batchRows?: number;
}
