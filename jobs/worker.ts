import type { Config } from '../src/config/config.ts';
import { needsReopening, type Workgroups } from '../src/config/workgroups.ts';
import { tryParseJson } from '../src/lib/json-text.ts';
import type { Logger } from '../src/lib/logger.ts';
import { type Clock, SECOND_MS, steadyClockOf, systemClock, type UtcMs } from '../src/lib/time.ts';
import { parseHandoverMessage } from './handover-message.ts';
import { createHandovers, type Handovers } from './handovers.ts';
import type { OwnedShards } from './owned-shards.ts';
import { openBackend } from './queue-backend.ts';
import { runRounds } from './run-rounds.ts';
import type { ShardDemand } from './shard-demand.ts';
import { jobSchema } from './stages.ts';
import { stopWorker } from './stop-worker.ts';
import type { WakeUps } from './wake-ups.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';
import { describeWorker, type WorkerHealth } from './worker-health.ts';
import { createWorkerJobs, type WorkerJobs } from './worker-jobs.ts';
import { createWorkerReview } from './worker-review.ts';
import { createWorkerRound } from './worker-round.ts';
import { createWorkerShards } from './worker-shards.ts';

export interface RunningWorker {
  readonly workerId: string;
  health(): WorkerHealth;
  /** The stream of a workgroup has new messages. */
  noteNews(workgroupId: string): void;
  /** Data of a workgroup was stored, so it must be rolled up and published. */
  noteChange(workgroupId: string): void;
  /** See `OwnedShards.isNowhereElse`. */
  holds(workgroupId: string): boolean;
  /** True if a request may open the shard here. False if another worker has it. */
  canWake(workgroupId: string): boolean;
  /**
   * Opens the shard if nobody has it open.
   * @returns false if another worker has it, or if it cannot be opened now
   */
  wake(workgroupId: string): Promise<boolean>;
  /** Stops everything and gives up the shards, within 16 s. Further calls wait for the same end. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  config: Pick<Config, 'queue' | 'dataDir' | 'pipeline'> & Partial<Pick<Config, 'storage' | 'stream'>>;
  /** A changed workgroup is opened again, and a removed one is closed. */
  workgroups: Workgroups;
  dependencies: WorkerDependencies;
  logger: Logger;
  /** The clock of the machine. Delays and ages use the time that has passed on it. */
  clock?: Clock;
  /** Leases are renewed five times within their duration. */
  leaseMs?: number;
  /** The longest time for giving up the shards when the worker stops. For tests. Default: 14 s. */
  giveUpMs?: number;
}

/**
 * A process must end within 20 s. This time, the closing of the queue and then the closing of the HTTP server
 * must fit into it.
 */
const GIVE_UP_MS = 14 * SECOND_MS;
/** The lead of the clock is rounded to this. */
const LEAD_STEP_MS = 100;

/**
 * Works on this worker's share of the configured workgroups that have something to do. The others hibernate.
 * @throws TransientError if the queue's store is not reachable
 */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { config, workgroups, dependencies, logger, clock: wallClock = systemClock } = options;
  const clock = steadyClockOf(wallClock);
  const { prepare, discard } = dependencies;
  const openMax = config.pipeline.openWorkgroupsMax;
  const backend = await openBackend(options);
  const { workerId, leases, channel } = backend;
  const idsNow = () => workgroups.list().map(({ id }) => id);
  const isConfigured = (workgroupId: string) => workgroups.get(workgroupId) !== undefined;
  /** Set when the worker stops. */
  let stopping: Promise<void> | undefined;

  const shards = createWorkerShards({ ...options, leases, clock });
  const { overview, ownedShards, demand, room, startup, wakeUps, isAwakeElsewhere } = shards;
  const jobs = createWorkerJobs({ backend, workgroups, ownedShards, wakeUps, clock: wallClock, logger });
  const mayOpen = (workgroupId: string) => isConfigured(workgroupId) && !stopping;
  const handovers = createHandovers({
    workerId,
    leases,
    channel,
    prepare,
    discard,
    ownedShards,
    openMax,
    mayOpen,
    logger,
  });
  const review = createWorkerReview({ backend, workgroups, overview, jobs, wakeUps, startup, logger });
  const round = createWorkerRound({
    ...{ workgroups, overview, ownedShards, demand, room, handovers, clock, wallClock, logger },
    review: review.run,
  });

  channel.onTold((text) => hear(text, { handovers, wakeUps }));
  backend.onRecovered(() => {
    // The store may have lost the leases. Owners get time to renew them before others take shards.
    shards.pauseTaking();
    overview.forgetAwake();
    void review.run({ isClockSet: false });
  });
  const stopFollowing = followWorkgroups(workgroups, { ownedShards, demand, wakeUps, jobs });
  const rounds = runRounds(round.run, { everyMs: leases.leaseMs / 5, logger });
  // A worker that stops has released a workgroup, so nobody waits for the next round.
  channel.onReleased(rounds.hurry);
  const reviewed = review.assessAll().then(() => jobs.review());
  logger.info({ workerId, backend: backend.kind, workgroups: idsNow().length }, 'worker.started');

  function stop(): Promise<void> {
    const roundsEnded = rounds.stop();
    stopFollowing();
    for (const part of [demand, room, handovers]) part.stop();
    const closeJobs = () => reviewed.then(() => jobs.close());
    const { giveUpMs = GIVE_UP_MS } = options;
    return stopWorker({ backend, ownedShards, handovers, roundsEnded, closeJobs, giveUpMs, logger });
  }

  return {
    workerId,
    noteNews: wakeUps.noteNews,
    noteChange: (workgroupId) => ownedShards.openLoop(workgroupId)?.noteChange(),
    holds: ownedShards.isNowhereElse,
    canWake: (workgroupId) => isConfigured(workgroupId) && !isAwakeElsewhere(workgroupId),
    async wake(workgroupId) {
      if (!isConfigured(workgroupId)) return false;
      const loop = await demand.wake(workgroupId);
      loop?.noteUse();
      return loop !== undefined;
    },
    stop() {
      stopping ??= stop();
      return stopping;
    },
    health() {
      const nowMs = clock.now();
      const { startedAtMs, isStarting } = startup;
      const seen = { isAwakeElsewhere, isQueued: demand.isWanted, isStarting: isStarting() };
      return describeWorker(
        { backend, ownedShards, workgroupIds: idsNow(), ...seen },
        { nowMs, wallLeadMs: clockLeadMs(wallClock, nowMs), startedAtMs, lastRoundAtMs: round.lastAtMs() },
      );
    },
  };
}

/**
 * The time by which the clock of the machine was set forward (ms). It is measured for each answer. It is
 * rounded, so that an instant of the past is the same in all answers.
 */
function clockLeadMs(wallClock: Clock, nowMs: UtcMs): number {
  return Math.round((wallClock.now() - nowMs) / LEAD_STEP_MS) * LEAD_STEP_MS;
}

/**
 * A message of another worker: about a handover, or a job that is due here. Other programs can use the same
 * Redis.
 */
function hear(text: string, { handovers, wakeUps }: { handovers: Handovers; wakeUps: WakeUps }): void {
  const content = tryParseJson(text);
  const message = parseHandoverMessage(content);
  if (message) handovers.onMessage(message);
  const { data: job } = jobSchema.safeParse(content);
  if (job) wakeUps.noteDue(job.workgroupId, job.stage);
}

/**
 * Follows changes of the configuration. A changed workgroup is computed again with its new settings, even if
 * it hibernated.
 * @returns stops following
 */
function followWorkgroups(
  workgroups: Workgroups,
  parts: { ownedShards: OwnedShards; demand: ShardDemand; wakeUps: WakeUps; jobs: WorkerJobs },
): () => void {
  const { ownedShards, demand, wakeUps, jobs } = parts;
  return workgroups.onChange(({ added, changed, removed, alerts }) => {
    for (const { id } of removed) {
      demand.drop(id);
      ownedShards.giveUp(id, 'removed');
    }
    for (const change of changed.filter(needsReopening)) {
      ownedShards.giveUp(change.after.id, 'reconfigured');
      demand.want(change.after.id);
    }
    // Changed alerts can cover a workgroup that hibernates, so all workgroups are assessed again.
    void wakeUps.assess((alerts ? workgroups.list() : added).map(({ id }) => id));
    void jobs.review();
  });
}
