import type { Workgroups } from '../src/config/workgroups.ts';
import type { Logger } from '../src/lib/logger.ts';
import { type StartTimer, startSystemTimer } from '../src/lib/timer.ts';
import { assessShards } from './assess-shards.ts';
import type { OwnedShards } from './owned-shards.ts';
import type { ShardDemand } from './shard-demand.ts';
import type { StageName } from './stages.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';

/**
 * The reasons to open a closed shard: news of its stream, an export that is due, or an assessment that finds
 * something to do.
 */
export interface WakeUps {
  /** The stream of a workgroup has new messages. */
  noteNews(workgroupId: string): void;
  /** A stage is due. It runs at once if the shard is open here, otherwise as soon as it is. */
  noteDue(workgroupId: string, stage: StageName): void;
  /** The stages that were due before the shard was open. A second call does not return them again. */
  takeDue(workgroupId: string): readonly StageName[];
  /**
   * Assesses the closed shards of these workgroups, and asks for the shards that have something to do. To be
   * called regularly: news can be lost, and days change.
   */
  assess(workgroupIds: readonly string[]): Promise<void>;
}

/** A worker among the others. `only`: there is no other one. `full`: it has its share of the open shards. */
export type WorkerPlace = 'only' | 'below-share' | 'full';

interface WakeUpsOptions extends Pick<WorkerDependencies, 'hasNews' | 'assess'> {
  workgroups: Pick<Workgroups, 'get'>;
  ownedShards: Pick<OwnedShards, 'openLoop' | 'isOwned'>;
  demand: Pick<ShardDemand, 'want' | 'isWanted'>;
  /**
   * True if another worker has the shard open, or if the shard needs one. News and jobs reach that worker,
   * too.
   */
  isAwakeElsewhere(workgroupId: string): boolean;
  place(): WorkerPlace;
  startTimer?: StartTimer;
  logger: Logger;
}

/** A worker that has its share of the shards lets others be first. */
const LET_OTHERS_MS = 300;

export function createWakeUps(options: WakeUpsOptions): WakeUps {
  const { workgroups, ownedShards, demand, isAwakeElsewhere, startTimer = startSystemTimer } = options;
  const due = new Map<string, Set<StageName>>();

  const isConfigured = (workgroupId: string) => workgroups.get(workgroupId) !== undefined;

  function noteDue(workgroupId: string, stage: StageName): void {
    const shard = ownedShards.openLoop(workgroupId);
    if (shard) shard.noteDue(stage);
    else if (isConfigured(workgroupId) && !isAwakeElsewhere(workgroupId)) {
      due.set(workgroupId, (due.get(workgroupId) ?? new Set()).add(stage));
      demand.want(workgroupId, { isBrief: true });
    }
  }

  async function assess(workgroupIds: readonly string[]): Promise<void> {
    const closed = workgroupIds.filter(
      (id) => !ownedShards.isOwned(id) && !isAwakeElsewhere(id) && !demand.isWanted(id),
    );
    for (const [workgroupId, state] of await assessShards(closed, options)) {
      if (state === 'behind') demand.want(workgroupId);
      // A new day has begun, so the stage `maintain` deletes data that is too old now.
      if (state === 'due') noteDue(workgroupId, 'maintain');
    }
  }

  return {
    noteNews(workgroupId) {
      const shard = ownedShards.openLoop(workgroupId);
      if (shard) {
        shard.noteNews();
        return;
      }
      if (!isConfigured(workgroupId) || isAwakeElsewhere(workgroupId)) return;
      const place = options.place();
      if (ownedShards.isOwned(workgroupId) || place === 'only') demand.want(workgroupId);
      // Other workers get the same news. One of them can have read everything when this one assesses it.
      else if (place === 'below-share') void assess([workgroupId]);
      else startTimer(LET_OTHERS_MS, () => void assess([workgroupId]));
    },
    noteDue,
    takeDue(workgroupId) {
      const stages = [...(due.get(workgroupId) ?? [])];
      due.delete(workgroupId);
      return stages;
    },
    assess,
  };
}
