import type { StageRun, StageWork } from './stages.ts';

/**
 * The state of a closed shard. `behind`: it must be opened, because it has something to do or was not closed
 * cleanly. `due`: another day has begun or is final, so it must be opened for a moment. `idle`: it has
 * nothing to do. `new`: it has no message and no warehouse.
 */
export type ClosedShardState = 'behind' | 'due' | 'idle' | 'new';

/** The objects that the stages work on. */
export interface WorkerDependencies {
  /**
   * A stage that throws the code `StaleOwner` has lost its shard to another worker. With `ShardNotOpen` or
   * `PipelineEnded` the shard is opened again.
   */
  stages: StageWork;
  /**
   * Fetches the warehouse of a shard that another worker is about to release. Claims nothing. Undefined if
   * there is nothing to fetch.
   */
  prepare?: (workgroupId: string) => Promise<void>;
  /** Removes the fetched files, unless they are used. */
  discard?: (workgroupId: string) => Promise<void>;
  /** Opens the shard and takes it over. Called before any stage of the workgroup. */
  openShard(workgroupId: string): Promise<void>;
  /** Closes the shard, after its running stages. Also for a shard that could not be opened. */
  closeShard(workgroupId: string): Promise<void>;
  /**
   * True if news of the stream of the workgroup reaches `noteNews`. Otherwise the stream is polled, and the
   * shard stays open.
   */
  hasNews(workgroupId: string): boolean;
  /** The state of a closed shard. */
  assess(workgroupId: string): Promise<ClosedShardState>;
  /** True if an idle shard has everything of its stream, and the lake everything of the shard. */
  mayHibernate(workgroupId: string): Promise<boolean>;
  /** Called when an idle shard was closed, before another worker can open it. */
  onHibernated(workgroupId: string): Promise<void>;
  /** Called after each run of a stage. */
  onStageEnded?: (run: StageRun) => void;
}
