import type { Config } from '../config/config.ts';
import { InputError } from '../lib/errors.ts';
import type { Role } from './hold-roles.ts';

/**
 * Workers that share a queue hand workgroups over to each other. A worker without the warehouses and lakes of the others would begin with empty
 * ones, and reports would be wrong without an error.
 * @throws InputError if the workers share a queue and nothing says that they share the data folder
 */
export function requireSharedStorage(
  { queue, storage, dataDir }: Pick<Config, 'queue' | 'storage' | 'dataDir'>,
  roles: readonly Role[],
): void {
  if (!roles.includes('worker') || queue.backend !== 'redis' || storage.shared || storage.s3) return;
  throw new InputError('the configuration', [
    {
      path: 'storage.shared',
      message: `is needed with queue.backend: redis, because workers take workgroups over from each other, and another data folder than ${dataDir} would lack their data. If all workers use this same folder, on this machine or over a network file system, write storage: { shared: true }. With a single worker use queue: { backend: pglite }`,
    },
  ]);
}
