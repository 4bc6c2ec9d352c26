import { type PublishOptions, type PublishResult, publish } from '../../src/publish/publish.ts';
import type { PublishShard } from '../../src/publish/publish-shard.ts';
import { type RenewOptions, renewCurrent } from '../../src/publish/renew-current.ts';

/** Publishes what is new, and lets `current` and `analytics/` follow, as the stage of a service does. */
export async function publishAndRenew(
  shard: PublishShard,
  options: PublishOptions & RenewOptions,
): Promise<PublishResult> {
  const result = await publish(shard, options);
  await renewCurrent(shard, options);
  return result;
}
