import { type PublishOptions, type PublishResult, publish } from '../../src/publish/publish.ts';
import type { PublishableShard } from '../../src/publish/publishable-shard.ts';
import { type RenewOptions, renewCurrent } from '../../src/publish/renew-current.ts';

/** Publishes what is new, and lets `current` and `analytics/` follow, as the stage of a service does. */
export async function publishAndRenew(
  shard: PublishableShard,
  options: PublishOptions & RenewOptions,
): Promise<PublishResult> {
  const result = await publish(shard, options);
  await renewCurrent(shard, options);
  return result;
}
