// @module-tag slow
import { expect } from 'vitest';
import { pageNames } from '../../src/web/app/address.ts';
import { openPage, signIn, testPage } from './support/open-page.ts';

testPage(
  'a workgroup without any data has words on every page, and nothing that is not a number',
  async () => {
    const { page, complaints, answers } = await openPage();
    await signIn(page, 'empty/overview');
    for (const view of [...pageNames, 'quality?by=device', 'energy?show=devices']) {
      await page.goto(`/#/empty/${view}`);
      await page.locator('main .empty, main .sentence, main .card').first().waitFor();
      await expect
        .poll(() => page.locator('main :is(.loading, .failed, .stale)').count(), { message: view })
        .toBe(0);
      expect(await page.locator('nav.pages [aria-current]').count(), view).toBe(1);
      // The heading is still there when everything has been read.
      expect(await page.locator('main h1').count(), view).toBe(1);
      const words = (await page.locator('main').textContent())!;
      expect(words, view).not.toMatch(/NaN|undefined|null|Infinity|Invalid|\[object/);
      expect(words.length, view).toBeGreaterThan(30);
    }
    // Once a generation without devices is published, the answer to a balance is 404: no source has a role.
    const isExpected = ({ status, url }: (typeof answers)[number]) =>
      status < 400 || (status === 404 && url.includes('/balance?'));
    expect(answers.filter((answer) => !isExpected(answer))).toEqual([]);
    expect(complaints).toEqual([]);
  },
);

testPage('a page that is hidden asks nothing, and unchanged answers are not sent again', async () => {
  const { page, answers, inFlight } = await openPage();
  await page.clock.install();
  await signIn(page, 'shop/overview');
  await page.locator('.overview .heat').first().waitFor();
  const reports = () => answers.filter(({ url }) => url.includes('/api/v1/'));
  await expect
    .poll(async () => {
      await page.clock.runFor(5_000);
      return reports().some(({ status, etag }) => status === 304 && etag !== undefined);
    })
    .toBe(true);

  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { value: true, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  // What has begun before may ask for more.
  let before = -1;
  await expect
    .poll(async () => {
      before = reports().length;
      await page.clock.runFor(100);
      return inFlight() === 0 && reports().length === before;
    })
    .toBe(true);
  await page.clock.runFor(300_000);
  await expect.poll(inFlight).toBe(0);
  expect(reports().length).toBe(before);

  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { value: false, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await expect.poll(() => reports().length).toBeGreaterThan(before);
});

testPage('a page keeps what it has while the service cannot be reached, and says so', async () => {
  const { page } = await openPage();
  await page.clock.install();
  await signIn(page, 'shop/overview');
  await page.locator('.overview .heat').first().waitFor();
  await page.context().setOffline(true);
  await expect
    .poll(async () => {
      await page.clock.runFor(5_000);
      return page.locator('.stale').count();
    })
    .toBe(1);
  expect(await page.locator('.stale').textContent()).toContain('cannot be reached');
  await page.locator('.overview .heat').first().waitFor();
  await page.context().setOffline(false);
  await expect
    .poll(async () => {
      await page.clock.runFor(60_000);
      return page.locator('.stale').count();
    })
    .toBe(0);
});

testPage('what a busy service refused is asked for again after a few seconds', async () => {
  const { page, answers } = await openPage();
  await page.clock.install();
  await page.route('**/quarantine', (route) => route.fulfill({ status: 503, body: '{}' }), { times: 1 });
  await signIn(page, 'empty/pipeline');
  const statuses = () => answers.filter(({ url }) => url.endsWith('/quarantine')).map(({ status }) => status);
  await expect.poll(statuses).toEqual([503]);
  await page.locator('main .failed').first().waitFor();
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 100));
  await page.clock.runFor(5_000);
  await expect.poll(() => statuses().slice(0, 2)).toEqual([503, 200]);
});
