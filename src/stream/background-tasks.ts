import { join } from 'node:path';
import { openAuditSpool } from '../audit/spool.ts';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Repeating, repeat } from '../lib/repeat.ts';
import { type Clock, elapsedOf, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import { createAuditDrain } from './audit-drain.ts';
import { type PresenceWatch, watchPresence } from './presence/presence-watch.ts';
import type { Stream } from './stream.ts';

export interface BackgroundTasksOptions {
  stream: Pick<Stream, 'lazyLogOf'>;
  /** The workgroups that are configured now. */
  workgroups: () => readonly WatchedWorkgroup[];
  devicesWatchedMax?: number;
  dataDir: string;
  /**
   * Claims the tasks for this process, because only one of the processes that share a data folder may run them.
   * @returns a function that gives the claim up; undefined while another process has it
   */
  hold(): Promise<(() => Promise<void>) | undefined>;
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
/** After this time another process takes over from a process that has ended. */
const HOLD_EVERY_MS = 10 * SECOND_MS;

/**
 * Starts the tasks that the stream service runs by itself: it moves audit entries into the logs, and announces devices
 * that come online or go offline. A task that fails is tried again a second later.
 */
export function startBackgroundTasks(options: BackgroundTasksOptions): Repeating {
  const { clock, startTimer, logger } = options;
  const jobs = new Map<string, ReturnType<typeof createJob>>();
  let release: (() => Promise<void>) | undefined;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  const holds = async () => {
    if (release !== undefined || elapsedOf(clock) - askedAtMs < HOLD_EVERY_MS) return release !== undefined;
    askedAtMs = elapsedOf(clock);
    try {
      release = await options.hold();
    } catch (error) {
      logger.warn({ error: errorMessage(error) }, 'stream.upkeep-not-held');
    }
    return release !== undefined;
  };
  const runAll = async () => {
    if (!(await holds())) return;
    await followConfiguration();
    await Promise.all([...jobs.values()].map(({ run }) => run()));
  };
  /** Ends the tasks of removed and changed workgroups, and creates those of new ones. */
  const followConfiguration = async () => {
    const wanted = new Map(options.workgroups().map((one) => [one.id, one]));
    for (const [id, job] of jobs) {
      if (job.deviceTimeoutMs === wanted.get(id)?.deviceTimeoutMs && wanted.has(id)) continue;
      jobs.delete(id);
      await job.end();
    }
    for (const [id, workgroup] of wanted) if (!jobs.has(id)) jobs.set(id, createJob(workgroup, options));
  };
  const beginning = runAll();
  const repeating = repeat(EVERY_MS, startTimer, () => beginning.then(runAll));
  return {
    async stop() {
      await beginning;
      await repeating.stop();
      if (release === undefined) return;
      // Entries that were recorded during the shutdown.
      await runAll();
      for (const { end } of jobs.values()) await end();
      await release();
    },
  };

  function createJob({ id, deviceTimeoutMs }: WatchedWorkgroup, from: BackgroundTasksOptions) {
    let drain: (() => Promise<void>) | undefined;
    let watch: PresenceWatch | undefined;
    let warnedAtMs: number | undefined;
    const open = async () => {
      const streamLog = from.stream.lazyLogOf(id);
      const path = join(from.dataDir, 'stream', id, 'presence.json');
      if (deviceTimeoutMs !== undefined)
        watch = await watchPresence({
          streamLog,
          timeoutMs: deviceTimeoutMs,
          devicesMax: from.devicesWatchedMax,
          path,
          clock,
          logger,
        });
      drain = createAuditDrain({ streamLog, spool: openAuditSpool(from.dataDir, id), logger });
    };
    const attempt = async (action: () => Promise<void> | void) => {
      try {
        await action();
      } catch (error) {
        if (warnedAtMs !== undefined && elapsedOf(clock) - warnedAtMs < MINUTE_MS) return;
        warnedAtMs = elapsedOf(clock);
        logger.warn({ workgroup: id, error: errorMessage(error) }, 'stream.upkeep-failed');
      }
    };
    return {
      deviceTimeoutMs,
      async run() {
        if (drain === undefined) await attempt(open);
        await attempt(async () => drain?.());
        await attempt(async () => watch?.look());
      },
      end: () => attempt(async () => watch?.save()),
    };
  }
}
