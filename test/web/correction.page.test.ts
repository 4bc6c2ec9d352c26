// @module-tag slow
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { DailyEnergy } from '../../src/web/facts/answers.ts';
import { ASKING, ask, askAgain, openPage, served, signIn, testPage } from './support/open-page.ts';
import { GARAGE } from './support/serve-page.ts';

const big = '.facts .big data';

/** The energy of the day, which follows when the page asks again. */
async function untilBig(page: Page, wh: string): Promise<void> {
  await expect
    .poll(async () => {
      await askAgain(page);
      return page.locator(big).getAttribute('value');
    }, ASKING)
    .toBe(wh);
}

testPage('the way from the overview to the reading that spoilt a day, its correction, and back', async () => {
  const { yesterday } = served();
  const { page, complaints } = await openPage();
  await signIn(page, 'mended/overview');
  const line = page.locator('.attention li', { hasText: 'the register jumped' });
  await line.getByRole('link').click();
  await expect.poll(() => page.locator(big).getAttribute('value')).toBe('205000');
  await page.getByText('(1,427,500 - 1,233,000) + (1,261,000 - 1,250,500) = 205,000 Wh').waitFor();
  expect(await page.locator('.flag-reasons').textContent()).toContain('1,427,500');

  await page.getByText('All readings').click();
  await page
    .getByRole('row', { name: /1,427,500/ })
    .getByRole('button', { name: 'Leave out' })
    .click();
  const form = page.locator('.correction-form');
  await form.getByRole('button', { name: 'Show what would change' }).waitFor();
  expect(await form.textContent()).toContain('13:00:00');
  await form.getByLabel('Reason').fill('a digit was misread');
  await form.getByRole('button', { name: 'Show what would change' }).click();
  await form.getByRole('cell', { name: '28,000 Wh' }).waitFor();
  const before = await ask<DailyEnergy>(`mended/daily-energy?startDate=${yesterday}&endDate=${yesterday}`);
  expect(before[yesterday]![GARAGE], 'nothing is stored by looking').toBe(205_000);

  await form.getByRole('button', { name: 'Store the correction' }).click();
  await untilBig(page, '28000');
  await page.locator('.corrections', { hasText: 'a digit was misread' }).waitFor();
  await page.locator('.unused-excluded').first().waitFor();
  await expect
    .poll(
      async () =>
        (await ask<DailyEnergy>(`mended/daily-energy?startDate=${yesterday}&endDate=${yesterday}`))[
          yesterday
        ],
      {
        timeout: 30_000,
      },
    )
    .toEqual({ [GARAGE]: 28_000 });

  await page.getByRole('button', { name: /^Undo correction/ }).click();
  await form.getByLabel('Reason').fill('to leave the other tests what they expect');
  await form.getByRole('button', { name: 'Show what would change' }).click();
  await form.getByRole('button', { name: 'Store the correction' }).click();
  await untilBig(page, '205000');
  expect(complaints).toEqual([]);
});

testPage('a wrong correction is refused with the words of the service', async () => {
  const { yesterday } = served();
  const { page } = await openPage();
  await signIn(page, `shop/why?device=${GARAGE}&day=${yesterday}`);
  await page.getByRole('button', { name: 'Set the energy of the day' }).click();
  const form = page.locator('.correction-form');
  await form.getByLabel('Energy of').fill('28.4 kWh');
  await form.getByLabel('Reason').fill('the bill');
  await form.getByRole('button', { name: 'Show what would change' }).click();
  await expect.poll(() => form.getByRole('alert').textContent()).toContain('whole Wh');
  await form.getByLabel('Energy of').fill('28400');
  await form.getByRole('button', { name: 'Show what would change' }).click();
  await form.getByRole('cell', { name: '28,400 Wh' }).waitFor();
  await form.getByRole('button', { name: 'Cancel' }).click();
  await form.waitFor({ state: 'detached' });
});
