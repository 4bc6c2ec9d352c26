// @module-tag slow
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { openPage, signIn, testPage } from './support/open-page.ts';

const groundOf = (page: Page) =>
  page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);

testPage('the theme follows the system until a person chooses one, and the choice is kept', async () => {
  const { page, complaints } = await openPage({ colorScheme: 'dark' });
  await signIn(page, 'empty/overview');
  const dark = await groundOf(page);
  await page.getByRole('button', { name: 'Theme: system. Change to light' }).click();
  const light = await groundOf(page);
  expect(light).not.toBe(dark);
  await page.reload();
  await page.getByRole('button', { name: 'Theme: light. Change to dark' }).waitFor();
  expect(await groundOf(page)).toBe(light);
  await page.getByRole('button', { name: 'Theme: light. Change to dark' }).click();
  expect(await groundOf(page)).toBe(dark);
  await page.emulateMedia({ colorScheme: 'light' });
  expect(await groundOf(page), 'a chosen theme does not follow the system').toBe(dark);
  await page.getByRole('button', { name: 'Theme: dark. Change to system' }).click();
  expect(await groundOf(page)).toBe(light);
  expect(complaints).toEqual([]);
});

testPage('a printed page is light, has no controls, and says its period', async () => {
  const { page } = await openPage({ colorScheme: 'dark' });
  await signIn(page, 'home/energy');
  await page.locator('.column').first().waitFor();
  await page.emulateMedia({ media: 'print' });
  const shown = page.locator('main :is(select, input, .button, .choice a, .step), .pages a, .top .button');
  const seen = await shown.evaluateAll((all) => all.filter((one) => one.getClientRects().length > 0).length);
  expect(seen).toBe(0);
  expect(await page.locator('.period-name').isVisible()).toBe(true);
  const ink = await page.evaluate(() => getComputedStyle(document.body).color);
  await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
  expect(await page.evaluate(() => getComputedStyle(document.body).color)).toBe(ink);
});

testPage('a chosen period goes along to the other pages that have one', async () => {
  const { page } = await openPage();
  await signIn(page, 'home/energy?from=2026-09-01&to=2026-09-30&show=devices');
  const strip = page.getByRole('navigation', { name: 'Pages' });
  for (const name of ['Quality', 'Budgets', 'Energy']) {
    await strip.getByRole('link', { name }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    expect(new URL(page.url()).hash).toBe(`#/home/${name.toLowerCase()}?from=2026-09-01&to=2026-09-30`);
  }
  await strip.getByRole('link', { name: 'Energy' }).click();
  await expect.poll(() => new URL(page.url()).hash).toBe('#/home/energy');
  await strip.getByRole('link', { name: 'Devices' }).click();
  await expect.poll(() => new URL(page.url()).hash).toBe('#/home/devices');
});

testPage('all pages can be reached from the strip on a phone', async () => {
  const { page } = await openPage({ viewport: { width: 360, height: 800 } });
  await signIn(page, 'empty/overview');
  const strip = page.getByRole('navigation', { name: 'Pages' });
  await strip.getByRole('link', { name: 'Configuration' }).click();
  await page.getByRole('heading', { name: 'Configuration' }).waitFor();
  const current = strip.locator('[aria-current]');
  const box = await current.boundingBox();
  expect(box!.x).toBeGreaterThanOrEqual(0);
  expect(box!.x + box!.width).toBeLessThanOrEqual(360);
});
