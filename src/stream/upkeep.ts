import { join } from 'node:path';
import { openAuditSpool } from '../audit/spool.ts';
import { errorMessage } from '../errors.ts';
import type { Log } from '../log.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../time.ts';
import { createAuditDrain } from './audit-drain.ts';
import { type PresenceWatch, watchPresence } from './presence-watch.ts';
import { type Repeating, repeat } from './repeat.ts';
import type { Stream } from './stream.ts';
import type { StartTimer } from './timer.ts';

export interface UpkeepOptions {
  stream: Pick<Stream, 'logOf'>;
  workgroups: ReadonlyArray<{ id: string; deviceTimeoutMs: number | undefined }>;
  dataDir: string;
  clock: Clock;
  startTimer: StartTimer;
  log: Log;
}

const EVERY_MS = SECOND_MS;

/**
 * What the stream service does by itself: takes audit entries into the logs, and announces devices that come and go. What fails is
 * tried again a second later.
 */
export function startUpkeep(options: UpkeepOptions): Repeating {
  const { clock, startTimer, log } = options;
  const jobs = options.workgroups.map((workgroup) => createJob(workgroup, options));
  const all = () => Promise.all(jobs.map(({ run }) => run())).then(() => undefined);
  const beginning = all();
  const repeating = repeat(EVERY_MS, startTimer, () => beginning.then(all));
  return {
    async stop() {
      await repeating.stop();
      await beginning;
      // What was noted while the service ended.
      await all();
      for (const { end } of jobs) end();
    },
  };

  function createJob({ id, deviceTimeoutMs }: UpkeepOptions['workgroups'][number], from: UpkeepOptions) {
    let drain: (() => Promise<void>) | undefined;
    let watch: PresenceWatch | undefined;
    let warnedAtMs: UtcMs | undefined;
    const open = async () => {
      const streamLog = await from.stream.logOf(id);
      const path = join(from.dataDir, 'stream', id, 'presence.json');
      if (deviceTimeoutMs !== undefined)
        watch = await watchPresence({ streamLog, timeoutMs: deviceTimeoutMs, path, clock, log });
      drain = createAuditDrain({ streamLog, spool: openAuditSpool(from.dataDir, id), log });
    };
    const attempt = async (action: () => Promise<void> | void) => {
      try {
        await action();
      } catch (error) {
        if (warnedAtMs !== undefined && clock.now() - warnedAtMs < MINUTE_MS) return;
        warnedAtMs = clock.now();
        log.warn({ workgroup: id, problem: errorMessage(error) }, 'stream.upkeep-failed');
      }
    };
    return {
      async run() {
        if (drain === undefined) await attempt(open);
        await attempt(async () => drain?.());
        await attempt(async () => watch?.look());
      },
      end: () => void attempt(() => watch?.save()),
    };
  }
}
