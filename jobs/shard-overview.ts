import type { Leases, Survey } from './leases.ts';

/**
 * What this worker knows of the shards of all workers: the newest survey of the leases, and what it has
 * changed since.
 */
export interface ShardOverview {
  /** Surveys all leases. @param own the shards of this worker now */
  survey(own: readonly string[]): Promise<void>;
  newest(): Survey;
  /**
   * True if another worker had the shard open at the survey, or if the shard needed one. The shards that this
   * worker has taken since then count, too.
   */
  wasAwakeElsewhere(workgroupId: string): boolean;
  /** The share of this worker, rounded up. @param wanted shards that it has asked for */
  share(wanted: readonly string[]): number;
  noteHibernated(workgroupId: string): void;
  /** The store may have lost the leases. */
  forgetAwake(): void;
}

export function createShardOverview(leases: Pick<Leases, 'survey'>): ShardOverview {
  let newest: Survey = { workers: 1, awake: [], free: [] };
  let awake = new Set<string>();
  /** The survey names these shards as awake, even if this worker has closed them since then. */
  let ownAtSurvey = new Set<string>();

  return {
    async survey(own) {
      newest = await leases.survey();
      awake = new Set(newest.awake);
      ownAtSurvey = new Set(own);
    },
    newest: () => newest,
    wasAwakeElsewhere: (workgroupId) => awake.has(workgroupId) && !ownAtSurvey.has(workgroupId),
    share: (wanted) => Math.ceil(new Set([...awake, ...wanted]).size / Math.max(newest.workers, 1)),
    noteHibernated: (workgroupId) => void awake.delete(workgroupId),
    forgetAwake: () => awake.clear(),
  };
}
