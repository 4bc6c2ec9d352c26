import { join } from 'node:path';
import { openAuditSpool } from '../audit/spool.ts';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Repeating, repeat } from '../lib/repeat.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import { createAuditDrain } from './audit-drain.ts';
import { type PresenceWatch, watchPresence } from './presence/presence-watch.ts';
import type { Stream } from './stream.ts';

export interface BackgroundTasksOptions {
  stream: Pick<Stream, 'lazyLogOf'>;
  workgroups: ReadonlyArray<{ id: string; deviceTimeoutMs: number | undefined }>;
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

const EVERY_MS = SECOND_MS;
/** After this time another process takes over from a process that has ended. */
const HOLD_EVERY_MS = 10 * SECOND_MS;

/**
 * Starts the tasks that the stream service runs by itself: it moves audit entries into the logs, and announces devices
 * that come online or go offline. A task that fails is tried again a second later.
 */
export function startBackgroundTasks(options: BackgroundTasksOptions): Repeating {
  const { clock, startTimer, logger } = options;
  const jobs = options.workgroups.map((workgroup) => createJob(workgroup, options));
  let release: (() => Promise<void>) | undefined;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  const holds = async () => {
    if (release !== undefined || clock.now() - askedAtMs < HOLD_EVERY_MS) return release !== undefined;
    askedAtMs = clock.now();
    try {
      release = await options.hold();
    } catch (error) {
      logger.warn({ error: errorMessage(error) }, 'stream.upkeep-not-held');
    }
    return release !== undefined;
  };
  const runAll = async () => {
    if (await holds()) await Promise.all(jobs.map(({ run }) => run()));
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
      for (const { end } of jobs) await end();
      await release();
    },
  };

  function createJob(
    { id, deviceTimeoutMs }: BackgroundTasksOptions['workgroups'][number],
    from: BackgroundTasksOptions,
  ) {
    let drain: (() => Promise<void>) | undefined;
    let watch: PresenceWatch | undefined;
    let warnedAtMs: UtcMs | undefined;
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
        if (warnedAtMs !== undefined && clock.now() - warnedAtMs < MINUTE_MS) return;
        warnedAtMs = clock.now();
        logger.warn({ workgroup: id, error: errorMessage(error) }, 'stream.upkeep-failed');
      }
    };
    return {
      async run() {
        if (drain === undefined) await attempt(open);
        await attempt(async () => drain?.());
        await attempt(async () => watch?.look());
      },
      end: () => attempt(async () => watch?.save()),
    };
  }
}
