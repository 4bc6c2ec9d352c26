import { expect } from 'vitest';
import type { DayDetails, DeviceStatuses, Variance } from '../../src/web/facts/answers.ts';
import { ask, openPage, served, signIn, testPage } from './support/open-page.ts';
import { GARAGE } from './support/serve-page.ts';

testPage('the devices are those of the endpoint, with the energy of yesterday', async () => {
  const { yesterday } = served();
  const { page, complaints } = await openPage();
  await signIn(page, 'home/devices');
  const rows = page.locator('tbody tr');
  await rows.first().waitFor();
  const statuses = await ask<DeviceStatuses>('home/device-status');
  expect(await rows.locator('th').allTextContents()).toHaveLength(Object.keys(statuses).length);
  const details = await ask<DayDetails>(
    `home/daily-energy/details?startDate=${yesterday}&endDate=${yesterday}`,
  );
  for (const [id, { name, state, reason, lastSeen }] of Object.entries(statuses)) {
    const row = page.getByRole('row', { name: new RegExp(`^${name}`) });
    const words = await row.textContent();
    // The watch of devices may not have seen its messages yet.
    const isHeard = state === 'unknown' && lastSeen !== null;
    expect(words).toContain(isHeard ? 'sends data' : reason === 'asleep' ? 'asleep' : state);
    const energyWh = details[yesterday]?.[id]?.energyWh;
    await expect.poll(async () => row.locator('data').first().getAttribute('value')).toBe(String(energyWh));
  }
  expect(await page.locator('.sentence').first().textContent()).toContain(
    `of ${Object.keys(statuses).length}`,
  );
  expect(complaints).toEqual([]);
});

testPage('a device shows its limits and leads to its day', async () => {
  const { page } = await openPage();
  await signIn(page, 'shop/devices');
  await page.getByRole('link', { name: 'garage' }).click();
  const card = page.locator('.device-card');
  await card.locator('.column').first().waitFor();
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('device');
  await card.getByText('Limits by which its readings are judged').click();
  const limit = card.getByRole('row', { name: /Highest power/ });
  expect(await limit.textContent()).toContain('1.00\u00a0MW');
  expect(await limit.textContent()).toContain('configured');
  await card.getByRole('link', { name: 'Its day' }).click();
  await page.getByRole('heading', { name: 'Day', exact: true }).waitFor();
  expect(page.url()).toContain(GARAGE);
});

testPage('a list of devices can be narrowed by state, and nothing found is said', async () => {
  const { page } = await openPage();
  await signIn(page, 'home/devices?find=battery');
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
  await page.goto('/#/home/devices?find=nobody');
  await page.getByText('No device is found').waitFor();
});

testPage('a budget is that of the endpoint, and the meters equal the devices', async () => {
  const { yesterday } = served();
  const { page, complaints } = await openPage();
  await signIn(page, `shop/budgets?from=${yesterday}&to=${yesterday}`);
  await page.locator('.column').first().waitFor();
  const { total } = await ask<Variance>(
    `shop/sites/garage/variance?startDate=${yesterday}&endDate=${yesterday}`,
  );
  expect(total.budgetWh).toBe(200_000);
  const amounts = page.locator('.sentence data');
  expect(await amounts.first().getAttribute('value')).toBe(String(total.actualWh));
  expect(await amounts.nth(1).getAttribute('value')).toBe('200000');
  expect(await page.locator('.sentence').first().textContent()).toContain(
    `${total.variancePercent!.toFixed(1)}\u00a0% above the budget`,
  );
  await page.getByRole('heading', { name: 'garage: meters against devices' }).waitFor();
  // The misread register leaves a part of the day unmeasured.
  await page.getByText('Incomplete days, which are not compared').waitFor();
  expect(complaints).toEqual([]);
});

testPage('a workgroup without sites says what to do', async () => {
  const { page } = await openPage();
  await signIn(page, 'empty/budgets');
  await page.getByText('No site with meters').waitFor();
  await page.goto('/#/empty/devices');
  await page.getByText('No devices').waitFor();
  await page.goto('/#/empty/exports');
  await page.getByText('No closed day has changed').waitFor();
});
