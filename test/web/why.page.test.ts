// @module-tag slow
import { expect } from 'vitest';
import { openPage, signIn, testPage } from './support/open-page.ts';
import { GARAGE } from './support/serve-page.ts';

testPage('a day without energy says so, and leads to the nearest day that has some', async () => {
  const { page } = await openPage();
  await signIn(page, `shop/why?device=${GARAGE}&day=2031-01-01`);
  await page.getByText('2031-01-01 has not begun').waitFor();
  await page.locator('.links .chip').click();
  await page.locator('.facts .big data').waitFor();
  expect(new URL(page.url()).hash).not.toContain('2031');
});
