import { expect, test } from 'vitest';
import { type DatasetName, selectOf } from '../../src/publish/datasets.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../../src/warehouse/query.ts';
import { deviceId } from '../support/messages.ts';
import { shared } from '../support/shared.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const [startMs, endMs] = [Date.UTC(2026, 10, 20), Date.UTC(2026, 10, 21)];
const device = `UUID '${deviceId(1)}'`;

const message = (batch: number, table: number, storeTimeMs: number) =>
  `(${batch}, ${table}, 0, 0, ${storeTimeMs}, [], [])`;
/** Before the range, its first and its last instant, and after it. */
const instants = [startMs - 1, startMs, endMs - 1, endMs];
const days = ['2026-11-19', '2026-11-20', '2026-11-21', '2026-11-22'];

/** A warehouse in which each dataset has two rows of a period, one before it and one after it. */
const warehouse = shared(async () => {
  const shard = await openTestShard();
  await shard.transaction(async (connection) => {
    for (const statement of [
      "INSERT INTO name VALUES (1, 'solar')",
      `INSERT INTO message (batch_id, table_id, kind, event_time_ms, store_time_ms, field_ids, numbers) VALUES
        ${[
          message(1, 1, startMs),
          message(2, 1, startMs),
          message(2, 1, startMs + HOUR_MS - 1),
          message(3, 1, startMs + 1),
          message(3, 1, startMs + HOUR_MS),
          message(4, 1, startMs + HOUR_MS),
          message(4, 9, startMs + HOUR_MS),
          message(5, 1, startMs),
        ].join(', ')}`,
      ...instants.map(
        (ms, index) => `INSERT INTO interval_energy BY NAME SELECT 1 AS series_id, ${ms} AS interval_start_ms,
          ${10 ** index} AS energy_wh, 900_000 AS covered_ms, 0 AS flags`,
      ),
      ...instants.map(
        (ms, index) => `INSERT INTO device_status BY NAME SELECT ${device} AS device, 'online' AS state,
          0 AS event_time_ms, ${ms} AS store_time_ms, ${index} AS stream_offset, 1 AS batch_id`,
      ),
      // They end after the range, or begin before it.
      ...instants.map(
        (ms) => `INSERT INTO meter_reading BY NAME SELECT 'A' AS meter_code, ${ms} AS start_ms,
          ${ms + DAY_MS} AS end_ms, 1 AS energy_wh, 'measured' AS quality, false AS from_register, 1 AS revision,
          0 AS received_at_ms, 1 AS upload_id`,
      ),
      ...days.map(
        (day, index) => `INSERT INTO daily_energy BY NAME SELECT DATE '${day}' AS day, ${device} AS device,
          'roof' AS source, ${10 ** index} AS energy_wh, 'total_energy' AS method, 1 AS stream_id, 0 AS flags,
          1 AS coverage, 'final' AS status, 1 AS version, 0 AS computed_at_ms, 1 AS batch_id`,
      ),
      ...days.map(
        (day) => `INSERT INTO daily_energy_history BY NAME SELECT DATE '${day}' AS day, ${device} AS device,
          'roof' AS source, 1 AS version, 0 AS computed_at_ms, 1 AS batch_id`,
      ),
    ])
      await connection.run(statement);
  });
  return shard;
});

async function run(sql: string, parameters: SqlParameters = {}) {
  return warehouse().read((connection) => queryText(connection, sql, parameters));
}

test('messages are counted by table and hour, in parts of whole batches', async () => {
  const rows = await run(loadSql('publish/count_messages'), {
    after_batch_id: 1n,
    through_batch_id: 4n,
    hour_ms: BigInt(HOUR_MS),
    rows_max: 2n,
  });
  const of = (table_name: string, hour: number, after: bigint, through: bigint, row_count: number) => ({
    ...{ table_id: table_name === 'solar' ? 1 : 9, table_name, hour_start_ms: startMs + hour * HOUR_MS },
    ...{ after_batch_id: after, through_batch_id: through, row_count },
  });
  expect(rows).toEqual([
    of('solar', 0, 1n, 2n, 2),
    of('solar', 0, 2n, 3n, 1),
    of('solar', 1, 2n, 4n, 2),
    // A name that is lost.
    of('#9', 1, 3n, 4n, 1),
  ]);
});

const ofInstants = { start_ms: BigInt(startMs), end_ms: BigInt(endMs) };
const ofDays = { start_day: '2026-11-20', end_day: '2026-11-22' };

test.each<[dataset: DatasetName, count: string, range: SqlParameters, counted: Record<string, number>]>([
  ['interval_energy', 'count_intervals', ofInstants, { row_count: 2, energy_wh: 110 }],
  ['device_status', 'count_device_status', ofInstants, { row_count: 2 }],
  ['meter_reading', 'count_meter_readings', ofInstants, { row_count: 2 }],
  ['daily_energy', 'count_days', ofDays, { row_count: 2, energy_wh: 110 }],
  ['daily_energy_version', 'count_versions', ofDays, { row_count: 2 }],
])('a file of %s has the rows of its period, the end excluded, as many as are counted', async (...one) => {
  const [dataset, count, range, counted] = one;
  expect(await run(loadSql(`publish/${count}`), range)).toEqual([counted]);
  expect(await run(selectOf(dataset), range)).toHaveLength(2);
});

test('the energy of a period without rows is 0', async () => {
  const never = { start_ms: 0n, end_ms: 1n };
  expect(await run(loadSql('publish/count_intervals'), never)).toEqual([{ row_count: 0, energy_wh: 0 }]);
});

test('the time of the last publication changes with its batch, even if that is an earlier one', async () => {
  const at = async (batch_id: bigint, now_ms: bigint) => {
    await warehouse().transaction((connection) =>
      connection.run(loadSql('publish/store_progress'), { batch_id, now_ms }),
    );
    return rowsOf(
      warehouse(),
      'SELECT batch_id::INTEGER AS batch, updated_at_ms::INTEGER AS ms FROM progress',
    );
  };
  expect(await at(5n, 1n)).toEqual([{ batch: 5, ms: 1 }]);
  expect(await at(5n, 2n)).toEqual([{ batch: 5, ms: 1 }]);
  expect(await at(3n, 3n)).toEqual([{ batch: 3, ms: 3 }]);
});
