import { errorMessage } from '../lib/errors.ts';
import type { UtcMs } from '../lib/time.ts';
import type { Commit } from '../publish/commit-schema.ts';
import { compactLake } from '../publish/compact-lake.ts';
import { openLake } from '../publish/open-lake.ts';
import { type PublishResult, publish } from '../publish/publish.ts';
import { renewCurrent } from '../publish/renew-current.ts';
import type { LakeFillState } from '../replica/start-lake-fill.ts';
import { noteDeviceStatus } from '../warehouse/note-device-status.ts';
import { lakeFolder } from './assignment.ts';
import type { OpenShard } from './open-shard.ts';

/**
 * `currentDueInMs`: set while the folder `current` does not show the newest generation yet; publish again
 * after this time. `fill`: set until all files of the lake are copied from the bucket. `head`: the newest
 * generation of the lake, with the size of all its files.
 */
export type PublishedNow = PublishResult & {
  currentDueInMs: number | undefined;
  fill: LakeFillState | undefined;
  head: { createdAtMs: UtcMs; bytes: number } | undefined;
};

/** Publishes the new data of an open shard. To be called `inLake`. */
export async function publishNow(
  { shard, assignment, bucket, clock, logger }: OpenShard,
  signal?: AbortSignal,
): Promise<PublishedNow> {
  await shard.transaction((connection) => noteDeviceStatus(connection, clock.now()), { isQuiet: true });
  const options = {
    lakeDir: lakeFolder(assignment),
    currentEveryMs: assignment.pipeline.currentEvery,
    declared: assignment.workgroup,
    clock,
    logger,
    signal,
  };
  // Before the folder `current` is renewed, small files are merged. A generation with views stays for an
  // hour, and all its files with it, so it should have few files. If the merge fails, the folder is renewed
  // nevertheless. Maintenance merges again, and reports the failure.
  const prepare = () =>
    compactLake(shard, { ...options, newFilesMin: 2 }).catch((error: unknown) =>
      logger.warn({ workgroup: shard.workgroupId, error: errorMessage(error) }, 'publish.compact-failed'),
    );
  const result = await publish(shard, options);
  const { dueInMs: currentDueInMs } = await renewCurrent(shard, { ...options, prepare });
  const { head } = await openLake(shard, options);
  return { ...result, currentDueInMs, fill: bucket?.state().fill, head: head && sizeOf(head) };
}

function sizeOf({ createdAtMs, files }: Commit): { createdAtMs: UtcMs; bytes: number } {
  return { createdAtMs, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
}
