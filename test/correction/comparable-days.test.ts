import { expect, test } from 'vitest';
import { bindStoredStreams } from '../../src/rollup/bind-streams.ts';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { query } from '../../src/warehouse/query.ts';
import { deviceId } from '../support/messages.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';

test('comparable days are the nearest of the same class, the earlier of two, and no days to fill', async () => {
  const shard = await openTestShard();
  // The 12th is a Wednesday.
  const days = ['09', '11', '12', '13', '14', '15', '17'].map((day) => `(DATE '2024-06-${day}')`);
  const chosen = await shard.read(async (connection) => {
    await connection.run(`CREATE OR REPLACE TEMP TABLE fill_slot AS
      FROM (VALUES (1, DATE '2024-06-12', '08:00'), (2, DATE '2024-06-14', '08:00')) AS slot (start_ms, day, clock)`);
    await connection.run(`CREATE OR REPLACE TEMP TABLE basis_interval AS
      SELECT day, '08:00' AS clock, true AS is_known, false AS is_corrected FROM (VALUES ${days.join()}) AS basis (day)`);
    await query(connection, 'correction/choose_days', { distance_days: 3, days_max: 2 });
    return query(connection, 'correction/list_chosen_days');
  });
  expect(chosen).toEqual([
    { target: '2024-06-12', days: '2024-06-11,2024-06-13' },
    { target: '2024-06-14', days: '2024-06-11,2024-06-13' },
  ]);
});

test('the ratio of two sources leaves out days that are corrected, contradicted or without energy', async () => {
  const shard = await openTestShard();
  const day = (date: number, source: string, wh: number, flags = 0) =>
    `('2024-06-0${date}', '${deviceId(1)}', '${source}', ${wh}, 'total_energy', 1, ${flags}, 1, 'final', 1, 0, 1)`;
  const pair = (date: number, ownWh: number, otherWh: number, ownFlags = 0, otherFlags = 0) =>
    [day(date, 'own', ownWh, ownFlags), day(date, 'other', otherWh, otherFlags)].join();
  const rows = [
    pair(1, 10, 5),
    pair(2, 30, 10),
    pair(3, 90, 10, flagBits.corrected),
    pair(4, 90, 10, 0, flagBits.contradicted),
    pair(5, 90, 0),
  ];
  await rowsOf(shard, `INSERT INTO daily_energy VALUES ${rows.join()}`);
  const found = await shard.read(async (connection) => {
    await bindStoredStreams(connection);
    return query(connection, 'correction/find_ratio', {
      ...{ device: deviceId(1), source: 'own', like_device: deviceId(1), like_source: 'other' },
      ...{ low_day: '2024-06-01', high_day: '2024-06-30', from_day: '2024-06-20', to_day: '2024-06-20' },
    });
  });
  expect(found).toEqual([{ ratio: 2.5, days: 2 }]);
});
