import { randomUUID } from 'node:crypto';
import type { WorkgroupConfig } from '../../src/config/config.ts';
import { type EnergyStreamInput, energyStreamSchema } from '../../src/config/energy-stream.ts';
import type { FieldValue } from '../../src/contract/messages.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, type UtcMs } from '../../src/lib/time.ts';
import { type RollUpResult, rollUp } from '../../src/rollup/roll-up.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { rowsOf } from '../warehouse/warehouse-fixture.ts';

export const DEVICE = '00000000-0000-4000-8000-000000000001';

/** A reading as a case writes it. */
export interface CaseReading {
  event_time: string;
  /** Default: one second after the event. */
  store_time?: string;
  msg_id?: number;
  table?: string;
  /** Its offset, if it did not come in order. Then `landReadings` lands it with another origin. */
  offset?: bigint;
  device?: string;
  source?: string;
  data: Record<string, FieldValue>;
}

export interface EnergySite {
  timezone: string;
  streams: readonly EnergyStreamInput[];
  closeAfterMs?: number;
  devices?: WorkgroupConfig['devices'];
  /** See `RollUpOptions.indexAll`. */
  indexAll?: boolean;
  /** See `RollUpOptions.runAll`. */
  runAll?: boolean;
  /** See `RollUpOptions.pendingReadingsMax`: then it is called until nothing is left. */
  pendingReadingsMax?: number;
  /** See `RollUpOptions.intervalsMax`: then it is called until nothing is left. */
  intervalsMax?: number;
}

/**
 * Lands readings as one batch of the stream or of another origin, in the given order. Readings with offsets
 * get a separate origin.
 */
export async function landReadings(
  shard: Shard,
  readings: readonly CaseReading[],
  table = 't',
  by = 'stream',
): Promise<void> {
  const isPlaced = readings[0]?.offset !== undefined;
  const origin = isPlaced ? `stream-${randomUUID()}` : by;
  const from = isPlaced ? 0n : ((await shard.checkpoint(origin))?.nextOffset ?? 1_000n);
  const messages = readings.map((reading, index) => ({
    offset: reading.offset ?? from + BigInt(index),
    table: reading.table ?? table,
    kind: 'telemetry',
    device: reading.device ?? DEVICE,
    source: reading.source ?? null,
    event_time: Date.parse(reading.event_time),
    store_time: Date.parse(reading.store_time ?? reading.event_time) + (reading.store_time ? 0 : 1_000),
    ...(reading.msg_id !== undefined && { msg_id: reading.msg_id }),
    data: reading.data,
  }));
  messages.sort((a, b) => Number(a.offset - b.offset));
  const landed = await shard.land({
    origin,
    columns: messagesToColumns(messages, shard.names),
    fromOffset: from,
    nextOffset: (messages.at(-1)?.offset ?? from) + 1n,
    logEpoch: 'log-1',
  });
  if (landed.kind !== 'landed' || landed.messages !== readings.length) {
    throw new Error(
      `expected ${readings.length} messages to land, not ${JSON.stringify(landed, (_, value) => String(value))}`,
    );
  }
}

/**
 * Rolls everything up that has landed, at a time when all days are over. If the site bounds the work of a
 * call, it is called until nothing is left.
 */
export async function rollUpSite(shard: Shard, site: EnergySite, nowMs?: UtcMs): Promise<RollUpResult> {
  const result = await callRollUp(shard, site, nowMs);
  const isBounded = site.pendingReadingsMax !== undefined || site.intervalsMax !== undefined;
  return result.more && isBounded ? rollUpSite(shard, site, nowMs) : result;
}

/** Calls the roll-up once, at a time when all days are over. */
export function callRollUp(
  shard: Shard,
  site: EnergySite,
  nowMs: UtcMs = Date.UTC(2030, 0, 1),
): Promise<RollUpResult> {
  const workgroup = {
    id: 'acme',
    timezone: site.timezone,
    energyStreams: site.streams.map((stream) => energyStreamSchema.parse(stream)),
    devices: site.devices ?? [],
    roles: [],
    deviceGroups: {},
    meters: [],
    sites: [],
  };
  const { pendingReadingsMax, intervalsMax } = site;
  return rollUp(shard, {
    workgroup,
    clock: { now: () => nowMs },
    indexAll: site.indexAll ?? false,
    runAll: site.runAll ?? false,
    closeAfterMs: site.closeAfterMs ?? 2 * DAY_MS,
    logger: silentLogger,
    ...(pendingReadingsMax !== undefined && { pendingReadingsMax }),
    ...(intervalsMax !== undefined && { intervalsMax }),
  });
}

/** Wh by day, all sources together, of one device or of all. */
export async function energyByDay(shard: Shard, device?: string): Promise<Record<string, number>> {
  const ofDevice = device === undefined ? '' : `WHERE device = '${device}'`;
  const rows = await rowsOf(
    shard,
    `SELECT day::VARCHAR AS day, sum(energy_wh)::DOUBLE AS wh FROM daily_energy ${ofDevice} GROUP BY day ORDER BY day`,
  );
  return Object.fromEntries(rows.map((row) => [row.day, row.wh]));
}

/**
 * All results of the roll-up, without the times of computation and the numbers of versions. They must not
 * depend on the order of arrival of the readings.
 */
export async function energyRows(shard: Shard) {
  const days = await rowsOf(
    shard,
    `SELECT day::VARCHAR AS day, device::VARCHAR AS device, source, energy_wh::DOUBLE AS wh, method, flags, coverage
     FROM daily_energy ORDER BY ALL`,
  );
  const intervals = await rowsOf(
    shard,
    `SELECT st.identity, s.device::VARCHAR AS device, s.source, i.interval_start_ms::DOUBLE AS start_ms,
       i.energy_wh::DOUBLE AS wh, i.covered_ms, i.flags
     FROM interval_energy i JOIN series s USING (series_id) JOIN energy_stream st USING (stream_id)
     WHERE i.covered_ms > 0 OR i.energy_wh <> 0
     ORDER BY ALL`,
  );
  return { days, intervals };
}
