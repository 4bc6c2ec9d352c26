import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { isOnlyLocal } from '../config/worker-settings.ts';
import { InputError, type Problem } from '../lib/errors.ts';
import type { Role } from './hold-roles.ts';

type SharedSettings = Pick<
  Config,
  'queue' | 'storage' | 'dataDir' | 'stream' | 'access' | 'worker' | 'workgroups'
>;

/**
 * Workers that share a queue take workgroups over from each other. A worker without the warehouses and lakes
 * of the others would begin with empty ones, and reports would be wrong without an error.
 * @throws InputError if roles of other processes could not use what these roles write
 */
export function requireSharedStorage(config: SharedSettings, roles: readonly Role[]): void {
  const problems = sharingProblems(config, roles);
  if (problems.length > 0) throw new InputError('the configuration', problems);
}

/**
 * Missing settings by which the processes of a service share their data, with what to change. Empty with the
 * embedded queue.
 */
export function sharingProblems(config: SharedSettings, roles: readonly Role[]): Problem[] {
  const { queue, storage, dataDir } = config;
  const isWorker = roles.includes('worker');
  if (queue.backend !== 'redis' || storage.shared) return [];
  if (storage.s3) return [...streamProblems(config, roles), ...keyProblems(config)];
  if (!isWorker) return [];
  return [
    {
      path: 'storage.shared',
      message: `is needed with queue.backend: redis, because workers take workgroups over from each other, and another data folder than ${dataDir} would lack their data. If all workers use this same folder, on this machine or over a network file system, write storage: { shared: true }. If each machine has a folder of its own, write storage: { s3: ... } with a bucket for the data. With a single worker use queue: { backend: pglite }`,
    },
  ];
}

/** Settings of several machines that are possible and probably wrong, with what to change. */
export function sharingWarnings(
  {
    queue,
    storage,
    worker,
    stream,
    dataDir,
  }: Pick<Config, 'queue' | 'storage' | 'worker' | 'stream' | 'dataDir'>,
  roles: readonly Role[],
): Problem[] {
  const isOfMachines = queue.backend === 'redis' && storage.s3 !== undefined && !storage.shared;
  if (!isOfMachines) return [];
  const problems: Problem[] = [];
  if (stream.log !== 'redis' && !roles.includes('stream'))
    problems.push({
      path: 'stream.log',
      message: `the audit entries of this process stay in ${join(dataDir, 'audit')} until a stream process runs with this data folder; write stream: { log: redis }, so that every process moves its own entries into the audit log`,
    });
  if (roles.includes('worker') && isOnlyLocal(worker))
    problems.push({
      path: worker.address === undefined ? 'worker.host' : 'worker.address',
      message: `other machines cannot call this worker at ${worker.address ?? worker.host}, so their explanations, uploads, corrections and commands fail for its workgroups; write worker: { host: 0.0.0.0 }, and worker.address if they reach it by another name. Ignore this if there is only one machine`,
    });
  return problems;
}

/** A worker of another machine reads the stream where the last one has stopped. */
function streamProblems({ stream, workgroups }: SharedSettings, roles: readonly Role[]): Problem[] {
  if (stream.log === 'redis' || !(roles.includes('worker') || roles.includes('stream'))) return [];
  const ids = workgroups.filter(({ upstream }) => upstream === undefined).map(({ id }) => id);
  if (ids.length === 0) return [];
  const listed = ids.length > 3 ? `${ids.slice(0, 3).join(', ')} and ${ids.length - 3} more` : ids.join(', ');
  return [
    {
      path: 'stream.log',
      message: `must be redis with queue.backend: redis and storage.s3, because a worker of another machine cannot read a stream in ${stream.log}; write stream: { log: redis }, or give each workgroup an upstream (without one: ${listed})`,
    },
  ];
}

function keyProblems({ access, dataDir }: SharedSettings): Problem[] {
  if (access.jwksFile !== undefined) return [];
  return [
    {
      path: 'access.jwksFile',
      message: `is needed with queue.backend: redis and storage.s3, because all machines must accept the same tokens. Without it each machine creates keys of its own. Copy one key file to all machines, such as ${dataDir}/access/keys.json of the first one, and write access: { jwksFile: <its path> }`,
    },
  ];
}
