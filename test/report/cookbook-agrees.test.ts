import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lakePaths } from '../../src/publish/lake-layout.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { askRecipe, lakeRecipes, recipes } from '../support/recipes.ts';
import { shared } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openBalance } from './balance-support.ts';
import {
  type Details,
  expected,
  localTime,
  mean,
  notCompared,
  type Row,
  seriesOf,
  valuesOf,
} from './cookbook-expected.ts';
import { openPlant, range } from './plant.ts';

const plant = shared(() => openPlant({ hasViews: true }));

test('every query of the pages returns what the endpoints return, for a plant with many devices, sources and methods', async () => {
  const at = plant();
  const problems: string[] = [];
  const all = [...recipes, ...lakeRecipes];
  for (const title of new Set(all.map((recipe) => recipe.title))) {
    if (notCompared.includes(title)) continue;
    try {
      const rows = await expected[title]!(at);
      for (const recipe of all.filter((one) => one.title === title)) {
        const answer = await askRecipe(lakePaths(at.lakeDir, WORKGROUP).root, recipe);
        const where = `${title}, on the ${recipe.isOnFiles ? 'files' : 'views'}`;
        problems.push(...differences(answer.rows, rows).map((one) => `${where}: ${one}`));
      }
    } catch (error) {
      problems.push(`${title}: ${error}`);
    }
  }
  expect(problems).toEqual([]);
});

test('the CSV file of a year has the days of daily energy by source', async () => {
  const at = plant();
  const path = join(tempDir(), 'daily-energy.csv');
  const recipe = recipes.find(({ title }) => title === 'Export to CSV')!;
  const { rows } = await askRecipe(lakePaths(at.lakeDir, WORKGROUP).root, recipe, (sql) =>
    sql.replace("'daily-energy-2026.csv'", `'${path}'`).replaceAll('2026', '2025'),
  );
  const values = valuesOf(await at.ask<Details>(`daily-energy/details?${range}&groupBy=source`));
  expect(rows).toEqual([{ Count: values.length }]);
  const lines = readFileSync(path, 'utf8').trim().split('\n').slice(1);
  expect(lines.map((line) => line.split(',').slice(0, 4).join())).toEqual(
    values.map(({ day, key, energyWh }) => {
      const { device, source } = seriesOf(key);
      return `${day},${device},${source},${(energyWh! / 1_000).toFixed(3).replace(/0+$/, '').replace(/\.$/, '.0')}`;
    }),
  );
});

test('the queries of the energy balance return what the balance endpoint returns', async () => {
  const roles = [
    { source: 'pv', role: 'production' },
    { source: 'load', role: 'consumption' },
  ];
  const noon = { '2026-06-01T10:00:00Z': 900, '2026-06-01T10:15:00Z': 600 };
  const at = await openBalance(
    { timezone: 'Europe/Paris', roles },
    { from: '2026-06-01', to: '2026-06-02' },
    [
      { device: deviceId(1), source: 'pv', wh: noon },
      { device: deviceId(2), source: 'load', wh: { '2026-06-01T10:00:00Z': 200 }, unlistedWh: 10 },
    ],
  );
  await at.renew();
  const ask = (resolution: string) =>
    at.ask(`balance?startDate=2026-06-01&endDate=2026-06-02&resolution=${resolution}`);
  const answerOf = async (title: string) => {
    const recipe = recipes.find((one) => one.title === title)!;
    return (await askRecipe(lakePaths(at.lakeDir, WORKGROUP).root, recipe)).rows;
  };
  const percent = (rate: unknown) => (rate === null ? null : expect.closeTo(100 * (rate as number), 1));
  const kwh = (wh: unknown) => (wh === null ? null : (wh as number) / 1_000);

  const selfConsumption = await answerOf('Self-consumption');
  expect(selfConsumption).toEqual(
    Object.entries(await ask('day')).map(([day, told]) => ({
      day,
      production_kwh: kwh(told.productionWh),
      self_consumed_kwh: kwh(told.selfConsumptionWh),
      self_consumption_percent: percent(told.selfConsumptionRate),
      consumption_kwh: kwh(told.consumptionWh),
      own_supply_kwh: kwh(told.selfSupplyWh),
      autarky_percent: percent(told.autarky),
      coverage: 1,
    })),
  );
  // 200 and 10 of 1,500 at noon, and nothing else.
  expect(selfConsumption[0]).toMatchObject({
    production_kwh: 1.5,
    self_consumed_kwh: 0.21,
    consumption_kwh: 1.15,
  });

  expect(await answerOf('Balance of a month')).toEqual(
    Object.entries(await ask('month')).map(([month, told]) => ({
      month: `${month}-01`,
      days: told.days,
      complete_days: told.completeDays,
      production_kwh: kwh(told.productionWh),
      import_kwh: kwh(told.gridImportWh),
      export_kwh: kwh(told.gridExportWh),
      charge_kwh: kwh(told.batteryChargeWh),
      discharge_kwh: kwh(told.batteryDischargeWh),
      consumption_kwh: kwh(told.consumptionWh),
      residual_kwh: kwh(told.residualWh),
      specific_yield: told.specificYield,
    })),
  );

  const perDay = Object.entries(await ask('interval'));
  const power = (field: string, time: string) =>
    Math.round(
      4 *
        mean(
          perDay.flatMap(([start, told]) =>
            localTime(Date.parse(start)).slice(11, 16) === time ? [told[field] as number] : [],
          ),
        ),
    );
  const average = await answerOf('Average day of a site');
  expect(average).toHaveLength(96);
  for (const row of average) {
    const time = row.quarter_hour as string;
    expect(row).toEqual({
      quarter_hour: time,
      production_w: power('productionWh', time),
      consumption_w: power('consumptionWh', time),
      import_w: power('gridImportWh', time),
      export_w: power('gridExportWh', time),
      intervals: 2,
    });
  }
});

/** The first row that differs from the expected one. */
function differences(found: readonly Row[], rows: readonly Row[]): string[] {
  if (found.length !== rows.length) return [`${found.length} rows instead of ${rows.length}`];
  const at = found.findIndex((row, index) => {
    try {
      expect(row).toEqual(rows[index]);
      return false;
    } catch {
      return true;
    }
  });
  return at < 0 ? [] : [`row ${at} is ${JSON.stringify(found[at])} instead of ${JSON.stringify(rows[at])}`];
}
