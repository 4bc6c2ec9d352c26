import type { Config } from '../config/config.ts';
import { openStore } from '../storage/open-store.ts';
import { probeStore } from '../storage/probe-store.ts';
import { type Check, ok } from './run-checks.ts';

/** The configured buckets: each can create an object only once, and read, list and delete it. */
export function checkBuckets({ storage, backup }: Pick<Config, 'storage' | 'backup'>): Check[] {
  const buckets = [
    { name: 'bucket', s3: storage.s3 },
    { name: 'bucket of backups', s3: backup.s3 },
  ];
  return buckets.flatMap(({ name, s3 }) => {
    if (s3 === undefined) return [];
    const store = openStore({ kind: 's3', ...s3 });
    return [
      {
        name,
        async run(signal: AbortSignal) {
          await probeStore(store, signal);
          return [
            ok(
              `${store.address} creates an object only once, and reads, lists and deletes it (a probe was stored and removed)`,
            ),
          ];
        },
      },
    ];
  });
}
