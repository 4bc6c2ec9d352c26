import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../src/config/config.ts';
import { needsReopening, type Workgroups } from '../src/config/workgroups.ts';
import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { type Clock, MINUTE_MS, SECOND_MS, systemClock } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import { balanceShards, removeUnconfigured } from './balance-shards.ts';
import { schedulesOf } from './job-table.ts';
import { createOwnedShards } from './owned-shards.ts';
import { openBackend } from './queue-backend.ts';
import { isUnscheduled, startShard } from './shard-jobs.ts';
import type { Stages } from './stages.ts';
import { describeWorker, type WorkerHealth } from './worker-health.ts';

/** What the jobs work on. */
export interface WorkerDependencies {
  /**
   * A stage that throws the code `StaleOwner` has lost its shard to another worker. With `ShardNotOpen` or `PipelineEnded` the shard is opened again.
   */
  stages: Stages;
  /** Opens the shard and takes it over. Called before any stage of the workgroup. */
  openShard(workgroupId: string): Promise<void>;
  /** Closes the shard, after its running stages. Also for a shard that could not be opened. */
  closeShard(workgroupId: string): Promise<void>;
}

export interface RunningWorker {
  readonly workerId: string;
  health(): WorkerHealth;
  /** Stops everything and gives up the shards, within 13 s. Further calls wait for the same end. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  config: Pick<Config, 'queue' | 'dataDir' | 'pipeline'>;
  /** A changed workgroup is opened again, and a removed one is closed. */
  workgroups: Workgroups;
  dependencies: WorkerDependencies;
  logger: Logger;
  clock?: Clock;
  /** Leases are renewed five times within their duration. */
  leaseMs?: number;
}

const REVIEW_MS = MINUTE_MS;
/** Schedules are reviewed again after this time while ticks are missing. */
const REPAIR_MS = 15 * SECOND_MS;
/** Together well below the 20 s in which a process must end, because the HTTP server closes after the worker. */
const GIVE_UP_MS = 12 * SECOND_MS;
const CLOSE_MS = SECOND_MS;

/**
 * Works on this worker's share of the configured workgroups.
 * @throws TransientError if the queue's store is not reachable
 */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { config, workgroups, dependencies, logger, clock = systemClock } = options;
  const backend = await openBackend(options);
  const { workerId, leases } = backend;
  const idsNow = () => workgroups.list().map(({ id }) => id);
  const ownedShards = createOwnedShards({
    leases,
    clock,
    logger,
    close: dependencies.closeShard,
    async open(workgroupId, onLost) {
      await dependencies.openShard(workgroupId);
      const workgroup = workgroups.get(workgroupId)!;
      const exports = [...workgroups.exportsOf(workgroupId)];
      const schedules = schedulesOf(workgroup, { ...config, exports });
      const queue = backend.queue(workgroupId);
      return startShard({ queue, schedules, stages: dependencies.stages, clock, logger, onLost });
    },
  });
  const startedAtMs = clock.now();
  let lastRoundAtMs = startedAtMs;
  let reviewedAtMs = startedAtMs;
  let takesAfterMs = startedAtMs;

  async function round(): Promise<void> {
    await ownedShards.renew();
    await balanceShards(backend, ownedShards, {
      workgroupIds: idsNow(),
      mayTake: clock.now() >= takesAfterMs,
      logger,
    });
    lastRoundAtMs = clock.now();
    const shards = ownedShards.owned();
    const isRepairDue = shards.some((shard) => shard.health().some(isUnscheduled));
    if (lastRoundAtMs - reviewedAtMs >= (isRepairDue ? REPAIR_MS : REVIEW_MS)) {
      reviewedAtMs = lastRoundAtMs;
      for (const shard of shards) void shard.review();
      void tidy();
    }
  }

  async function tidy(): Promise<void> {
    try {
      await removeUnconfigured(backend, idsNow(), logger);
      await backend.tidy();
    } catch (error) {
      logger.warn({ error: errorMessage(error) }, 'queue.tidy-failed');
    }
  }

  backend.onRecovered(() => {
    // The store may have lost the leases. Owners get time to renew them before others take shards.
    takesAfterMs = clock.now() + leases.leaseMs;
    for (const shard of ownedShards.owned()) void shard.review();
  });

  // The next round takes a changed shard again.
  const stopFollowing = workgroups.onChange(({ changed, removed }) => {
    for (const { id } of removed) ownedShards.giveUp(id, 'removed');
    for (const one of changed.filter(needsReopening)) ownedShards.giveUp(one.after.id, 'reconfigured');
  });

  const stopping = new AbortController();
  async function turn(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      try {
        await round();
        failures = 0;
      } catch (error) {
        failures += 1;
        if (failures === 1) logger.warn({ error: errorMessage(error) }, 'worker.round-failed');
      }
      await sleep(leases.leaseMs / 5, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }
  const turning = turn();
  logger.info({ workerId, backend: backend.kind, workgroups: idsNow().length }, 'worker.started');

  async function stop(): Promise<void> {
    stopping.abort();
    stopFollowing();
    const gaveUp = turning
      .then(() => ownedShards.giveUpAll('worker-stops'))
      .then(() => leases.leave().catch(() => undefined));
    const ended = await withTimeout(gaveUp, GIVE_UP_MS);
    await withTimeout(backend.close(), CLOSE_MS).catch(() => undefined);
    logger.info({ workerId, late: ended === 'late' }, 'worker.stopped');
  }
  let stopped: Promise<void> | undefined;

  return {
    workerId,
    stop() {
      stopped ??= stop();
      return stopped;
    },
    health: () =>
      describeWorker(
        { backend, ownedShards, workgroupIds: idsNow() },
        { nowMs: clock.now(), startedAtMs, lastRoundAtMs },
      ),
  };
}
