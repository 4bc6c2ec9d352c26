import { expect, test } from 'vitest';
import { listUploads } from '../../src/upload/list-uploads.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

/** What is listed if these rows are all that was uploaded. */
async function listed(...inserts: string[]) {
  const shard = await openTestShard();
  return shard.transaction(async (connection) => {
    for (const insert of inserts) await connection.run(`INSERT INTO ${insert}`);
    return listUploads(connection);
  });
}

test('meters have their current readings, and a register with one value has no reading yet', async () => {
  const reading = (meter: string, start: number, wh: string, quality: string, more: string) =>
    `('${meter}', ${start}, ${start + 10}, ${wh}, NULL, '${quality}', ${more})`;
  const { meters } = await listed(
    `meter_reading VALUES ${[
      reading('B', 10, '5', 'measured', 'false, 1, 100, NULL, 1'),
      reading('B', 20, '7', 'estimated', 'false, 3, 90, NULL, 2'),
      reading('B', 20, '900', 'measured', 'false, 9, 900, 2, 9'),
      reading('A', 50, 'NULL', 'fault', 'true, 1, 80, NULL, 3'),
      reading('A', 60, '2', 'measured', 'true, 1, 80, NULL, 3'),
      reading('D', 60, '2', 'measured', 'true, 1, 80, 7, 3'),
    ].join(', ')}`,
    `upload VALUES (3, 'meter_registers', 'a', 'h', 'me', 1, 1, 1, 80), (4, 'meter_registers', 'a', 'h', 'me', 1, 1, 1, 70)`,
    `meter_register VALUES ('A', 50, 1, NULL, 'measured', 1, NULL, 3), ('C', 70, 1, NULL, 'measured', 2, NULL, 4),
      ('D', 60, 1, NULL, 'measured', 4, NULL, 4), ('E', 60, 1, NULL, 'measured', 4, 9, 4)`,
  );
  const none = { readings: 0, energyWh: 0, faults: 0, uploadedAtMs: 70 };
  expect(meters).toEqual([
    {
      ...{ meter: 'A', fromRegister: true, readings: 2, firstMs: 50, lastMs: 70, energyWh: 2 },
      ...{ faults: 1, revision: 1, uploadedAtMs: 80 },
    },
    {
      ...{ meter: 'B', fromRegister: false, readings: 2, firstMs: 10, lastMs: 30, energyWh: 12 },
      ...{ faults: 0, revision: 3, uploadedAtMs: 100 },
    },
    { meter: 'C', fromRegister: true, firstMs: 70, lastMs: 70, revision: 2, ...none },
    { meter: 'D', fromRegister: true, firstMs: 60, lastMs: 60, revision: 4, ...none },
  ]);
});

test('budgets are those that are current, by meter, scenario and kind of period, the longest first', async () => {
  const row = (
    meter: string,
    scenario: string,
    first: string,
    last: string,
    wh: number,
    more = '1, 50, NULL',
  ) => `('${meter}', DATE '${first}', DATE '${last}', ${wh}, '${scenario}', ${more}, 1)`;
  const { budgets } = await listed(
    `budget VALUES ${[
      row('B', 'P50', '2026-01-05', '2026-01-05', 1),
      row('B', 'P50', '2026-01-01', '2026-01-31', 2, '2, 60, NULL'),
      row('B', 'P50', '2026-03-01', '2026-03-31', 4, '1, 70, NULL'),
      row('B', 'P50', '2026-02-01', '2026-02-28', 900, '9, 900, 2'),
      row('B', 'P50', '2026-01-01', '2026-12-31', 8),
      row('B', 'P10', '2026-01-05', '2026-01-05', 16),
      row('A', 'P50', '2026-01-05', '2026-01-05', 32),
      row('A', 'P50', '2026-01-05', '2026-01-11', 64),
    ].join(', ')}`,
  );
  expect(budgets.map((one) => Object.values(one).join(' '))).toEqual([
    'A P50 other 1 2026-01-05 2026-01-11 64 1 50',
    'A P50 day 1 2026-01-05 2026-01-05 32 1 50',
    'B P10 day 1 2026-01-05 2026-01-05 16 1 50',
    'B P50 year 1 2026-01-01 2026-12-31 8 1 50',
    'B P50 month 2 2026-01-01 2026-03-31 6 2 70',
    'B P50 day 1 2026-01-05 2026-01-05 1 1 50',
  ]);
});
