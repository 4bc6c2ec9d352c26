import type { StaleOwnerError } from '../lib/errors.ts';
import type { UtcMs } from '../lib/time.ts';
import type { IdleNote } from '../replica/idle-note.ts';
import type { LakeFillState } from '../replica/start-lake-fill.ts';

/** The state of an open workgroup in the bucket. */
export interface BucketState {
  /** The newest commit of the bucket. */
  sequence: number;
  /** The time of the data of the newest commit. Undefined if nothing was committed yet. */
  committedAtMs: UtcMs | undefined;
  /** Set until the lake on this disk has all files of its newest generation. */
  fill: LakeFillState | undefined;
}

/** The bucket of a workgroup that this process owns. */
export interface WorkgroupBucket {
  state(): BucketState;
  /** Set when another worker has claimed the workgroup. Nothing may be done with the shard then. */
  lost(): StaleOwnerError | undefined;
  /**
   * Commits all changes since the last commit: the newest generation, with a snapshot of the warehouse.
   * Uploads nothing without a change. Concurrent calls share one commit, which begins after their calls.
   * @param how `isComplete`: new data is published first
   * @throws StaleOwnerError if another worker has claimed the workgroup
   * @throws TransientError if the bucket does not answer; then the next call commits the rest
   */
  commit(how: { isComplete: boolean }): Promise<BucketState>;
  /**
   * Looks for a commit of another owner, unless this process already knows the commit with this sequence. It
   * is called when somebody announces a commit. If nobody does, an owner that has nothing to commit looks
   * every 5 minutes.
   * @throws StaleOwnerError if another worker has claimed the workgroup, or somebody has restored an earlier
   *   commit
   */
  look(sequence: number): Promise<void>;
  /**
   * Adds a commit which says that the workgroup hibernates. To be called after a complete commit.
   * @throws as `commit` does
   */
  noteHibernation(idle: IdleNote): Promise<BucketState>;
  /** Commits the remaining changes, for at most 4 s, and stops. A failure is logged. */
  close(): Promise<void>;
}
