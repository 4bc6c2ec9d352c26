import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, type DuckDBValue, listValue } from '@duckdb/node-api';
import { offsetOf } from '../../src/contract/offset.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { sqlString } from '../../src/lib/sql-text.ts';
import type { Clock, LocalDate, UtcMs } from '../../src/lib/time.ts';
import type { Commit } from '../../src/publish/commit-schema.ts';
import { readHead } from '../../src/publish/lake-commit.ts';
import { type LakePaths, lakePaths } from '../../src/publish/lake-layout.ts';
import { type PublishResult, publish } from '../../src/publish/publish.ts';
import type { PublishableShard } from '../../src/publish/publishable-shard.ts';
import { renewCurrent } from '../../src/publish/renew-current.ts';
import type { DeclaredDevices } from '../../src/warehouse/declared-devices.ts';
import { openShard, type Shard } from '../../src/warehouse/shard.ts';
import { deviceId } from '../support/messages.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import type { TestClock } from '../support/test-clock.ts';
import { putEmptyWarehouse } from '../warehouse/empty-warehouse.ts';

export const WORKGROUP = 'acme';

export async function openTestShard(
  dataDir: string,
  options: { clock: Clock; folders?: readonly string[] },
): Promise<{ shard: Shard; lakeDir: string }> {
  const { clock, folders = [] } = options;
  const lakeDir = join(dataDir, 'lake');
  const path = join(dataDir, 'warehouse', `${WORKGROUP}.duckdb`);
  if (!existsSync(path)) await putEmptyWarehouse(path);
  const shard = await openShard({
    path,
    workgroupId: WORKGROUP,
    memoryMegabytes: 512,
    threads: 1,
    folders: [lakeDir, ...folders],
    clock,
    logger: silentLogger,
  });
  return { shard, lakeDir };
}

export interface TestMessages {
  count: number;
  storeTimeMs: UtcMs;
  table?: string;
  devices?: number;
  /** Default: the stream. */
  origin?: string;
  data?: (index: number) => Record<string, unknown>;
}

/** Lands messages as the pipeline does, in one batch, one millisecond apart. */
export async function landMessages(shard: Shard, options: TestMessages): Promise<void> {
  const { count, storeTimeMs, table = 'solar', devices = 3, origin = 'stream' } = options;
  const data = options.data ?? ((index) => ({ power_w: 1000 + index, state: 'run' }));
  const messages = Array.from({ length: count }, (_, index) => ({
    offset: offsetOf(storeTimeMs + index),
    table,
    kind: 'telemetry',
    device: deviceId(index % devices),
    source: 'inverter',
    event_time: storeTimeMs + index - 500,
    store_time: storeTimeMs + index,
    data: data(index),
  }));
  const at = await shard.checkpoint(origin);
  const landed = await shard.land({
    origin,
    columns: messagesToColumns(messages, shard.names),
    fromOffset: at?.nextOffset,
    nextOffset: offsetOf(storeTimeMs + count),
    logEpoch: 'test',
  });
  if (landed.kind !== 'landed' || landed.messages !== count)
    throw new Error(`expected ${count} messages to land, not: ${landed.kind}`);
}

export interface TestDay {
  day: LocalDate;
  device: number;
  source?: string;
  energyWh: number;
  flags?: number;
  version?: number;
}

/**
 * Stands in for the roll-up: replaces the rows of these days and marks what has changed, in one transaction.
 */
export async function storeDays(shard: Shard, days: readonly TestDay[]): Promise<void> {
  await shard.transaction((connection) => replaceDays(connection, days));
}

export async function replaceDays(connection: DuckDBConnection, days: readonly TestDay[]): Promise<void> {
  const keyOf = ({ day, device, source = 'inverter' }: TestDay) =>
    `DATE '${day}', UUID '${deviceId(device)}', ${sqlString(source)}`;
  const keys = days.map((day) => `(${keyOf(day)})`).join();
  await connection.run(`DELETE FROM daily_energy WHERE (day, device, source) IN (${keys})`);
  const rows = days.map(
    (day) =>
      `(${keyOf(day)}, ${day.energyWh}, 'total_energy', 1, ${day.flags ?? 0}, 1, 'provisional', ${day.version ?? 1}, 0, 1)`,
  );
  await connection.run(
    `INSERT INTO daily_energy (day, device, source, energy_wh, method, stream_id, flags, coverage, status, version, computed_at_ms, batch_id)
     VALUES ${rows.join()}`,
  );
  await connection.run("INSERT INTO dirty_partition SELECT DISTINCT 'daily_energy', left(unnest($days), 7)", {
    days: listValue(days.map(({ day }) => day)),
  });
}

export interface TestIntervals {
  series: number;
  day: LocalDate;
  /** Of the first intervals of the day (UTC). */
  energyWh: readonly number[];
  flags?: number;
}

/** Stands in for the roll-up: replaces the intervals of a series and one UTC day. */
export async function storeIntervals(shard: Shard, intervals: TestIntervals): Promise<void> {
  await shard.transaction((connection) => replaceIntervals(connection, intervals));
}

export async function replaceIntervals(
  connection: DuckDBConnection,
  { series, day, energyWh, flags = 0 }: TestIntervals,
): Promise<void> {
  const startMs = Date.parse(`${day}T00:00:00Z`);
  await connection.run(
    'DELETE FROM interval_energy WHERE series_id = $series AND interval_start_ms // 86400000 = $start::BIGINT // 86400000',
    { series, start: startMs },
  );
  const rows = energyWh.map(
    (wh, index) => `(${series}, ${startMs + index * 900_000}, ${wh}, 900000, ${flags})`,
  );
  if (rows.length > 0)
    await connection.run(
      `INSERT INTO interval_energy (series_id, interval_start_ms, energy_wh, covered_ms, flags) VALUES ${rows.join()}`,
    );
  await connection.run("INSERT INTO dirty_partition VALUES ('interval_energy', $day)", { day });
}

/** Declares a series of one device and source. */
export async function addSeries(shard: Shard, series: number, device: number, source: string): Promise<void> {
  await shard.transaction(async (connection) => {
    await connection.run(
      `INSERT INTO energy_stream (stream_id, identity, settings, batch_id)
       SELECT 1, '{"table":"solar","field":"energy_wh","method":"total_energy"}', '{}', -1 WHERE NOT EXISTS (FROM energy_stream)`,
    );
    await connection.run(
      `INSERT INTO series (series_id, stream_id, device, source, first_ms, last_ms)
       SELECT $series, 1, $device::UUID, $source, 0, 0 WHERE NOT EXISTS (FROM series WHERE series_id = $series)`,
      { series, device: deviceId(device), source },
    );
  });
}

/** Marks everything that has landed as rolled up. */
export async function markRolledUp(shard: Shard): Promise<void> {
  await shard.transaction((connection) =>
    connection.run('UPDATE energy_stream SET batch_id = (SELECT max(batch_id) FROM batch)'),
  );
}

export async function rows(
  connection: DuckDBConnection,
  sql: string,
  parameters?: Record<string, DuckDBValue>,
): Promise<DuckDBValue[][]> {
  return (await connection.runAndReadAll(sql, parameters)).getRows();
}

/** Opens a file of views as an analyst would, in a separate process, and runs one query. */
export async function analyse(viewsPath: string, sql: string): Promise<DuckDBValue[][]> {
  const instance = await DuckDBInstance.create(viewsPath, { access_mode: 'READ_ONLY' });
  try {
    const connection = await instance.connect();
    return await rows(connection, sql);
  } finally {
    instance.closeSync();
  }
}

/** A shard, the folder of its lake and a way to publish it, with a clock that the test moves. */
export interface Fixture {
  clock: TestClock;
  shard: Shard;
  lakeDir: string;
  paths: LakePaths;
  publish(shard?: PublishableShard): Promise<PublishResult>;
  /** The newest generation. */
  head(): Promise<Commit>;
  /** Makes the views for people. */
  renew(): Promise<unknown>;
  /** Asks the views for people. */
  analyse(sql: string): Promise<DuckDBValue[][]>;
}

/**
 * The views for people take a third of the CPU of a small publication, so only `analyse` and `renew` make
 * them.
 */
export async function openFixture(
  dataDir: string,
  clock: TestClock,
  folders: readonly string[] = [],
  declared: DeclaredDevices = { devices: [] },
): Promise<Fixture> {
  const { shard, lakeDir } = await openTestShard(dataDir, { clock, folders });
  const paths = lakePaths(lakeDir, WORKGROUP);
  const options = { lakeDir, declared, currentEveryMs: 0, clock, logger: silentLogger };
  return {
    clock,
    shard,
    lakeDir,
    paths,
    publish: (by = shard) => publish(by, options),
    async head() {
      const head = await readHead(paths);
      if (!head) throw new Error('nothing was published');
      if (head.format === 1) throw new Error('the lake has an old format');
      return head;
    },
    renew: () => renewCurrent(shard, options),
    async analyse(sql) {
      await renewCurrent(shard, options);
      return analyse(join(paths.current, 'analytics.duckdb'), sql);
    },
  };
}
