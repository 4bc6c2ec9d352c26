import { isDeepStrictEqual } from 'node:util';
import type { TelemetryItem } from '../contract/messages.ts';
import { offsetOf } from '../contract/offset.ts';
import { MINUTE_MS, type UtcMs } from '../lib/time.ts';
import { chunksFrom, storedMessage } from '../stream/log/stored-messages.ts';
import type { StreamLog } from '../stream/log/stream-log.ts';

/**
 * The clock of a device may be ahead by this much. It is more than `future_ms` of the rules, so that every
 * reading that counts is found again.
 */
const CLOCK_MS = 15 * MINUTE_MS;

/** A reading with its own time, so that the same reading can be found. */
export interface Sought {
  table: string;
  item: TelemetryItem;
}

/**
 * Finds the readings that the log has already: same table, device, source, time and values. It looks at the
 * messages that were stored since the oldest of the readings was made.
 */
export async function findStored<Reading extends Sought>(
  log: StreamLog,
  readings: readonly Reading[],
  nowMs: UtcMs,
): Promise<Set<Reading>> {
  const repeated = new Set<Reading>();
  if (readings.length === 0) return repeated;
  const oldestMs = Math.min(nowMs, ...readings.map(({ item }) => item.event_time));
  const byDevice = Map.groupBy(readings, ({ item }) => item.device);
  for await (const chunk of chunksFrom(log, offsetOf(Math.max(0, oldestMs - CLOCK_MS)))) {
    const soughtByRow = chunk.devices.map((device) => (device === null ? undefined : byDevice.get(device)));
    if (!soughtByRow.some((sought) => sought !== undefined)) continue;
    for (let index = 0; index < chunk.count; index++) {
      const sought = soughtByRow[chunk.deviceIds[index]!]?.filter(
        ({ table }) => table === chunk.tables[chunk.tableIds[index]!],
      );
      if (!sought?.length) continue;
      const stored = storedMessage(chunk, index);
      for (const reading of sought) if (isSame(reading, stored)) repeated.add(reading);
    }
  }
  return repeated;
}

function isSame({ item }: Sought, stored: ReturnType<typeof storedMessage>): boolean {
  return (
    stored.event_time === item.event_time &&
    (stored.source ?? null) === (item.source ?? null) &&
    isDeepStrictEqual({ ...(stored.data as object) }, { ...item.data })
  );
}
