import { offsetOf } from '../../src/contract/offset.ts';
import { MINUTE_MS } from '../../src/lib/time.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { deviceId } from '../support/messages.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { TEST_START_MS } from '../support/test-clock.ts';

export type Told = readonly [device: number, what: 'online' | 'offline' | 'data', reason?: string];

/**
 * Lands device statuses as one batch, a minute apart from `minute` on. Each happened in the second after the
 * minute.
 */
export async function landStatuses(
  shard: Shard,
  minute: number,
  told: readonly Told[],
  origin = 'stream',
): Promise<void> {
  const messages = told.map(([device, what, reason], index) => {
    const atMs = TEST_START_MS + (minute + index) * MINUTE_MS + 1_234;
    const common = {
      offset: offsetOf(atMs),
      device: deviceId(device),
      event_time: atMs - 234,
      store_time: atMs,
    };
    return what === 'data'
      ? { ...common, table: 'solar', kind: 'telemetry', source: null, data: { power: 1 } }
      : { ...common, table: 'devices', kind: 'device_status', state: what, ...(reason && { reason }) };
  });
  const at = await shard.checkpoint(origin);
  const landed = await shard.land({
    origin,
    columns: messagesToColumns(messages, shard.names),
    fromOffset: at?.nextOffset,
    nextOffset: offsetOf(TEST_START_MS + (minute + told.length) * MINUTE_MS),
    logEpoch: 'test',
  });
  if (landed.kind !== 'landed' || landed.messages !== told.length)
    throw new Error(`expected ${told.length} messages to land, not: ${landed.kind}`);
}
