import { expect, test } from 'vitest';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { landReadings, rollUpSite } from './rollup-fixture.ts';

/** With the days, more than a row group has. */
const DEVICES = 500;
const DAYS = 260;
const streams: EnergyStreamInput[] = [
  { table: 't', field: 'total', method: 'total_energy', unit: 'Wh', maxPower: '10 kW' },
  {
    table: 't',
    field: 'part',
    method: 'interval_energy',
    unit: 'Wh',
    interval: '1 h',
    maxPower: '10 kW',
  },
];

test('tens of thousands of days are stored if they arrive together with a reading that changes no day', async () => {
  const shard = await openTestShard();
  const hours = Array.from({ length: 25 }, (_, hour) => ({
    event_time: new Date(Date.UTC(2020, 0, 1, hour)).toISOString(),
    data: { total: 100 * hour, part: 0 },
  }));
  await landReadings(shard, hours);
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams });

  await landReadings(shard, [{ event_time: '2020-01-01T06:30:00Z', data: { total: 650 } }]);
  await shard.transaction(async (connection) => {
    await connection.run(
      `INSERT INTO message
       SELECT last.batch_id, 1000 + row_number() OVER (), any_message.table_id, 0, md5(device.range::VARCHAR)::UUID, any_message.source_id,
         ${Date.UTC(2024, 0, 1, 12)} + day.range * 86400000, ${Date.UTC(2025, 0, 1)}, NULL, [part.name_id], [100.0], NULL
       FROM range(${DEVICES}) device, range(${DAYS}) day,
         (SELECT max(batch_id) AS batch_id FROM batch) AS last, (SELECT * FROM message LIMIT 1) AS any_message, (SELECT name_id FROM name WHERE name = 'part') AS part`,
    );
    await connection.run(
      'UPDATE batch SET message_count = message_count + 130000 WHERE batch_id = (SELECT max(batch_id) FROM batch)',
    );
  });
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
  expect(
    await rowsOf(
      shard,
      "SELECT count(*)::INTEGER AS days, sum(energy_wh)::INTEGER AS wh FROM daily_energy WHERE day >= DATE '2024-01-01'",
    ),
  ).toEqual([{ days: DEVICES * DAYS, wh: 100 * DEVICES * DAYS }]);
});
