import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { addDays } from '../../src/lib/time.ts';
import type { DailyEnergy } from '../../src/web/facts/answers.ts';
import { ask, openPage, served, signIn, testPage } from './support/open-page.ts';
import { GARAGE } from './support/serve-page.ts';

/** What analysts read from the files of a workgroup: the Wh of a day, by device and source. */
async function readLake(workgroupId: string, day: string): Promise<Record<string, number>> {
  const files = join(served().dataDir, 'lake', workgroupId, 'current', 'daily_energy', '**', '*.parquet');
  const instance = await DuckDBInstance.create();
  try {
    const connection = await instance.connect();
    const sql = `
      SELECT device || '.' || source, energy_wh::DOUBLE
      FROM read_parquet('${files}', hive_partitioning = true)
      WHERE day = '${day}' AND energy_wh IS NOT NULL`;
    const rows = (await connection.runAndReadAll(sql)).getRowsJS() as Array<[string, number]>;
    return Object.fromEntries(rows);
  } finally {
    instance.closeSync();
  }
}

/** The Wh of a day in the lake, largest first, when they are those of the endpoint. The folders follow the reports within a minute. */
async function lakeOf(workgroupId: string, day: string): Promise<number[]> {
  const { [day]: reported } = await ask<DailyEnergy>(
    `${workgroupId}/daily-energy?startDate=${day}&endDate=${day}&groupBy=source`,
  );
  await expect.poll(() => readLake(workgroupId, day)).toEqual(reported);
  return Object.values(reported!).toSorted((a, b) => b - a);
}

/** The largest sources have a column each. The others are one. */
const OWN_COLUMNS = 7;

/** All energies that an element of the page shows, in Wh. */
function amountsOf(page: Page, selector: string): Promise<number[]> {
  return page
    .locator(`${selector} data.amount`)
    .evaluateAll((amounts) => amounts.map((amount) => Number(amount.getAttribute('value'))));
}

testPage(
  'the energy of a day is the same in the lake, at its endpoint, and on every page that shows it',
  async () => {
    const { yesterday } = served();
    const [energyWh] = await lakeOf('shop', yesterday);
    expect(energyWh).toBe(205_000);
    const { page } = await openPage();
    await signIn(page, 'shop/overview');
    const expectOn = async (view: string, selector: string) => {
      await page.goto(`/#/shop/${view}`);
      await expect.poll(() => amountsOf(page, selector), { message: view }).toContain(energyWh);
    };
    await expectOn('overview', '.tile');
    await expectOn(`energy?from=${yesterday}&to=${yesterday}&show=devices`, 'tbody');
    await expectOn(`energy?from=${yesterday}&to=${yesterday}&show=meters`, 'tbody');
    await expectOn(`why?device=${GARAGE}&day=${yesterday}`, '.facts');
    await expectOn('devices', 'tbody');
    await expectOn(`budgets?from=${yesterday}&to=${yesterday}`, '.sentence');
    await page.goto(`/#/shop/quality?from=${yesterday}&to=${yesterday}&show=energy`);
    await expect
      .poll(() => page.locator('.heat-active').getAttribute('aria-label'))
      .toContain(energyWh!.toLocaleString('en-GB'));
  },
);

testPage('each device and source of a day has the energy of the lake', async () => {
  // Late readings may still come for yesterday.
  const day = addDays(served().yesterday, -1);
  const inLake = await lakeOf('home', day);
  const { page } = await openPage();
  await signIn(page, `home/energy?from=${day}&to=${day}&show=sources`);
  await page.locator('tbody data.amount').first().waitFor();
  const others = inLake.splice(OWN_COLUMNS);
  const sumOf = (amounts: number[]) => amounts.reduce((sum, wh) => sum + wh, 0);
  expect(others.length).toBeGreaterThan(1);
  expect(await amountsOf(page, 'tbody')).toEqual([...inLake, sumOf(others), sumOf([...inLake, ...others])]);
});
