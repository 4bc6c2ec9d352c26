import { openAuditSpool } from '../audit/spool.ts';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Repeating, repeat } from '../lib/repeat.ts';
import { type Clock, elapsedOf, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import type { TaskLease } from '../redis/task-lease.ts';
import { createAuditDrain } from './audit-drain.ts';
import { type PresenceWatch, STALLED_MS, watchPresence } from './presence/presence-watch.ts';
import type { PresenceStore } from './presence/stored-presence.ts';
import type { Stream } from './stream.ts';

export interface BackgroundTasksOptions {
  stream: Pick<Stream, 'lazyLogOf'>;
  /** The workgroups that are configured now. */
  workgroups: () => readonly WatchedWorkgroup[];
  devicesWatchedMax?: number;
  dataDir: string;
  /** Only one of the processes that share a data folder may move its audit entries. */
  folderLease: TaskLease;
  /** Only one of the processes that share the logs may watch the devices. It can be the same lease. */
  presenceLease: TaskLease;
  presenceStoreOf(workgroupId: string): PresenceStore;
  clock: Clock;
  startTimer: StartTimer;
  logger: Logger;
}

export interface WatchedWorkgroup {
  id: string;
  /** Silent devices are announced as offline after this time. Undefined if they are not watched. */
  deviceTimeoutMs: number | undefined;
}

const EVERY_MS = SECOND_MS;

/**
 * Starts the tasks that the stream service runs by itself: it moves audit entries into the logs, and
 * announces devices that come online or go offline. A task that fails is tried again a second later.
 */
export function startBackgroundTasks(options: BackgroundTasksOptions): Repeating {
  const { folderLease, presenceLease, clock, startTimer, logger } = options;
  const jobs = new Map<string, ReturnType<typeof createJob>>();
  const warnOnceAMinute = createRareWarning(clock, logger);
  /**
   * The time since which this process can receive data. It does not change when this process takes over the
   * watch, because it could receive data before.
   */
  let listeningSinceMs = clock.now();
  let claimedAtMs = clock.now();
  const leases = async () => {
    const movesAudit = await holds(folderLease);
    const nowMs = clock.now();
    // If no workgroup has a timeout, no process has to watch.
    const isWatching = options.workgroups().some(({ deviceTimeoutMs }) => deviceTimeoutMs !== undefined);
    const watches = isWatching ? await holds(presenceLease) : undefined;
    if (Math.abs(nowMs - claimedAtMs) > STALLED_MS) listeningSinceMs = nowMs;
    if (watches !== undefined) claimedAtMs = nowMs;
    return { movesAudit: movesAudit === true, watches };
  };
  /** True if this process holds the lease. Undefined if the store of the leases does not answer. */
  const holds = async (lease: TaskLease) => {
    try {
      return await lease.acquireOrRenew();
    } catch (error) {
      warnOnceAMinute({ error: errorMessage(error) }, 'stream.upkeep-not-held');
      return undefined;
    }
  };
  const runAll = async () => {
    const held = await leases();
    await followConfiguration();
    await Promise.all([...jobs.values()].map(({ run }) => run(held)));
  };
  /** Ends the tasks of removed and changed workgroups, and creates the tasks of new ones. */
  const followConfiguration = async () => {
    const workgroups = new Map(options.workgroups().map((one) => [one.id, one]));
    for (const [id, job] of jobs) {
      if (job.deviceTimeoutMs === workgroups.get(id)?.deviceTimeoutMs && workgroups.has(id)) continue;
      jobs.delete(id);
      await job.end();
    }
    for (const [id, workgroup] of workgroups) if (!jobs.has(id)) jobs.set(id, createJob(workgroup));
  };
  const beginning = runAll();
  const repeating = repeat(EVERY_MS, startTimer, () => beginning.then(runAll));
  return {
    async stop() {
      await beginning;
      await repeating.stop();
      // These entries were recorded during the shutdown.
      await runAll();
      for (const { end } of jobs.values()) await end();
      for (const lease of new Set([presenceLease, folderLease]))
        await lease
          .release()
          .catch((error: unknown) =>
            logger.warn({ error: errorMessage(error) }, 'stream.upkeep-not-released'),
          );
    },
  };

  function createJob({ id, deviceTimeoutMs }: WatchedWorkgroup) {
    const streamLog = options.stream.lazyLogOf(id);
    const drain = createAuditDrain({ streamLog, spool: openAuditSpool(options.dataDir, id), logger });
    let watch: PresenceWatch | undefined;
    const warnOnceAMinute = createRareWarning(clock, logger);
    const lookForNews = async () => {
      if (deviceTimeoutMs === undefined) return;
      watch ??= await watchPresence({
        streamLog,
        timeoutMs: deviceTimeoutMs,
        devicesMax: options.devicesWatchedMax,
        store: options.presenceStoreOf(id),
        listeningSinceMs,
        clock,
        logger,
      });
      await watch.look();
    };
    const attempt = async (action: () => Promise<void> | void) => {
      try {
        await action();
      } catch (error) {
        warnOnceAMinute({ workgroup: id, error: errorMessage(error) }, 'stream.upkeep-failed');
      }
    };
    return {
      deviceTimeoutMs,
      async run({ movesAudit, watches }: { movesAudit: boolean; watches: boolean | undefined }) {
        if (movesAudit) await attempt(drain);
        if (watches) await attempt(lookForNews);
        // Another process watches now, and has stored a newer state.
        else if (watches === false) watch = undefined;
      },
      end: () => attempt(async () => watch?.save()),
    };
  }
}

/** A warning that is repeated every second is logged once a minute. */
function createRareWarning(clock: Clock, logger: Logger): (facts: object, message: string) => void {
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  return (facts, message) => {
    if (elapsedOf(clock) - warnedAtMs < MINUTE_MS) return;
    warnedAtMs = elapsedOf(clock);
    logger.warn(facts, message);
  };
}
