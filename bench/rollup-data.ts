import { join } from 'node:path';
import { configSchema, type WorkgroupConfig } from '../src/config/config.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { systemClock } from '../src/lib/time.ts';
import { rollUp } from '../src/rollup/roll-up.ts';
import { openShard, type Shard } from '../src/warehouse/shard.ts';

/** A site with a lifetime register on each device. */
export interface RegisterSite {
  devices: number;
  readings: number;
  /** Time between two readings of a device. */
  stepMs: number;
  /** Readings of a batch, in the order of time. */
  batch: number;
  /** The registers show 0 from 22:00 to 04:00 UTC, as some inverters do while they sleep. */
  zeroAtNight?: boolean;
  /** The first day to fill, counted from 2025-01-01. */
  fromDay?: number;
  /** The factor of the growth on a day with more power. */
  growthTimes?: number;
  firstBatchId?: number;
}

export const WORKGROUP = 'bench';
const START_MS = Date.UTC(2025, 0, 1);

export function openSite(
  dataDir: string,
  options: { memoryMegabytes: number; threads: number; folders?: string[] },
): Promise<Shard> {
  return openShard({
    path: join(dataDir, 'warehouse', `${WORKGROUP}.duckdb`),
    workgroupId: WORKGROUP,
    ...options,
    clock: systemClock,
    logger: silentLogger,
  });
}

/**
 * Puts messages into the warehouse with the rows that landing would write. Each device's register (Wh, three
 * decimals) follows a day curve of its own and stands still at night; one step in 500 is missing.
 */
export async function fillSite(
  shard: Shard,
  {
    devices,
    readings,
    stepMs,
    batch,
    zeroAtNight = false,
    fromDay = 0,
    growthTimes = 1,
    firstBatchId = 1,
  }: RegisterSite,
): Promise<void> {
  await shard.transaction(async (connection) => {
    await connection.run(
      "INSERT INTO name SELECT * FROM (VALUES (900, 'solar'), (901, 'pv'), (902, 'total_wh')) AS n (name_id, name) ANTI JOIN name USING (name_id)",
    );
    const steps = Math.ceil(readings / devices);
    // 24 kWh a day, most of them at noon.
    const day = 86_400_000 / stepMs;
    const stepsABatch = Math.max(1, Math.floor(batch / devices));
    const begin = fromDay * day;
    for (let first = begin, id = firstBatchId; first < begin + steps; first += stepsABatch, id++) {
      const last = Math.min(begin + steps, first + stepsABatch);
      const grown = `${24_000 * growthTimes} * (s.range / ${day} - sin(2 * pi() * s.range / ${day}) / (2 * pi()))`;
      const shows = `round(1000000 + d.range * 1000 + ${grown}, 3)`;
      const value = zeroAtNight
        ? `CASE WHEN (s.range * ${stepMs} // 3600000 + 2) % 24 < 6 THEN 0 ELSE ${shows} END`
        : shows;
      await connection.run(
        `INSERT INTO message (batch_id, stream_offset, table_id, kind, device, source_id, event_time_ms, store_time_ms, message_id, field_ids, numbers, other)
         SELECT ${id}, s.range * ${devices} + d.range, 900, 0, md5(d.range::VARCHAR)::UUID, 901,
           ${START_MS} + s.range * ${stepMs} + d.range % 60 * 1000, ${START_MS} + s.range * ${stepMs} + 60000, NULL,
           [902], [${value}], NULL
         FROM range(${first}, ${last}) s, range(${devices}) d
         WHERE hash(s.range * ${devices} + d.range) % 500 <> 0`,
      );
      await connection.run(
        `INSERT INTO batch VALUES (${id}, 'stream', 'bench', 0, 0, (SELECT count(*) FROM message WHERE batch_id = ${id}), 0, NULL, NULL, 0)`,
      );
    }
  });
}

export function siteConfig(timezone = 'Europe/Paris', maxPower: string | null = '20 kW'): WorkgroupConfig {
  return configSchema.parse({
    workgroups: [
      {
        id: WORKGROUP,
        timezone,
        energyStreams: [
          {
            table: 'solar',
            field: 'total_wh',
            method: 'total_energy',
            unit: 'Wh',
            ...(maxPower && { maxPower }),
          },
        ],
      },
    ],
  }).workgroups[0]!;
}

/** Rolls up until all readings are done. @returns the time of the longest call (ms) */
export async function rollUpAll(shard: Shard, workgroup: WorkgroupConfig): Promise<number> {
  let longestMs = 0;
  for (;;) {
    const startMs = performance.now();
    const { more } = await rollUp(shard, {
      workgroup,
      clock: systemClock,
      closeAfterMs: 0,
      logger: silentLogger,
    });
    longestMs = Math.max(longestMs, performance.now() - startMs);
    if (!more) return longestMs;
  }
}

/**
 * A late reading of one device between two stored readings, in a separate batch. Its value is a hundredth of
 * a Wh above the reading before it. With `halfway` it is halfway to the reading after it, so no limit
 * changes.
 */
export async function addLateReading(
  shard: Shard,
  {
    device,
    afterMs,
    batchId,
    halfway = false,
  }: { device: number; afterMs: number; batchId: number; halfway?: boolean },
): Promise<void> {
  await shard.transaction(async (connection) => {
    const at = START_MS + afterMs;
    const values = `FROM (
      SELECT arg_max(value, event_time_ms) FILTER (event_time_ms <= ${at}) AS value,
        arg_min(value, event_time_ms) FILTER (event_time_ms > ${at}) AS after
      FROM reading JOIN series USING (series_id)
      WHERE device = md5('${device}')::UUID)`;
    const late = halfway ? 'round((value + after) / 2, 3)' : 'value + 0.01';
    await connection.run(
      `INSERT INTO message SELECT ${batchId}, ${batchId}000000, 900, 0, md5('${device}')::UUID, 901, ${at}, ${Date.UTC(2026, 5, 1)}, NULL, [902], [${late}], NULL ${values}`,
    );
    await connection.run(
      `INSERT INTO batch VALUES (${batchId}, 'stream', 'bench', 0, 0, 1, 0, NULL, NULL, 0)`,
    );
  });
}
