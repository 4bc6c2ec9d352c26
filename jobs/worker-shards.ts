import type { Workgroups } from '../src/config/workgroups.ts';
import type { SteadyClock } from '../src/lib/time.ts';
import type { Leases } from './leases.ts';
import { type OpenShardLoopOptions, openShardLoop } from './open-shard-loop.ts';
import { createOwnedShards, type OwnedShards } from './owned-shards.ts';
import { createShardDemand, type ShardDemand } from './shard-demand.ts';
import { createShardOverview, type ShardOverview } from './shard-overview.ts';
import { createShardRoom, type ShardRoom } from './shard-room.ts';
import { createWakeUps, type WakeUps, type WorkerPlace } from './wake-ups.ts';
import { createWorkerStartup, type WorkerStartup } from './worker-startup.ts';

/** The shards of a worker: which it has, which it wants, and which others have. */
interface WorkerShards {
  overview: ShardOverview;
  ownedShards: OwnedShards;
  demand: ShardDemand;
  room: ShardRoom;
  wakeUps: WakeUps;
  startup: WorkerStartup;
  /** True if another worker has the shard open, or if the shard needs one. */
  isAwakeElsewhere(workgroupId: string): boolean;
  /** Takes no shards for the duration of a lease, unless a request waits for one. */
  pauseTaking(): void;
}

interface WorkerShardsOptions extends Pick<OpenShardLoopOptions, 'config' | 'dependencies' | 'logger'> {
  workgroups: Workgroups;
  leases: Leases;
  clock: SteadyClock;
}

/** Makes the parts of a worker that call each other. They do so when all of them exist. */
export function createWorkerShards(options: WorkerShardsOptions): WorkerShards {
  const { config, workgroups, dependencies, leases, clock, logger } = options;
  const { openWorkgroupsMax: openMax, hibernateAfter: hibernateAfterMs } = config.pipeline;
  const { hasNews, assess } = dependencies;
  const overview = createShardOverview(leases);
  const ownedShards = createOwnedShards({
    leases,
    clock,
    logger,
    close: dependencies.closeShard,
    mayHibernate: dependencies.mayHibernate,
    async onHibernated(workgroupId) {
      overview.noteHibernated(workgroupId);
      await dependencies.onHibernated(workgroupId);
    },
    async open(workgroupId, lease) {
      const isBrief = demand.isBrief(workgroupId);
      const loop = await openShardLoop({ ...options, workgroupId, isBrief, lease, clock });
      for (const stage of wakeUps.takeDue(workgroupId)) loop.noteDue(stage);
      return loop;
    },
  });
  const isAwakeElsewhere = (workgroupId: string) =>
    overview.wasAwakeElsewhere(workgroupId) && !ownedShards.isOwned(workgroupId);
  const place = (): WorkerPlace => {
    if (overview.newest().workers <= 1) return 'only';
    return ownedShards.remaining().length < overview.share(demand.wanted()) ? 'below-share' : 'full';
  };
  /** Before this time no shards are taken, because the store may not know the leases of other workers. */
  let takesAfterMs = clock.now();
  const demand = createShardDemand({
    ownedShards,
    mayTakeMore: () => clock.now() >= takesAfterMs && place() !== 'full',
    hasRoom: () => room.hasRoom(),
    onNothingWanted: () => startup.noteNothingWanted(),
  });
  const startup = createWorkerStartup(clock, () => demand.wanted().length > 0);
  const room = createShardRoom({
    ownedShards,
    openMax,
    hibernateAfterMs,
    clock,
    hasNews,
    // A shard that had to make room still needs a worker.
    onMadeRoom: demand.want,
    onRoom: demand.openWanted,
  });
  const wakeUps = createWakeUps({
    workgroups,
    ownedShards,
    demand,
    hasNews,
    assess,
    isAwakeElsewhere,
    place,
    logger,
  });

  return {
    overview,
    ownedShards,
    demand,
    room,
    wakeUps,
    startup,
    isAwakeElsewhere,
    pauseTaking() {
      takesAfterMs = clock.now() + leases.leaseMs;
    },
  };
}
