import { join } from 'node:path';
import { type EnergyStreamInput, energyStreamSchema } from '../../../src/config/energy-stream.ts';
import { encodeMessages, type IngestItem } from '../../../src/contract/encode-messages.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { addDays, DAY_MS, dayStart, HOUR_MS, MINUTE_MS } from '../../../src/lib/time.ts';
import { rollUp } from '../../../src/rollup/roll-up.ts';
import { openLmdbLog } from '../../../src/stream/log/lmdb-log.ts';
import { openShard, type Shard } from '../../../src/warehouse/shard.ts';
import { messagesToColumns } from '../../support/messages-to-columns.ts';
import { createTestClock, type TestClock } from '../../support/test-clock.ts';

/** What happened to a workgroup before the service of the tests starts. */
export interface Past {
  dataDir: string;
  workgroupId: string;
  timezone: string;
  device: string;
  streams: readonly EnergyStreamInput[];
  nowMs: number;
}

interface Reading {
  ms: number;
  wh: number;
}

/**
 * The readings of a register that grows by 500 Wh in each hour.
 * @param firstDay the day on which it begins
 */
export function hourly(timezone: string, firstDay: string, from: string, to: string): Reading[] {
  const [zeroMs, startMs, endMs] = [firstDay, from, to].map((day) => dayStart(day, timezone)) as [
    number,
    number,
    number,
  ];
  const hours = Math.round((endMs - startMs) / HOUR_MS);
  return Array.from({ length: hours + 1 }, (_, index) => {
    const ms = startMs + index * HOUR_MS;
    return { ms, wh: 1_000_000 + ((ms - zeroMs) / HOUR_MS) * 500 };
  });
}

/**
 * Days that were rolled up more than a week ago and closed since, so that late readings restate them. Of the
 * last hour eleven messages are in the stream and were not read: a gap that can be filled.
 */
export async function prepareClosedDays(past: Past, today: string): Promise<void> {
  const { timezone, nowMs } = past;
  const clock = createTestClock(dayStart(addDays(today, -9), timezone) + HOUR_MS);
  const shard = await openWarehouse(past, clock);
  const readings = hourly(timezone, addDays(today, -20), addDays(today, -20), addDays(today, -9));
  const streamClock = createTestClock(nowMs - 30 * MINUTE_MS);
  const log = openLog(past, streamClock);
  const { epoch, next } = await log.bounds();
  await land(shard, past, readings, { offset: 1_000n, epoch });
  await rollUpAll(shard, past, clock);
  clock.set(dayStart(addDays(today, -7), timezone) - HOUR_MS);
  await rollUpAll(shard, past, clock);

  const missed = Array.from({ length: 10 }, (_, index) => ({
    ms: nowMs - 40 * MINUTE_MS + index * MINUTE_MS,
    wh: 1_300_000 + index,
  }));
  const { firstOffset } = await append(log, past, missed, streamClock);
  await streamClock.advance(10 * MINUTE_MS);
  const { lastOffset } = await append(log, past, [{ ms: streamClock.now(), wh: 1_300_010 }], streamClock);
  clock.set(nowMs);
  await shard.land({
    origin: 'stream',
    columns: messagesToColumns([], shard.names),
    fromOffset: next,
    nextOffset: lastOffset + 1n,
    logEpoch: epoch,
    gap: {
      reason: 'expired',
      from: firstOffset,
      to: lastOffset,
      fromTimeMs: nowMs - 30 * MINUTE_MS,
      toTimeMs: streamClock.now(),
    },
  });
  await log.close();
  await shard.close();
}

/**
 * A stream whose retention has passed while its worker was stopped: 20 of 30 messages were read before, and
 * the others are gone.
 */
export async function prepareLostMessages(past: Past): Promise<void> {
  const clock = createTestClock(past.nowMs - 3 * HOUR_MS);
  const shard = await openWarehouse(past, clock);
  const log = openLog(past, clock);
  const startMs = clock.now();
  const readings = Array.from({ length: 30 }, (_, index) => ({
    ms: startMs + index * MINUTE_MS,
    wh: 1_000 + index,
  }));
  const { firstOffset } = await append(log, past, readings.slice(0, 20), clock);
  await land(shard, past, readings.slice(0, 20), { offset: firstOffset, epoch: (await log.bounds()).epoch });
  await clock.advance(20 * MINUTE_MS);
  await append(log, past, readings.slice(20), clock);
  await clock.advance(past.nowMs - MINUTE_MS - clock.now());
  await append(log, past, [{ ms: clock.now(), wh: 2_000 }], clock);
  await log.close();
  await shard.close();
}

/** Messages of a table that a workgroup has received. */
export interface Received {
  workgroupId: string;
  table: string;
  items: readonly IngestItem[];
}

/**
 * Puts messages into streams. A running service would roll up and publish several parts of them, and take
 * longer.
 */
export async function prepareStreams(
  received: readonly Received[],
  { dataDir, nowMs }: Pick<Past, 'dataDir' | 'nowMs'>,
): Promise<void> {
  for (const { workgroupId, table, items } of received) {
    const log = openLog({ dataDir, workgroupId }, createTestClock(nowMs));
    await log.append(encodeMessages(items, table));
    await log.close();
  }
}

function openWarehouse({ dataDir, workgroupId }: Past, clock: TestClock): Promise<Shard> {
  return openShard({
    path: join(dataDir, 'warehouse', `${workgroupId}.duckdb`),
    workgroupId,
    memoryMegabytes: 256,
    threads: 1,
    folders: [join(dataDir, 'lake')],
    clock,
    logger: silentLogger,
  });
}

function openLog({ dataDir, workgroupId }: Pick<Past, 'dataDir' | 'workgroupId'>, clock: TestClock) {
  const path = join(dataDir, 'stream', workgroupId);
  return openLmdbLog({ clock, retentionMs: HOUR_MS, cacheBytesMax: 1e6, logger: silentLogger, path });
}

async function append(
  log: ReturnType<typeof openLog>,
  { device }: Past,
  readings: readonly Reading[],
  clock: TestClock,
) {
  const items = readings.map(({ ms, wh }) => ({ device, event_time: ms, data: { total_wh: wh } }));
  const stored = log.append(encodeMessages(items, 'solar'));
  await clock.advance(1_000);
  return stored;
}

async function land(
  shard: Shard,
  { device }: Past,
  readings: readonly Reading[],
  { offset, epoch }: { offset: bigint; epoch: string },
): Promise<void> {
  const messages = readings.map(({ ms, wh }, index) => ({
    offset: offset + BigInt(index),
    table: 'solar',
    kind: 'telemetry',
    device,
    source: null,
    event_time: ms,
    store_time: ms + 1_000,
    data: { total_wh: wh },
  }));
  await shard.land({
    origin: 'stream',
    columns: messagesToColumns(messages, shard.names),
    fromOffset: offset,
    nextOffset: offset + BigInt(messages.length),
    logEpoch: epoch,
  });
}

async function rollUpAll(shard: Shard, { workgroupId, timezone, streams }: Past, clock: TestClock) {
  const workgroup = {
    id: workgroupId,
    timezone,
    energyStreams: streams.map((stream) => energyStreamSchema.parse(stream)),
    devices: [],
    roles: [],
    deviceGroups: {},
    meters: [],
    sites: [],
  };
  await rollUp(shard, {
    workgroup,
    clock,
    indexAll: false,
    runAll: false,
    closeAfterMs: 2 * DAY_MS,
    logger: silentLogger,
  });
}
