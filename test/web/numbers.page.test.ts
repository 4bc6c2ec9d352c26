// @module-tag slow
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Balances, DailyEnergy } from '../../src/web/facts/answers.ts';
import { tempDir } from '../support/temp-dir.ts';
import { ask, openPage, served, signIn, testPage } from './support/open-page.ts';

type Row = Array<number | null>;

/** The exact Wh of the table of a page, row by row; null for a dash. The last column has words. */
async function tableOf(page: Page, captions = 'Energy'): Promise<Row[]> {
  const table = page.locator('table', { has: page.locator('caption', { hasText: captions }) });
  await table.waitFor();
  return table.locator('tbody tr').evaluateAll((rows) =>
    rows.map((row) =>
      [...row.querySelectorAll('td.number')].map((cell) => {
        const amount = cell.querySelector('data');
        return amount ? Number(amount.value) : null;
      }),
    ),
  );
}

testPage('the balance of a period is that of the endpoint, in the table and in the file', async () => {
  const { yesterday } = served();
  const { page, complaints } = await openPage();
  await signIn(page, `home/energy?from=${yesterday}&to=${yesterday}&show=balance`);
  const rows = await tableOf(page);
  const { [yesterday]: balance } = await ask<Balances>(
    `home/balance?startDate=${yesterday}&endDate=${yesterday}`,
  );
  const expected = [
    balance!.productionWh,
    balance!.batteryDischargeWh,
    balance!.gridImportWh,
    balance!.consumptionWh,
    balance!.batteryChargeWh,
    balance!.gridExportWh,
  ];
  expect(expected.some((wh) => wh !== null && wh > 0)).toBe(true);
  expect(rows).toEqual([expected]);

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  const saved = join(tempDir(), 'energy.csv');
  await download.saveAs(saved);
  const file = readFileSync(saved, 'utf8');
  expect(file.split('\r\n')[1]).toMatch(
    new RegExp(`^${yesterday},${expected.map((wh) => wh ?? '').join(',')},`),
  );
  expect(download.suggestedFilename()).toBe(`home-balance-${yesterday}-${yesterday}.csv`);
  expect(complaints).toEqual([]);
});

testPage('meters and sites are those of their endpoints', async () => {
  // Late readings may still come for yesterday.
  const day = shiftDay(served().yesterday, -1);
  const { page } = await openPage();
  await signIn(page, `home/energy?from=${day}&to=${day}&show=meters`);
  await page.getByRole('columnheader', { name: 'grid operator' }).waitFor();
  const meters = await ask<DailyEnergy>(`home/meter-data?startDate=${day}&endDate=${day}`);
  expect(meters[day]!.GRID).toBeGreaterThan(0);
  expect(await tableOf(page)).toEqual([[meters[day]!.GRID]]);

  await page.getByLabel('Show').selectOption('Site roof');
  await page.getByRole('columnheader', { name: 'Production' }).waitFor();
  const { [day]: site } = await ask<Balances>(`home/sites/roof/balance?startDate=${day}&endDate=${day}`);
  const [row] = await tableOf(page);
  expect(row).toContain(site!.productionWh);
  expect(site!.productionWh).toBeGreaterThan(0);
});

testPage('days without data are hatched, and no zero stands in their place', async () => {
  const { yesterday } = served();
  const later = yesterday.replace(/^\d{4}/, (year) => String(Number(year) + 1));
  const { page } = await openPage();
  await signIn(page, `home/energy?from=2020-01-01&to=2020-01-02&show=devices`);
  await page.getByText('No energy in this period').waitFor();
  await page.goto(`/#/home/energy?from=${later}&to=${later}&show=devices`);
  await page.getByText('No energy in this period').waitFor();
  await page.goto(`/#/shop/energy?from=${yesterday}&to=${shiftDay(yesterday, 1)}&show=devices`);
  await page.locator('.column').first().waitFor();
  expect(await page.locator('.column.provisional').count()).toBeGreaterThan(0);
  expect(await page.locator('.column').count()).toBe(2);
});

testPage('columns and cells are read with the arrow keys, and lead on with Enter', async () => {
  const { yesterday } = served();
  const { page } = await openPage();
  await signIn(page, `home/energy?from=${shiftDay(yesterday, -1)}&to=${yesterday}&show=devices`);
  await page.locator('.column').first().waitFor();
  await page.locator('.column[tabindex="0"]').focus();
  await page.keyboard.press('ArrowLeft');
  const label = await page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
  expect(label).toContain('kWh');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toContain(`/day?day=${yesterday}`);
  await page.goBack();
  await page.locator('.column').first().waitFor();

  const entry = page.locator('.legend-item').first();
  const faded = page.locator('.column .faded');
  expect(await faded.count()).toBe(0);
  await entry.focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => faded.count(), { message: 'one series is before the others' }).toBeGreaterThan(0);
  expect(await entry.getAttribute('aria-pressed')).toBe('true');
  await page.keyboard.press('Enter');
  await expect.poll(() => faded.count()).toBe(0);

  await page.goto('/#/shop/quality');
  await page.locator('.heat-active').focus();
  await expect.poll(() => page.locator('.heat-active').getAttribute('aria-label')).toContain('205,000');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Why this number' }).waitFor();
});

function shiftDay(day: string, count: number): string {
  return new Date(Date.parse(day) + count * 86_400_000).toISOString().slice(0, 10);
}
