import type { Workgroups } from '../src/config/workgroups.ts';
import type { Logger } from '../src/lib/logger.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type SteadyClock, type UtcMs } from '../src/lib/time.ts';
import { balanceShards } from './balance-shards.ts';
import type { Handovers } from './handovers.ts';
import type { OwnedShards } from './owned-shards.ts';
import type { ShardDemand } from './shard-demand.ts';
import type { ShardOverview } from './shard-overview.ts';
import type { ShardRoom } from './shard-room.ts';

/**
 * What a worker does regularly: it renews its leases, and compares its shards with those of the other
 * workers.
 */
interface WorkerRound {
  /** @throws TransientError if the store of leases does not answer */
  run(): Promise<void>;
  /** When the last round renewed the leases, by the clock of the worker. */
  lastAtMs(): UtcMs;
}

interface WorkerRoundOptions {
  workgroups: Pick<Workgroups, 'get' | 'list'>;
  overview: ShardOverview;
  ownedShards: Pick<OwnedShards, 'renew' | 'isOwned' | 'remaining'>;
  demand: Pick<ShardDemand, 'want' | 'wanted' | 'drop' | 'openWanted'>;
  room: Pick<ShardRoom, 'hibernateIdleShards'>;
  handovers: Pick<Handovers, 'handOver'>;
  /** Begins in the background each minute, and when the clock of the machine was set. Never throws. */
  review: (how: { isClockSet: boolean }) => Promise<void>;
  clock: SteadyClock;
  /** The clock of the machine. */
  wallClock: Clock;
  logger: Logger;
}

const REVIEW_MS = MINUTE_MS;
/** If the clock of the machine is set by more than this, the schedules are reviewed at once. */
const CLOCK_SET_MS = 5 * SECOND_MS;

export function createWorkerRound(options: WorkerRoundOptions): WorkerRound {
  const { workgroups, overview, ownedShards, demand, room, handovers, review, clock, logger } = options;
  const isClockSetNow = watchClock(options);
  let lastAtMs = clock.now();
  let reviewedAtMs = lastAtMs;

  /** Asks for the shards that nobody has, and stops asking for shards that another worker has. */
  function updateDemand(): void {
    const { free: freeIds, awake: awakeIds } = overview.newest();
    const [free, awake] = [new Set(freeIds), new Set(awakeIds)];
    for (const id of free) if (workgroups.get(id) && !ownedShards.isOwned(id)) demand.want(id);
    for (const id of demand.wanted())
      if (awake.has(id) && !free.has(id) && !ownedShards.isOwned(id)) demand.drop(id);
  }

  return {
    async run() {
      await ownedShards.renew();
      const ids = workgroups.list().map(({ id }) => id);
      await overview.survey(ids.filter(ownedShards.isOwned));
      updateDemand();
      const handOver = (id: string, shareMax: number) => void handovers.handOver(id, 'handed-over', shareMax);
      balanceShards(ownedShards.remaining(), { survey: overview.newest(), handOver, logger });
      lastAtMs = clock.now();
      demand.openWanted();
      room.hibernateIdleShards();
      const isClockSet = isClockSetNow();
      if (!isClockSet && lastAtMs - reviewedAtMs < REVIEW_MS) return;
      reviewedAtMs = lastAtMs;
      void review({ isClockSet });
    },
    lastAtMs: () => lastAtMs,
  };
}

/** @returns a function that says if the clock of the machine was set since its last call */
function watchClock({
  clock,
  wallClock,
  logger,
}: Pick<WorkerRoundOptions, 'clock' | 'wallClock' | 'logger'>): () => boolean {
  const measureLeadMs = () => wallClock.now() - clock.now();
  let leadMs = measureLeadMs();
  return () => {
    const newLeadMs = measureLeadMs();
    const setByMs = newLeadMs - leadMs;
    leadMs = newLeadMs;
    const isSet = Math.abs(setByMs) > CLOCK_SET_MS;
    if (isSet) logger.warn({ byMs: Math.round(setByMs) }, 'worker.clock-set');
    return isSet;
  };
}
