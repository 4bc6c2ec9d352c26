// @module-tag slow
import { expect } from 'vitest';
import { openPage, served, signIn, testPage } from './support/open-page.ts';
import { GARAGE } from './support/serve-page.ts';

testPage('the first touch of a picture shows its values, and the second one leads on', async () => {
  const { yesterday } = served();
  const { page } = await openPage({ viewport: { width: 390, height: 780 }, hasTouch: true });
  await signIn(page, `shop/quality?from=${yesterday}&to=${yesterday}`);
  // Each cell lies below a link to its explanation while it is shown, and the first one always.
  const cell = page.locator('.heat-active');
  await cell.waitFor();
  const view = page.url();
  await cell.tap();
  const words = page.locator('.readout-line');
  await expect.poll(() => words.textContent()).toMatch(/^garage, .*jump/);
  expect(page.url()).toBe(view);
  await cell.tap();
  await expect.poll(() => page.url()).toContain(`/why?device=${GARAGE}`);

  await page.goto(`/#/shop/energy?from=${yesterday}&to=${yesterday}`);
  const column = page.locator('.column').first();
  await column.waitFor();
  await column.tap();
  await page.locator('.column.active').waitFor();
  expect(page.url()).toContain('/energy');
  await column.tap();
  await expect.poll(() => page.url()).toContain(`/day?day=${yesterday}`);
  // The page names what the flags of the day doubt, and leads to it first.
  await page.getByText('garage is marked: look before you trust it.').waitFor();
});
