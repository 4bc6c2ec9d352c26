// @module-tag slow
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { addDays } from '../../src/lib/time.ts';
import type { DailyEnergy, Profiles, QualityAnswer } from '../../src/web/facts/answers.ts';
import { filledDevices } from '../support/fill-days.ts';
import { drawnCells } from './support/drawn-cells.ts';
import { stateOf } from './support/expected-flags.ts';
import { ask, openPage, served, signIn, testPage, untilComplete } from './support/open-page.ts';

const ANSWER_BYTES_MAX = 1_000_000;

const goTo = (page: Page, view: string) => signIn(page, `plants/${view}`);

testPage('a year of 400 devices is one picture that can be read, scrolled and followed', async () => {
  const { page, complaints } = await openPage();
  const { firstDay, devices: deviceCount } = served().plants;
  const [from, to] = [addDays(firstDay, 365), addDays(firstDay, 729)];
  await goTo(page, `quality?from=${from}&to=${to}`);
  await page.locator('.heat path').first().waitFor();
  expect(await page.locator('.row-name').count()).toBe(deviceCount);
  const { devices, kinds } = await ask<QualityAnswer>(`plants/quality?startDate=${from}&endDate=${to}`);
  const expected = new Map(
    filledDevices(deviceCount).map(({ id, name }) => {
      const first = devices[id]!.findIndex((kind) => kind !== null);
      const states = devices[id]!.map((kind, index) =>
        kind === null ? (index < first ? 'future' : 'missing') : stateOf(kinds[kind]!.flags),
      );
      return [name, states];
    }),
  );
  const names = await page.locator('.row-name').allTextContents();
  const drawn = await drawnCells(page, 365);
  const wrong = names.filter((name, row) => String(drawn[row]) !== String(expected.get(name)));
  expect(wrong, 'each of 146,000 cells has the state of its day').toEqual([]);

  const active = page.locator('.heat-active');
  const nameOf = async (place: 'first' | 'last') => (await page.locator('.row-name')[place]().textContent())!;
  await active.focus();
  expect(await active.getAttribute('aria-label')).toContain(`${await nameOf('first')}, `);
  for (let step = 0; step < 60; step++) await page.keyboard.press('ArrowDown');
  const rows = page.locator('.heat-rows');
  await expect
    .poll(() => rows.evaluate((element) => element.scrollTop), { message: 'the cell stays in sight' })
    .toBeGreaterThan(0);

  // The last row is below, and the names of the days stay where they are.
  const axis = await page.locator('.heat-axis').boundingBox();
  await rows.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  const box = (await rows.boundingBox())!;
  expect((await page.locator('.heat-axis').boundingBox())!.y).toBe(axis!.y);
  const name = await nameOf('last');
  const { id } = filledDevices(deviceCount).find((one) => one.name === name)!;
  const lastRow = (await page.locator('.row-name').last().boundingBox())!;
  const y = lastRow.y + lastRow.height / 2;
  expect(y).toBeLessThan(box.y + box.height);

  // A day with a flag is one of 365 narrow cells.
  const index = devices[id]!.findIndex((kind) => kind !== null && kinds[kind]!.flags.length > 0);
  const [flag] = kinds[devices[id]![index]!]!.flags;
  const picture = (await page.locator('.heat-rows svg').boundingBox())!;
  // The names of rows are as wide as they need.
  const cellsX = Math.min(
    ...(
      await Promise.all((await page.locator('.heat-rows .cell').all()).map((cell) => cell.boundingBox()))
    ).map((cell) => cell!.x),
  );
  const x = cellsX + ((index + 0.5) * (picture.x + picture.width - cellsX)) / 365;
  await page.mouse.move(x, y);
  await expect.poll(() => page.locator('.readout-line').textContent()).toContain(flag);
  expect(await page.locator('.readout-line').textContent()).toContain(`${name}, `);
  await page.mouse.click(x, y);
  await page.getByRole('heading', { name: 'Why this number' }).waitFor();
  expect(page.url()).toContain(`device=${id}&day=${addDays(from, index)}`);
  await page.goBack();
  await page.locator('.heat path').first().waitFor();
  await page.getByRole('link', { name: 'Period before' }).click();
  await expect.poll(() => page.url()).toContain(`from=${firstDay}`);
  await expect.poll(() => page.locator('.row-name').count()).toBe(deviceCount);
  expect(complaints).toEqual([]);
});

testPage('no answer of any page is above a megabyte with 400 devices and three years', async () => {
  const watched = await openPage();
  const { page, complaints } = watched;
  const sizes: Array<Promise<[url: string, bytes: number]>> = [];
  page.on('response', (response) => {
    sizes.push(
      response.body().then(
        ({ length }) => [response.url(), length],
        () => [response.url(), 0],
      ),
    );
  });
  const { yesterday, plants } = served();
  const { firstDay } = plants;
  for (const [view, shown] of [
    ['overview', '.overview .heat path'],
    [`energy?show=devices&from=${firstDay}&to=${yesterday}`, '.column'],
    [`quality?by=source&from=${addDays(yesterday, -91)}&to=${yesterday}`, '.heat path'],
    ['quality', '.heat path'],
    ['devices', '.day-spark'],
    [`day?day=${yesterday}`, '.column'],
    ['budgets', '.empty'],
    ['exports', '.empty'],
    ['pipeline', '.chain'],
    ['configuration', '#in-force'],
  ]) {
    await goTo(page, view!);
    await page.locator(shown!).first().waitFor();
    await untilComplete(watched);
  }
  const large = (await Promise.all(sizes)).filter(([, bytes]) => bytes > ANSWER_BYTES_MAX);
  expect(large).toEqual([]);
  expect(complaints).toEqual([]);
});

testPage('a day of 400 devices has all of their energy, and asks for the largest sources only', async () => {
  const { yesterday } = served();
  const { page, answers, complaints } = await openPage();
  await goTo(page, `day?day=${yesterday}`);
  await page.locator('.column').first().waitFor();
  const days = `startDate=${yesterday}&endDate=${yesterday}`;
  const { [yesterday]: energy } = await ask<DailyEnergy>(`plants/daily-energy?${days}`);
  const all = Object.values(energy!);
  expect(all.length).toBeGreaterThan(350);
  const sum = all.reduce((total, wh) => total + wh, 0);
  expect(await page.locator('.readout-name data').first().getAttribute('value')).toBe(String(sum));
  await page.getByText('all others').first().waitFor();
  const { url } = answers.find((answer) => answer.url.includes('/interval-energy?'))!;
  const { [yesterday]: profile } = await ask<Profiles>(url.split('/orgs/')[1]!);
  expect(Object.keys(profile!.energyWh).length).toBeLessThanOrEqual(101);
  expect(complaints).toEqual([]);
});

testPage('on a phone long tables are pages of ten blocks, and nothing is scrolled sideways', async () => {
  const { page } = await openPage({ viewport: { width: 390, height: 844 } });
  await goTo(page, `energy?show=devices&from=${served().plants.firstDay}&to=${served().yesterday}`);
  const rows = page.locator('.table-block tbody tr');
  await rows.first().waitFor();
  expect(await rows.count()).toBe(10);
  await page.getByText('1 – 10 of').waitFor();
  const { height } = (await page.locator('.table-block').boundingBox())!;
  expect(height).toBeLessThan(4_000);
  await goTo(page, 'devices');
  await expect.poll(() => rows.count()).toBe(10);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});
