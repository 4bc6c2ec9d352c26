import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { lakePaths } from '../../src/publish/layout.ts';
import type { Reconciliation } from '../../src/report/reconciliation.ts';
import type { Variance } from '../../src/report/variance.ts';
import { storeDays, WORKGROUP } from '../publish/support.ts';
import { deviceId } from '../support/messages.ts';
import { pages } from '../support/readme.ts';
import { openBalance } from './balance-support.ts';
import { budget, budgets, intervals, type MeterFixture, openMeters, readings } from './meter-support.ts';

/** The rows of the query of the cookbook below a heading, on what is published. */
async function cookbook(
  at: Pick<MeterFixture, 'lakeDir'>,
  heading: string,
): Promise<Array<Record<string, unknown>>> {
  const [, section = ''] = pages.get('docs/cookbook.md')!.split(`## ${heading}\n`);
  const [, sql = ''] = /```sql\n(.*?)```/s.exec(section) ?? [];
  const path = join(lakePaths(at.lakeDir, WORKGROUP).current, 'analytics.duckdb');
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function openSite(): Promise<MeterFixture> {
  const at = await openMeters({
    timezone: 'Europe/Paris',
    sites: [
      {
        name: 'roof',
        meters: [{ code: 'GRID-1' }, { code: 'GRID-2', sign: -1, from: '2026-05-02' }],
        devices: [{ id: deviceId(1) }],
      },
      { name: 'plant', meters: [{ code: 'PV' }] },
    ],
  });
  await storeDays(
    at.shard,
    [900, 1_013, 877].map((energyWh, index) => ({ day: `2026-05-0${index + 1}`, device: 1, energyWh })),
  );
  // From midnight in Paris on, three days of hours.
  await at.put(
    intervals(
      ...readings('GRID-1', '2026-04-30T22:00Z', 1, Array(72).fill(41.5)),
      ...readings('GRID-2', '2026-05-01T22:00Z', 1, Array(48).fill(1.25)),
    ),
  );
  await at.put(budgets(budget('PV', '2026-05', 31_000)));
  return at;
}
const kwh = (wh: number) => wh / 1_000;
const may = 'startDate=2026-05-01&endDate=2026-05-31';

test('the query of meters against devices tells what the reconciliation tells', async () => {
  const at = await openSite();
  const { days } = await at.ask<Reconciliation>(`sites/roof/reconciliation?${may}`);
  const rows = await cookbook(at, 'Meters against devices');
  expect(Object.keys(days)).toHaveLength(3);
  expect(rows).toEqual(
    Object.entries(days).map(([day, { metersWh, devicesWh, differenceWh, differencePercent }]) =>
      expect.objectContaining({
        site: 'roof',
        day,
        meter_kwh: kwh(metersWh),
        device_kwh: kwh(devicesWh),
        difference_kwh: expect.closeTo(kwh(differenceWh), 9),
        difference_percent: differencePercent,
      }),
    ),
  );
});

test('the query of month against budget tells what the variance tells', async () => {
  const at = await openSite();
  at.clock.set(Date.UTC(2026, 5, 2));
  const { months } = await at.ask<Variance>(`sites/plant/variance?${may}`);
  const { comparedDays, actualWh, budgetWh, varianceWh, variancePercent } = months['2026-05']!;
  expect([comparedDays, actualWh, budgetWh, varianceWh]).toEqual([3, 2_790, 3_000, -210]);
  expect(await cookbook(at, 'Month against budget')).toEqual([
    {
      meter_code: 'PV',
      scenario: 'P50',
      month: '2026-05-01',
      days: String(comparedDays),
      actual_kwh: kwh(actualWh),
      budget_kwh: kwh(budgetWh),
      variance_kwh: expect.closeTo(kwh(varianceWh!), 1),
      variance_percent: expect.closeTo(variancePercent!, 1),
    },
  ]);
});

test('the query of self-consumption tells what the balance tells', async () => {
  const at = await openBalance(
    {
      timezone: 'Europe/Paris',
      roles: [
        { source: 'pv', role: 'production' },
        { source: 'load', role: 'consumption' },
      ],
    },
    { from: '2026-06-01', to: '2026-06-02' },
    [
      { device: deviceId(1), source: 'pv', wh: { '2026-06-01T12:00:00Z': 900, '2026-06-01T12:15:00Z': 600 } },
      { device: deviceId(2), source: 'load', wh: { '2026-06-01T12:00:00Z': 200 }, unlistedWh: 10 },
    ],
  );
  const balances = await at.ask('balance?startDate=2026-06-01&endDate=2026-06-02');
  const rows = await cookbook(at, 'Self-consumption');
  expect(rows).toEqual(
    Object.entries(balances).map(([day, told]) => ({
      day,
      production_kwh: kwh(told.productionWh as number),
      self_consumed_kwh: kwh(told.selfConsumptionWh as number),
      self_consumption_percent:
        told.selfConsumptionRate === null
          ? null
          : expect.closeTo(100 * (told.selfConsumptionRate as number), 1),
      consumption_kwh: kwh(told.consumptionWh as number),
      own_supply_kwh: kwh(told.selfSupplyWh as number),
      autarky_percent: expect.closeTo(100 * (told.autarky as number), 1),
      coverage: 1,
    })),
  );
  // 200 and 10 of 1,500 at noon, and nothing else.
  expect(rows[0]).toMatchObject({ production_kwh: 1.5, self_consumed_kwh: 0.21, consumption_kwh: 1.15 });
});
