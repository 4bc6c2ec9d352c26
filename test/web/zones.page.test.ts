// @module-tag slow
import { expect } from 'vitest';
import { addDays } from '../../src/lib/time.ts';
import type { DailyEnergy, Profiles } from '../../src/web/facts/answers.ts';
import { ask, openPage, served, signIn, testPage } from './support/open-page.ts';
import { GARAGE } from './support/serve-page.ts';

testPage('a day on which the clocks change by half an hour has its own number of quarters', async () => {
  const { clockDay } = served();
  const { page, complaints } = await openPage();
  const { [clockDay]: profile } = await ask<Profiles>(
    `island/interval-energy?startDate=${clockDay}&endDate=${clockDay}`,
  );
  expect([94, 98]).toContain(profile!.intervals);
  await signIn(page, `island/day?day=${clockDay}`);
  await expect.poll(() => page.locator('.column').count()).toBe(profile!.intervals);
  const { [clockDay]: day } = await ask<DailyEnergy>(
    `island/daily-energy?startDate=${clockDay}&endDate=${clockDay}`,
  );
  expect(day![GARAGE]).toBe(profile!.intervals * 1_000);
  expect(await page.locator('.readout-name data').first().getAttribute('value')).toBe(String(day![GARAGE]));
  expect(await page.locator('.foot').textContent()).toContain('Australia/Lord_Howe');
  expect(complaints).toEqual([]);

  const step = (name: string) => page.getByRole('link', { name });
  expect(await step('Day before').getAttribute('href')).toContain(`day=${addDays(clockDay, -1)}`);
  expect(await step('Day after').getAttribute('href')).toContain(`day=${addDays(clockDay, 1)}`);
  const today = (await page.locator('input[type=date]').first().getAttribute('max'))!;
  await page.goto(`/#/island/day?day=${today}`);
  await expect.poll(() => step('Day before').getAttribute('href')).toContain(`day=${addDays(today, -1)}`);
  expect(await step('Day after').count()).toBe(0);
});

testPage(
  'energy, quality and explanation of that day are those of the zone, in a browser far away',
  async () => {
    const { clockDay } = served();
    const { page, complaints } = await openPage({ timezoneId: 'America/Los_Angeles' });
    const { [clockDay]: day } = await ask<DailyEnergy>(
      `island/daily-energy?startDate=${clockDay}&endDate=${clockDay}`,
    );
    const energy = String(day![GARAGE]);
    await signIn(page, `island/energy?from=${clockDay}&to=${clockDay}&show=devices`);
    await expect.poll(() => page.locator('td.number data').first().getAttribute('value')).toBe(energy);
    await page.goto(`/#/island/quality?from=${clockDay}&to=${clockDay}`);
    await page.locator('.heat-active').focus();
    await expect
      .poll(() => page.locator('.heat-active').getAttribute('aria-label'))
      .toMatch(/100\s% measured/);
    await page.keyboard.press('Enter');
    await page.locator('.reading-line').waitFor();
    expect(await page.locator('.facts .big data').getAttribute('value')).toBe(energy);
    await page.getByText('All readings').click();
    // The readings begin and end at midnights of the island.
    const rows = page.locator('table', { hasText: '1,000,000' }).locator('tbody tr');
    expect(await rows.first().textContent()).toMatch(/00:00:00/);
    expect(complaints).toEqual([]);
  },
);

testPage('a day can be shown in another zone, cut at the midnights of that zone', async () => {
  const { clockDay } = served();
  const { page, complaints } = await openPage({ timezoneId: 'Australia/Adelaide' });
  await signIn(page, `island/day?day=${clockDay}`);
  await page.locator('.column').first().waitFor();
  await page.getByLabel('Time zone').selectOption('UTC');
  await expect.poll(() => page.locator('.column').count()).toBe(96);
  expect(page.url()).toContain('zone=UTC');
  const { [clockDay]: profile } = await ask<Profiles>(
    `island/interval-energy?startDate=${clockDay}&endDate=${clockDay}`,
  );
  // Only the quarters of the island's day that also belong to the day of UTC have energy.
  const endMs = Date.parse(profile!.start) + profile!.intervals * 900_000;
  const shared = (endMs - Date.parse(`${clockDay}T00:00:00Z`)) / 900_000;
  expect(await page.locator('.readout-name data').first().getAttribute('value')).toBe(String(shared * 1_000));
  const zones = await page.getByLabel('Time zone').locator('option').allTextContents();
  expect(zones).toContain('Australia/Adelaide, this browser');
  expect(complaints).toEqual([]);
});
