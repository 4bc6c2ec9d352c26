// @module-tag slow
import { expect } from 'vitest';
import { openPage, signIn, testPage } from './support/open-page.ts';
import { GARAGE } from './support/serve-page.ts';

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

testPage('a workgroup without sites says what to do', async () => {
  const { page } = await openPage();
  await signIn(page, 'empty/budgets');
  await page.getByText('No site with meters').waitFor();
  await page.goto('/#/empty/devices');
  await page.getByText('No devices').waitFor();
  await page.goto('/#/empty/exports');
  await page.getByText('No closed day has changed').waitFor();
});
