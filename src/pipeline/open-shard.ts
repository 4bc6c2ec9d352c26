import type { BackfillJob } from '../backfill/backfill-job.ts';
import type { ImportOutcome } from '../import/import-file.ts';
import type { ImportJob } from '../import/import-job.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock, UtcMs } from '../lib/time.ts';
import type { Assignment } from './assignment.ts';
import type { LiveReader } from './live-reader.ts';
import type { WorkgroupBucket } from './workgroup-bucket.ts';

/** A shard that this thread has open, with its jobs. */
export interface OpenShard extends LiveReader {
  assignment: Assignment;
  imports: ImportJob;
  backfills: BackfillJob;
  /**
   * Runs changes of readings and energy one after another, because two transactions that change the same rows
   * would fail.
   */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Runs publications and snapshots one after another, because each adds a generation. */
  inLake<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Undefined if no bucket is configured. */
  bucket: WorkgroupBucket | undefined;
  /** Which snapshots the lake has, and needs. */
  snapshots: {
    lastAtMs: UtcMs | undefined;
    isWanted: boolean;
    /** The last import that the bucket has completely. */
    committedImport?: ImportOutcome;
  };
  clock: Clock;
  logger: Logger;
}
