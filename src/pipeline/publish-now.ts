import { type PublishResult, publish } from '../publish/publish.ts';
import { renewCurrent } from '../publish/renew-current.ts';
import { noteDeviceStatus } from '../warehouse/note-device-status.ts';
import { lakeFolder } from './assignment.ts';
import type { OpenShard } from './open-shard.ts';

/** `currentDueInMs`: the folder `current` does not show the newest generation yet. Publish again after this time. */
export type PublishedNow = PublishResult & { currentDueInMs: number | undefined };

/** Publishes what is new in an open shard. To be called `inLake`. */
export async function publishNow(
  { shard, assignment, clock, logger }: OpenShard,
  signal?: AbortSignal,
): Promise<PublishedNow> {
  await shard.transaction((connection) => noteDeviceStatus(connection, clock.now()), { isQuiet: true });
  const lake = { lakeDir: lakeFolder(assignment), currentEveryMs: assignment.pipeline.currentEvery, clock };
  const declared = assignment.workgroup;
  const result = await publish(shard, { ...lake, declared, logger, ...(signal && { signal }) });
  const { dueInMs: currentDueInMs } = await renewCurrent(shard, lake);
  return { ...result, currentDueInMs };
}
