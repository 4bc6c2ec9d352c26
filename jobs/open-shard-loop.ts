import type { Config } from '../src/config/config.ts';
import type { Workgroups } from '../src/config/workgroups.ts';
import type { Logger } from '../src/lib/logger.ts';
import type { SteadyClock } from '../src/lib/time.ts';
import type { ShardLease } from './owned-shards.ts';
import { pacesOf } from './stage-table.ts';
import { type ShardLoop, startShardLoop } from './start-shard-loop.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

export interface OpenShardLoopOptions {
  workgroupId: string;
  /** The shard is needed for a moment only, for a job. */
  isBrief: boolean;
  lease: ShardLease;
  config: Pick<Config, 'pipeline'> & Partial<Pick<Config, 'storage' | 'stream'>>;
  workgroups: Pick<Workgroups, 'exportsOf'>;
  dependencies: WorkerDependencies;
  clock: SteadyClock;
  logger: Logger;
}

/** Opens the warehouse of a shard and starts its loop, with the paces that its configuration asks for. */
export async function openShardLoop(options: OpenShardLoopOptions): Promise<ShardLoop> {
  const { workgroupId, isBrief, lease, config, workgroups, dependencies, clock, logger } = options;
  await dependencies.openShard(workgroupId);
  const hasExports = workgroups.exportsOf(workgroupId).length > 0;
  const hasNews = dependencies.hasNews(workgroupId);
  const { pipeline, storage, stream } = config;
  // Other machines have only what the bucket or the stream has.
  const lateAfterMs = (stream?.retention ?? Number.POSITIVE_INFINITY) / 2;
  const commits = storage?.s3 && { maxPeriodMs: storage.commitEvery, lateAfterMs };
  const paces = pacesOf(pipeline, { hasExports, hasNews, commits });
  const { stages, onStageEnded } = dependencies;
  const listeners = { isLeaseValid: lease.isValid, onLost: lease.onLost, onStageEnded };
  return startShardLoop({ workgroupId, paces, stages, clock, logger, isBrief, ...listeners });
}
