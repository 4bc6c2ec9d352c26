import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { createRedisLease } from '../redis/redis-lease.ts';
import { createLastingLease, type TaskLease } from '../redis/task-lease.ts';
import type { BackgroundTasksOptions } from '../stream/background-tasks.ts';
import { createPresenceFile } from '../stream/presence/presence-file.ts';
import { createRedisPresence } from '../stream/presence/presence-redis.ts';
import { holdUpkeep } from './hold-roles.ts';
import type { Service } from './service.ts';

/**
 * The leases of a stream process, and where it stores the presence of devices. With logs in Redis one process
 * of all data folders watches the devices, and one is connected to the brokers of inputs.
 * @param redis undefined if the logs are not in Redis
 */
export function claimTasks(
  { dataDir, stream }: Config,
  redis: RedisConnection | undefined,
  { logger, clock }: Pick<Service, 'logger' | 'clock'>,
): Pick<BackgroundTasksOptions, 'folderLease' | 'presenceLease' | 'presenceStoreOf'> & {
  inputsLease: TaskLease;
} {
  // A process with a log in LMDB has the whole data folder.
  const takeFolder =
    stream.log === 'lmdb' ? async () => async () => undefined : () => holdUpkeep(dataDir, clock);
  const folderLease = createLastingLease(takeFolder, clock);
  if (!redis) {
    const pathOf = (workgroupId: string) => join(dataDir, 'stream', workgroupId, 'presence.json');
    const presenceStoreOf = (workgroupId: string) => createPresenceFile(pathOf(workgroupId), logger);
    return { folderLease, presenceLease: folderLease, inputsLease: alwaysHeld, presenceStoreOf };
  }
  const lease = createRedisLease({ redis, key: 'wattline:stream:presence-watch', clock });
  return {
    folderLease,
    presenceLease: lease,
    inputsLease: createRedisLease({ redis, key: 'wattline:stream:inputs', clock }),
    presenceStoreOf: (workgroupId) => createRedisPresence(redis, { workgroupId, lease, logger }),
  };
}

/** Logs that are not in Redis belong to one process. */
const alwaysHeld: TaskLease = { acquireOrRenew: async () => true, release: async () => undefined };
