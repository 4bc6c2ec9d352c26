import type { Config } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { startSystemTimer } from '../lib/timer.ts';
import { createLastingLease } from '../redis/task-lease.ts';
import { startBackgroundTasks } from '../stream/background-tasks.ts';
import { createStream } from '../stream/stream.ts';
import { holdUpkeep } from './hold-roles.ts';
import { openStreamLogs } from './open-stream-logs.ts';
import type { Service } from './service.ts';

/**
 * Moves the audit entries of this data folder into the logs in Redis, for a process without the stream. The
 * stream process of another machine does not see this folder.
 * @returns stops it, after the last entries were moved. Undefined if the logs are not in Redis: then only a
 *   stream process with this folder has them
 */
export async function drainAudit(
  config: Pick<Config, 'dataDir' | 'stream' | 'queue'>,
  workgroups: Pick<Workgroups, 'list'>,
  { logger, clock }: Pick<Service, 'logger' | 'clock'>,
): Promise<(() => Promise<void>) | undefined> {
  const { dataDir } = config;
  if (config.stream.log !== 'redis') return undefined;
  const logs = await openStreamLogs(config, { logger, clock });
  const stream = createStream({
    openLog: logs.openLog,
    readHead: logs.readHead,
    isShared: true,
    retentionMs: config.stream.retention,
    clock,
    startTimer: startSystemTimer,
    logger,
  });
  const folderLease = createLastingLease(() => holdUpkeep(dataDir, clock), clock);
  const tasks = startBackgroundTasks({
    stream,
    // Stream processes watch the devices.
    workgroups: () => workgroups.list().map(({ id }) => ({ id, deviceTimeoutMs: undefined })),
    dataDir,
    folderLease,
    presenceLease: folderLease,
    presenceStoreOf: () => {
      throw new Error('no device is watched');
    },
    clock,
    startTimer: startSystemTimer,
    logger,
  });
  return async () => {
    await tasks.stop();
    await stream.close();
    logs.close();
  };
}
