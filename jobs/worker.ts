import type { Config } from '../src/config/config.ts';
import { needsReopening, type Workgroups } from '../src/config/workgroups.ts';
import { errorMessage } from '../src/lib/errors.ts';
import { tryParseJson } from '../src/lib/json-text.ts';
import type { Logger } from '../src/lib/logger.ts';
import { type Clock, MINUTE_MS, SECOND_MS, steadyClockOf, systemClock } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import { balanceShards } from './balance-shards.ts';
import { createDueJobs } from './due-jobs.ts';
import { parseHandoverMessage } from './handover-message.ts';
import { createHandovers } from './handovers.ts';
import type { JobOutcome } from './job-queue.ts';
import { jobSchedules } from './job-schedules.ts';
import type { Survey } from './lease.ts';
import { createOwnedShards } from './owned-shards.ts';
import { openBackend } from './queue-backend.ts';
import { runRounds } from './run-rounds.ts';
import { createShardDemand } from './shard-demand.ts';
import { createShardRoom } from './shard-room.ts';
import { pacesOf } from './stage-table.ts';
import { type Job, jobSchema } from './stages.ts';
import { type ShardLoop, startShard } from './start-shard.ts';
import { createWakeUps } from './wake-ups.ts';
import type { WorkerDependencies } from './worker-dependencies.ts';
import { describeWorker, type WorkerHealth } from './worker-health.ts';

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
  /** Opens the shard if nobody has it open. @returns false if another worker has it, or if it cannot be opened now */
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

const REVIEW_MS = MINUTE_MS;
/** If the clock of the machine is set by more than this, the schedules are reviewed at once. */
const CLOCK_SET_MS = 5 * SECOND_MS;
/** Together well below the 20 s in which a process must end, because the HTTP server closes after the worker. */
const GIVE_UP_MS = 14 * SECOND_MS;
const QUEUE_CLOSE_TIMEOUT_MS = SECOND_MS;
/** After this time a worker counts as started. Shards that are still queued are opened by a request at once. */
const STARTING_MS_MAX = 8 * SECOND_MS;
/**
 * Works on this worker's share of the configured workgroups: those that have something to do. The others hibernate.
 * @throws TransientError if the queue's store is not reachable
 */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { config, workgroups, dependencies, logger, clock: wallClock = systemClock } = options;
  const { giveUpMs = GIVE_UP_MS } = options;
  const clock = steadyClockOf(wallClock);
  const { pipeline } = config;
  const backend = await openBackend(options);
  const { workerId, leases, channel } = backend;
  const idsNow = () => workgroups.list().map(({ id }) => id);
  const configured = { has: (workgroupId: string) => workgroups.get(workgroupId) !== undefined };
  let survey: Survey = { workers: 1, awake: [], free: [] };
  let awake = new Set<string>();
  /** The shards of this worker when the last survey began. The survey names them as awake, even if this worker has closed them since. */
  let ownAtSurvey = new Set<string>();
  const isAwakeElsewhere = (workgroupId: string) =>
    awake.has(workgroupId) && !ownAtSurvey.has(workgroupId) && !ownedShards.isOwned(workgroupId);
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
      for (const stage of wakeUps.takeDue(workgroupId)) shard.noteDue(stage);
      return shard;
    },
  });
  const room = createShardRoom({
    ownedShards,
    openMax: pipeline.openWorkgroupsMax,
    hibernateAfterMs: pipeline.hibernateAfter,
    hasNews: dependencies.hasNews,
    // A shard that had to make room still needs a worker.
    onMadeRoom: (workgroupId) => demand.want(workgroupId),
    onRoom: () => demand.pump(),
  });
  const shareOf = () => {
    const needed = new Set([...awake, ...demand.wanted()]);
    return Math.ceil(needed.size / Math.max(survey.workers, 1));
  };
  const isBelowShare = () => ownedShards.remaining().length < shareOf();
  const demand = createShardDemand({
    ownedShards,
    mayTakeMore: () => clock.now() >= takesAfterMs && (survey.workers <= 1 || isBelowShare()),
    hasRoom: room.hasRoom,
  });
  const wakeUps = createWakeUps({
    workgroups,
    ownedShards,
    demand,
    hasNews: dependencies.hasNews,
    assess: dependencies.assess,
    isAwakeElsewhere,
    room: () => (survey.workers <= 1 ? 'only' : isBelowShare() ? 'below-share' : 'full'),
    logger,
  });
  const startedAtMs = clock.now();
  let lastRoundAtMs = startedAtMs;
  let reviewedAtMs = startedAtMs;
  let clockLeadMs = wallClock.now() - clock.now();
  let isStarting = true;
  let isStopping = false;
  /** All closed shards were looked at once. */
  let isAssessed = false;
  const lookIfStarted = (): boolean => {
    const isLate = clock.now() - startedAtMs >= STARTING_MS_MAX;
    if (isAssessed && (isLate || demand.wanted().length === 0)) isStarting = false;
    return isStarting;
  };

  async function round(): Promise<void> {
    await ownedShards.renew();
    const own = new Set(idsNow().filter(ownedShards.isOwned));
    survey = await leases.survey();
    awake = new Set(survey.awake);
    ownAtSurvey = own;
    const free = new Set(survey.free);
    for (const workgroupId of free)
      if (configured.has(workgroupId) && !ownedShards.isOwned(workgroupId)) demand.want(workgroupId);
    for (const workgroupId of demand.wanted())
      if (awake.has(workgroupId) && !free.has(workgroupId) && !ownedShards.isOwned(workgroupId))
        demand.drop(workgroupId);
    const handOver = (id: string, shareMax: number) => void handovers.handOver(id, 'handed-over', shareMax);
    balanceShards(ownedShards.remaining(), { survey, handOver, logger });
    lastRoundAtMs = clock.now();
    demand.pump();
    room.tend();
    const leadMs = wallClock.now() - clock.now();
    const isClockSet = Math.abs(leadMs - clockLeadMs) > CLOCK_SET_MS;
    if (isClockSet) logger.warn({ byMs: Math.round(leadMs - clockLeadMs) }, 'worker.clock-set');
    clockLeadMs = leadMs;
    if (isClockSet || lastRoundAtMs - reviewedAtMs >= REVIEW_MS) {
      reviewedAtMs = lastRoundAtMs;
      void review({ isClockSet });
    }
  }

  /** If the clock was set, jobs between the old and the new time may be missed, so everything is looked at. */
  async function review({ isClockSet }: { isClockSet: boolean }): Promise<void> {
    await dueJobs.review();
    if (isClockSet) for (const { job } of schedules()) await handle(job).catch(() => undefined);
    await lookAtAll();
    try {
      for (const workgroupId of survey.free)
        if (!configured.has(workgroupId)) await leases.forget(workgroupId);
      await backend.tidy();
    } catch (error) {
      logger.warn({ error: errorMessage(error) }, 'queue.tidy-failed');
    }
  }

  async function lookAtAll(): Promise<void> {
    await wakeUps.lookAt(idsNow());
    isAssessed = true;
  }

  const schedules = () => {
    const all = workgroups.list();
    const exports = all.flatMap(({ id }) => workgroups.exportsOf(id));
    return jobSchedules({ workgroups: all, exports });
  };

  async function handle(job: Job): Promise<JobOutcome> {
    const { workgroupId, stage } = job;
    const owner = ownedShards.isOwned(workgroupId) ? workerId : await leases.ownerOf(workgroupId);
    if (owner !== undefined && owner !== workerId && (await channel.tell(owner, JSON.stringify(job))))
      return 'elsewhere';
    wakeUps.noteDue(workgroupId, stage);
    return 'here';
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
    openMax: pipeline.openWorkgroupsMax,
    mayOpen: (workgroupId) => configured.has(workgroupId) && !isStopping,
    logger,
  });

  /** Hands over to the other workers, if there are any. */
  async function handOverAll(): Promise<void> {
    const { workers, awake: all } = await leases.survey();
    // The others take the workgroups of this worker as soon as they are released.
    await leases.leave();
    if (workers <= 1) return;
    const shareMax = Math.ceil(all.length / (workers - 1));
    await Promise.all(ownedShards.remaining().map((id) => handovers.handOver(id, 'worker-stops', shareMax)));
  }

  channel.onTold((text) => {
    // Other programs can use the same Redis.
    const told = tryParseJson(text);
    const message = parseHandoverMessage(told);
    if (message) handovers.onMessage(message);
    const { data: job } = jobSchema.safeParse(told);
    if (job) wakeUps.noteDue(job.workgroupId, job.stage);
  });
  backend.onRecovered(() => {
    // The store may have lost the leases. Owners get time to renew them before others take shards.
    takesAfterMs = clock.now() + leases.leaseMs;
    awake.clear();
    void review({ isClockSet: false });
  });

  // A changed workgroup is computed again with its new settings, even if it hibernated.
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
    void wakeUps.lookAt(alerts ? idsNow() : added.map(({ id }) => id));
    void dueJobs.review();
  });

  const rounds = runRounds(round, { everyMs: leases.leaseMs / 5, logger });
  // A worker that stops has released a workgroup, so nobody waits for the next round.
  channel.onReleased(rounds.hurry);
  const assessed = lookAtAll();
  const reviewed = assessed.then(() => dueJobs.review());
  logger.info({ workerId, backend: backend.kind, workgroups: idsNow().length }, 'worker.started');

  async function stop(): Promise<void> {
    isStopping = true;
    const roundsEnded = rounds.stop();
    stopFollowing();
    demand.stop();
    room.stop();
    handovers.stop();
    const renewing = setInterval(() => void ownedShards.renew(), leases.leaseMs / 5);
    const gaveUp = roundsEnded
      .then(() => handOverAll().catch(() => undefined))
      .then(() => ownedShards.giveUpAll('worker-stops'));
    const gaveUpInTime = await withTimeout(gaveUp, giveUpMs);
    clearInterval(renewing);
    await withTimeout(
      Promise.all([
        // The next owner would wait until the leases end. What still runs here is refused by its claim.
        gaveUpInTime === 'late' && ownedShards.releaseAll(),
        reviewed.then(() => dueJobs.close()),
      ]),
      QUEUE_CLOSE_TIMEOUT_MS,
    ).catch(() => undefined);
    await withTimeout(backend.close(), QUEUE_CLOSE_TIMEOUT_MS).catch(() => undefined);
    logger.info({ workerId, late: gaveUpInTime === 'late' }, 'worker.stopped');
  }
  let stopped: Promise<void> | undefined;

  return {
    workerId,
    noteNews: wakeUps.noteNews,
    noteChange(workgroupId) {
      ownedShards.openLoop(workgroupId)?.noteChange();
    },
    holds: ownedShards.isNowhereElse,
    canWake: (workgroupId) => configured.has(workgroupId) && !isAwakeElsewhere(workgroupId),
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
          isAwakeElsewhere,
          isQueued: demand.isWanted,
          isStarting: lookIfStarted(),
        },
        { nowMs: clock.now(), wallLeadMs: wallClock.now() - clock.now(), startedAtMs, lastRoundAtMs },
      ),
  };
}
