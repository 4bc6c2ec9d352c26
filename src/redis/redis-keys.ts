/** The start of all keys of workers in Redis. */
export const KEY_PREFIX = 'wattline';

/** The key whose value is the id of the worker that has the workgroup. */
export function leaseKey(prefix: string, workgroupId: string): string {
  return `${prefix}:lease:${workgroupId}`;
}

/** The key of the living workers, a sorted set. */
export function workersKey(prefix: string): string {
  return `${prefix}:workers`;
}
