import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../src/config/config.ts';
import { needsReopening, type Workgroups } from '../src/config/workgroups.ts';
import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { type Clock, MINUTE_MS, SECOND_MS, steadyClockOf, systemClock } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import { assessShards } from './assess-shards.ts';
import { balanceShards } from './balance-shards.ts';
import { createDueJobs } from './due-jobs.ts';
import { parseHandoverMessage } from './handover-message.ts';
import { createHandovers } from './handovers.ts';
import type { JobOutcome } from './job-queue.ts';
import { jobSchedules, pacesOf } from './job-table.ts';
import type { Survey } from './lease.ts';
import { createOwnedShards } from './owned-shards.ts';
import { openBackend } from './queue-backend.ts';
import { createShardDemand } from './shard-demand.ts';
import { createShardRoom } from './shard-room.ts';
import type { Job, StageName } from './stages.ts';
import { type ShardLoop, startShard } from './start-shard.ts';
import type { ClosedShardState, WorkerDependencies } from './worker-dependencies.ts';
import { describeWorker, type WorkerHealth } from './worker-health.ts';

export interface RunningWorker {
  readonly workerId: string;
  health(): WorkerHealth;
  /** The stream of a workgroup has new messages. */
  noteNews(workgroupId: string): void;
  /** Data of a workgroup was stored, so it must be rolled up and published. */
  noteChange(workgroupId: string): void;
  /** See `OwnedShards.holds`. */
  holds(workgroupId: string): boolean;
  /** True if a request may open the shard here. False if another worker has it. */
  canWake(workgroupId: string): boolean;
  /** Opens the shard if nobody has it open. @returns false if another worker has it, or if it cannot be opened now */
  wake(workgroupId: string): Promise<boolean>;
  /** Stops everything and gives up the shards, within 13 s. Further calls wait for the same end. */
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
}

const REVIEW_MS = MINUTE_MS;
/** If the clock of the machine is set by more than this, the schedules are reviewed at once. */
const CLOCK_SET_MS = 5 * SECOND_MS;
/** Together well below the 20 s in which a process must end, because the HTTP server closes after the worker. */
const GIVE_UP_MS = 12 * SECOND_MS;
const CLOSE_MS = SECOND_MS;
/** After this time a worker counts as started. Shards that are still queued are opened by a request at once. */
const STARTING_MS_MAX = 8 * SECOND_MS;
/** Many workgroups can be released one after another. */
const ROUND_MS_MIN = 100;
/** A worker that has its share of the shards lets others be first. */
const LET_OTHERS_MS = 300;

/**
 * Works on this worker's share of the configured workgroups: those that have something to do. The others hibernate.
 * @throws TransientError if the queue's store is not reachable
 */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { config, workgroups, dependencies, logger, clock: wallClock = systemClock } = options;
  const clock = steadyClockOf(wallClock);
  const { pipeline } = config;
  const backend = await openBackend(options);
  const { workerId, leases, channel } = backend;
  const idsNow = () => workgroups.list().map(({ id }) => id);
  const configured = { has: (workgroupId: string) => workgroups.get(workgroupId) !== undefined };
  /** Stages that are due as soon as the shard is open. */
  const due = new Map<string, Set<StageName>>();
  let survey: Survey = { workers: 1, awake: [], free: [] };
  let awake = new Set<string>();
  let takesAfterMs = clock.now();

  const ownedShards = createOwnedShards({
    leases,
    clock,
    logger,
    close: dependencies.closeShard,
    mayHibernate: dependencies.mayHibernate,
    async onHibernated(workgroupId) {
      awake.delete(workgroupId);
      await dependencies.onHibernated(workgroupId);
    },
    async open(workgroupId, { isValid: isLeaseValid, onLost }) {
      const isBrief = demand.isBrief(workgroupId);
      await dependencies.openShard(workgroupId);
      const hasExports = workgroups.exportsOf(workgroupId).length > 0;
      const hasNews = dependencies.hasNews(workgroupId);
      const { storage, stream } = config;
      // Other machines have only what the bucket or the stream has.
      const lateAfterMs = (stream?.retention ?? Number.POSITIVE_INFINITY) / 2;
      const commits = storage?.s3 && { everyMs: storage.commitEvery, lateAfterMs };
      const paces = pacesOf(pipeline, { hasExports, hasNews, commits });
      const { stages, onStageEnded } = dependencies;
      const listeners = { isLeaseValid, onLost, onStageEnded };
      const shard = startShard({ workgroupId, paces, stages, clock, logger, isBrief, ...listeners });
      for (const stage of due.get(workgroupId) ?? []) shard.noteDue(stage);
      due.delete(workgroupId);
      return shard;
    },
  });
  const room = createShardRoom({
    ownedShards,
    openMax: pipeline.openShardsMax,
    hibernateAfterMs: pipeline.hibernateAfter,
    mayHibernate: dependencies.hasNews,
    // A shard that had to make room still needs a worker.
    onMadeRoom: (workgroupId) => demand.want(workgroupId),
    onRoom: () => demand.pump(),
  });
  const shareOf = () => {
    const needed = new Set([...awake, ...demand.wanted()]);
    return Math.ceil(needed.size / Math.max(survey.workers, 1));
  };
  const demand = createShardDemand({
    ownedShards,
    mayTakeMore: () =>
      clock.now() >= takesAfterMs && (survey.workers <= 1 || ownedShards.kept().length < shareOf()),
    hasRoom: room.hasRoom,
  });
  const startedAtMs = clock.now();
  let lastRoundAtMs = startedAtMs;
  let reviewedAtMs = startedAtMs;
  let clockLeadMs = wallClock.now() - clock.now();
  let isStarting = true;
  const lookIfStarted = (): boolean => {
    const isLate = clock.now() - startedAtMs >= STARTING_MS_MAX;
    if (isAssessed && (isLate || demand.wanted().length === 0)) isStarting = false;
    return isStarting;
  };
  let isAssessed = false;

  async function round(): Promise<void> {
    await ownedShards.renew();
    survey = await leases.survey();
    awake = new Set(survey.awake);
    const free = new Set(survey.free);
    for (const workgroupId of free)
      if (configured.has(workgroupId) && !ownedShards.has(workgroupId)) demand.want(workgroupId);
    for (const workgroupId of demand.wanted())
      if (awake.has(workgroupId) && !free.has(workgroupId) && !ownedShards.has(workgroupId))
        demand.drop(workgroupId);
    const handOver = (id: string, shareMax: number) => void handovers.handOver(id, 'handed-over', shareMax);
    balanceShards(ownedShards.kept(), { survey, handOver, logger });
    lastRoundAtMs = clock.now();
    demand.pump();
    room.tend();
    const leadMs = wallClock.now() - clock.now();
    const isClockSet = Math.abs(leadMs - clockLeadMs) > CLOCK_SET_MS;
    if (isClockSet) logger.warn({ byMs: Math.round(leadMs - clockLeadMs) }, 'worker.clock-set');
    clockLeadMs = leadMs;
    if (isClockSet || lastRoundAtMs - reviewedAtMs >= REVIEW_MS) {
      reviewedAtMs = lastRoundAtMs;
      void review(isClockSet);
    }
  }

  /** @param isClockSet jobs between the old and the new time may be missed, so everything is looked at */
  async function review(isClockSet: boolean): Promise<void> {
    await dueJobs.review();
    if (isClockSet) for (const { job } of schedules()) await handle(job).catch(() => undefined);
    await assessAll();
    try {
      for (const workgroupId of survey.free)
        if (!configured.has(workgroupId)) await leases.forget(workgroupId);
      await backend.tidy();
    } catch (error) {
      logger.warn({ error: errorMessage(error) }, 'queue.tidy-failed');
    }
  }

  /** Looks for closed shards that have something to do. News can be lost. */
  async function assessAll(): Promise<void> {
    await wantBehind(idsNow());
    isAssessed = true;
  }

  async function wantBehind(workgroupIds: readonly string[]): Promise<void> {
    const states = await assessClosed(workgroupIds);
    for (const [workgroupId, state] of states) if (state === 'behind') demand.want(workgroupId);
  }

  /** The states of these workgroups, without those that are open or wanted. */
  async function assessClosed(workgroupIds: readonly string[]): Promise<Map<string, ClosedShardState>> {
    const closed = workgroupIds.filter(
      (id) => !ownedShards.has(id) && !awake.has(id) && !demand.isWanted(id),
    );
    return assessShards(closed, { ...dependencies, logger });
  }

  const schedules = () => {
    const all = workgroups.list();
    const exports = all.flatMap(({ id }) => workgroups.exportsOf(id));
    return jobSchedules({ workgroups: all, pipeline, exports });
  };

  async function handle(job: Job): Promise<JobOutcome> {
    if (job.stage === 'maintain') {
      const ids = workgroups.list().flatMap(({ id, timezone }) => (timezone === job.timeZone ? [id] : []));
      const states = await assessClosed(ids);
      for (const id of ids) if (states.get(id) !== 'new') noteDue(id, job);
      return 'here';
    }
    const { workgroupId } = job;
    const owner = ownedShards.has(workgroupId) ? workerId : await leases.ownerOf(workgroupId);
    if (owner !== undefined && owner !== workerId && (await channel.tell(owner, JSON.stringify(job))))
      return 'elsewhere';
    noteDue(workgroupId, job);
    return 'here';
  }

  function noteDue(workgroupId: string, { stage }: Job): void {
    const shard = ownedShards.find(workgroupId);
    if (shard) shard.noteDue(stage);
    else if (configured.has(workgroupId) && (ownedShards.has(workgroupId) || !awake.has(workgroupId))) {
      due.set(workgroupId, (due.get(workgroupId) ?? new Set()).add(stage));
      demand.want(workgroupId, true);
    }
  }

  function noteNews(workgroupId: string): void {
    const shard = ownedShards.find(workgroupId);
    if (shard) {
      shard.noteNews();
      return;
    }
    if (!configured.has(workgroupId)) return;
    const isOwn = ownedShards.has(workgroupId);
    // Another worker has it, and gets the news too.
    if (!isOwn && awake.has(workgroupId)) return;
    if (isOwn || survey.workers <= 1) {
      demand.want(workgroupId);
      return;
    }
    // Another worker gets the same news. It can have read everything when this one looks.
    const isBelowShare = ownedShards.kept().length < shareOf();
    if (isBelowShare) void wantBehind([workgroupId]);
    else setTimeout(() => void wantBehind([workgroupId]), LET_OTHERS_MS).unref();
  }

  const dueJobs = createDueJobs({
    openQueue: backend.openQueue,
    isOpenedLate: backend.kind === 'pglite',
    schedules,
    handle,
    clock: wallClock,
    logger,
  });

  const handovers = createHandovers({
    workerId,
    leases,
    channel,
    prepare: dependencies.prepare,
    discard: dependencies.discard,
    ownedShards,
    openMax: pipeline.openShardsMax,
    mayOpen: (workgroupId) => configured.has(workgroupId) && !stopping.signal.aborted,
    logger,
  });

  /** Hands over to the other workers, if there are any. */
  async function handOverAll(): Promise<void> {
    const { workers, awake: all } = await leases.survey();
    // The others take the workgroups of this worker as soon as they are released.
    await leases.leave();
    if (workers <= 1) return;
    const shareMax = Math.ceil(all.length / (workers - 1));
    await Promise.all(ownedShards.kept().map((id) => handovers.handOver(id, 'worker-stops', shareMax)));
  }

  channel.onTold((text) => {
    const told: unknown = JSON.parse(text);
    const message = parseHandoverMessage(told);
    if (message) handovers.onMessage(message);
    const job = told as Job;
    if (job.stage === 'export') noteDue(job.workgroupId, job);
  });
  backend.onRecovered(() => {
    // The store may have lost the leases. Owners get time to renew them before others take shards.
    takesAfterMs = clock.now() + leases.leaseMs;
    awake.clear();
    void review(false);
  });

  // A changed workgroup is computed again with its new settings, also if it hibernated.
  const stopFollowing = workgroups.onChange(({ added, changed, removed, alerts }) => {
    for (const { id } of removed) {
      demand.drop(id);
      ownedShards.giveUp(id, 'removed');
    }
    for (const one of changed.filter(needsReopening)) {
      ownedShards.giveUp(one.after.id, 'reconfigured');
      demand.want(one.after.id);
    }
    // A workgroup that hibernates can be one that alerts cover now.
    void wantBehind(alerts ? idsNow() : added.map(({ id }) => id));
    void dueJobs.review();
  });

  const stopping = new AbortController();
  let hurry = new AbortController();
  // A worker that stops has released a workgroup, so nobody waits for the next round.
  channel.onReleased(() => hurry.abort());

  async function turn(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      hurry = new AbortController();
      try {
        await round();
        failures = 0;
      } catch (error) {
        failures += 1;
        if (failures === 1) logger.warn({ error: errorMessage(error) }, 'worker.round-failed');
      }
      await pause(ROUND_MS_MIN, stopping.signal);
      await pause(leases.leaseMs / 5 - ROUND_MS_MIN, AbortSignal.any([stopping.signal, hurry.signal]));
    }
  }
  const turning = turn();
  const assessed = assessAll();
  const reviewed = assessed.then(() => dueJobs.review());
  logger.info({ workerId, backend: backend.kind, workgroups: idsNow().length }, 'worker.started');

  async function stop(): Promise<void> {
    stopping.abort();
    stopFollowing();
    demand.stop();
    room.stop();
    handovers.stop();
    const renewing = setInterval(() => void ownedShards.renew(), leases.leaseMs / 5);
    const gaveUp = turning
      .then(() => handOverAll().catch(() => undefined))
      .then(() => ownedShards.giveUpAll('worker-stops'));
    const ended = await withTimeout(gaveUp, GIVE_UP_MS);
    clearInterval(renewing);
    await withTimeout(
      reviewed.then(() => dueJobs.close()),
      CLOSE_MS,
    ).catch(() => undefined);
    await withTimeout(backend.close(), CLOSE_MS).catch(() => undefined);
    logger.info({ workerId, late: ended === 'late' }, 'worker.stopped');
  }
  let stopped: Promise<void> | undefined;

  return {
    workerId,
    noteNews,
    noteChange(workgroupId) {
      ownedShards.find(workgroupId)?.noteChange();
    },
    holds: ownedShards.holds,
    canWake: (workgroupId) =>
      configured.has(workgroupId) && (ownedShards.has(workgroupId) || !awake.has(workgroupId)),
    async wake(workgroupId) {
      if (!configured.has(workgroupId)) return false;
      const shard: ShardLoop | undefined = await demand.wake(workgroupId);
      shard?.noteUse();
      return shard !== undefined;
    },
    stop() {
      stopped ??= stop();
      return stopped;
    },
    health: () =>
      describeWorker(
        {
          backend,
          ownedShards,
          workgroupIds: idsNow(),
          isAwake: (id) => awake.has(id),
          isQueued: demand.isWanted,
          isStarting: lookIfStarted(),
        },
        { nowMs: clock.now(), wallLeadMs: wallClock.now() - clock.now(), startedAtMs, lastRoundAtMs },
      ),
  };
}

/** Waits until the time is over or the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, ms), undefined, { signal }).catch(() => undefined);
}
