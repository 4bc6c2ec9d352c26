// @module-tag slow
import { expect } from 'vitest';
import { addDays, localDateOf } from '../../src/lib/time.ts';
import type { Balances, DayDetails } from '../../src/web/facts/answers.ts';
import { ask, served, testPage } from './support/open-page.ts';
import { readLake } from './support/read-lake.ts';

// That the pages show what the endpoints say, is tested with every number. Here the endpoints are compared
// with what analysts read.

const range = () => {
  const today = localDateOf(Date.now(), 'Europe/Berlin');
  return { from: addDays(today, -29), today };
};

/** The folders follow the reports within a minute. */
for (const id of ['home', 'shop', 'past', 'island', 'plants'])
  testPage(
    `the energy, coverage and version of each day of ${id} are the same in the lake and at the endpoint`,
    async () => {
      const { today } = range();
      const { clockDay } = served();
      // Of 400 devices a week has as many values as others have in a year.
      const from = addDays(today, id === 'plants' ? -7 : -29);
      const days = id === 'island' ? { from: clockDay, to: clockDay } : { from, to: today };
      const ofEndpoint = async () => {
        const details = await ask<DayDetails>(
          `${id}/daily-energy/details?startDate=${days.from}&endDate=${days.to}&groupBy=source`,
        );
        return Object.entries(details)
          .flatMap(([day, values]) =>
            Object.entries(values).map(([key, { energyWh, coverage, version }]) => [
              day,
              key,
              energyWh,
              Number(coverage.toFixed(4)),
              version,
            ]),
          )
          .sort(byText);
      };
      const ofLake = async () => {
        const rows = await readLake(
          id,
          (files) => `
          SELECT day::VARCHAR, device || '.' || source, energy_wh::DOUBLE, round(coverage, 4)::DOUBLE, version::DOUBLE
          FROM ${files('daily_energy')}
          WHERE day BETWEEN '${days.from}' AND '${days.to}'`,
        );
        return rows.sort(byText);
      };
      const rows = await ofEndpoint();
      expect(rows.length).toBeGreaterThan(0);
      await expect.poll(async () => JSON.stringify(await ofLake())).toBe(JSON.stringify(await ofEndpoint()));
    },
  );

const byText = (a: ReadonlyArray<unknown>, b: ReadonlyArray<unknown>) =>
  String(a.slice(0, 2)) < String(b.slice(0, 2)) ? -1 : 1;

testPage('the balance of each day is the same in the lake and at the endpoint', async () => {
  const { from, today } = range();
  const ofEndpoint = async () => {
    const balances = await ask<Balances>(`home/balance?startDate=${from}&endDate=${today}`);
    return Object.entries(balances)
      .filter(([, { productionWh, consumptionWh }]) => productionWh !== null || consumptionWh !== null)
      .map(([day, one]) => [
        day,
        one.productionWh,
        one.consumptionWh,
        one.gridImportWh,
        one.gridExportWh,
        one.batteryChargeWh,
        one.batteryDischargeWh,
      ]);
  };
  expect((await ofEndpoint()).length).toBeGreaterThan(5);
  await expect
    .poll(() =>
      readLake(
        'home',
        () => `
          SELECT day::VARCHAR, production_wh::DOUBLE, consumption_wh::DOUBLE, grid_import_wh::DOUBLE, grid_export_wh::DOUBLE,
            battery_charge_wh::DOUBLE, battery_discharge_wh::DOUBLE
          FROM views.balance_daily
          WHERE scope = 'workgroup' AND day BETWEEN '${from}' AND '${today}' AND (production_wh IS NOT NULL OR consumption_wh IS NOT NULL)
          ORDER BY day`,
      ),
    )
    .toEqual(await ofEndpoint());
});
