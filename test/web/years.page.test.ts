import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { addDays } from '../../src/lib/time.ts';
import type { QualityAnswer } from '../../src/web/facts/answers.ts';
import { fillDays, filledDevices } from '../support/fill-days.ts';
import { createUpProcess, type ServiceProcess } from '../support/up-process.ts';
import { openPage, served, signIn, testPage } from './support/open-page.ts';

const DEVICES = 400;
const ANSWER_BYTES_MAX = 1_000_000;
const WORKGROUP = 'plants';
/** The width of the names of rows on a wide screen, in pixels. */
const GUTTER = 168;

let folder: string;
let service: ServiceProcess;
/** The first day of three years that end yesterday. */
let firstDay: string;

beforeAll(async () => {
  if (inject('page') === undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'wattline-test-years-'));
  const { yesterday } = served();
  firstDay = addDays(yesterday, 1 - 3 * 365);
  service = await createUpProcess(folder, {
    dataDir: './data',
    workgroups: [{ id: WORKGROUP, timezone: 'Europe/Berlin', devices: filledDevices(DEVICES) }],
  });
  const { dataDir } = service.config;
  const filled = { workgroupId: WORKGROUP, devices: DEVICES, sources: ['pv'], firstDay, days: 3 * 365 };
  await fillDays(dataDir, { ...filled, quality: 'mixed' });
  await service.start();
});
afterAll(async () => {
  if (!folder) return;
  await service.kill();
  rmSync(folder, { recursive: true, force: true });
});

const open = (options = {}) => openPage({ baseURL: service.url, ...options });
const goTo = (page: Page, view: string) => signIn(page, `${WORKGROUP}/${view}`, service.token);

testPage('a year of 400 devices is one picture that can be read, scrolled and followed', async () => {
  const { page, complaints } = await open();
  const [from, to] = [addDays(firstDay, 365), addDays(firstDay, 729)];
  await goTo(page, `quality?from=${from}&to=${to}`);
  await page.locator('.heat path').first().waitFor();
  expect(await page.locator('.row-name').count()).toBe(DEVICES);
  const answer = await fetch(
    `${service.url}/api/v1/orgs/${WORKGROUP}/quality?startDate=${from}&endDate=${to}`,
    { headers: { Authorization: `Bearer ${service.token}` } },
  );
  const { devices, kinds } = (await answer.json()) as QualityAnswer;

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
  const { id } = filledDevices(DEVICES).find((one) => one.name === name)!;
  const lastRow = (await page.locator('.row-name').last().boundingBox())!;
  const y = lastRow.y + lastRow.height / 2;
  expect(y).toBeLessThan(box.y + box.height);

  // A day with a flag is one of 365 narrow cells.
  const index = devices[id]!.findIndex((kind) => kind !== null && kinds[kind]!.flags.length > 0);
  const [flag] = kinds[devices[id]![index]!]!.flags;
  const picture = (await page.locator('.heat-rows svg').boundingBox())!;
  const x = picture.x + GUTTER + ((index + 0.5) * (picture.width - GUTTER)) / 365;
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
  await expect.poll(() => page.locator('.row-name').count()).toBe(DEVICES);
  expect(complaints).toEqual([]);
});

testPage('no answer of any page is above a megabyte with 400 devices and three years', async () => {
  const { page, complaints } = await open();
  const sizes: Array<Promise<[url: string, bytes: number]>> = [];
  page.on('response', (response) => {
    sizes.push(
      response.body().then(
        ({ length }) => [response.url(), length],
        () => [response.url(), 0],
      ),
    );
  });
  const { yesterday } = served();
  for (const [view, shown] of [
    ['overview', '.overview .heat path'],
    [`energy?show=devices&from=${firstDay}&to=${yesterday}`, '.column'],
    [`quality?by=source&from=${addDays(yesterday, -91)}&to=${yesterday}`, '.heat path'],
    ['quality', '.heat path'],
    ['devices', '.day-spark'],
    [`day?day=${yesterday}`, '.empty, .column'],
  ]) {
    await goTo(page, view!);
    await page.locator(shown!).first().waitFor();
    await page.waitForLoadState('networkidle');
  }
  const large = (await Promise.all(sizes)).filter(([, bytes]) => bytes > ANSWER_BYTES_MAX);
  expect(large).toEqual([]);
  expect(complaints).toEqual([]);
});

testPage('on a phone long tables are pages of ten blocks, and nothing is scrolled sideways', async () => {
  const { page } = await open({ viewport: { width: 390, height: 844 } });
  await goTo(page, `energy?show=devices&from=${firstDay}&to=${served().yesterday}`);
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

testPage('a page says that the service is gone, and goes on by itself when it is back', async () => {
  const { page } = await open();
  await page.clock.install();
  await goTo(page, 'devices');
  await expect
    .poll(async () => {
      await page.clock.runFor(1_000);
      return page.locator('.day-spark').count();
    })
    .toBeGreaterThan(0);
  await service.kill();
  const pass = async (ms: number, count: number) =>
    expect
      .poll(async () => {
        await page.clock.runFor(ms);
        return page.locator('.stale').count();
      })
      .toBe(count);
  await pass(5_000, 1);
  expect(await page.locator('.stale').textContent()).toContain('cannot be reached');
  expect(await page.locator('tbody tr').count()).toBe(50);
  // A page that has nothing yet says so too.
  await page.getByRole('link', { name: 'Exports' }).click();
  await page.getByRole('alert').getByText('The service cannot be reached', { exact: true }).first().waitFor();

  await service.start();
  await expect
    .poll(async () => {
      await page.clock.runFor(60_000);
      return page.getByRole('alert').count();
    })
    .toBe(0);
  await page.getByText('No closed day has changed').waitFor();
  await page.getByRole('link', { name: 'Devices' }).click();
  await pass(60_000, 0);
  await page.locator('.day-spark').first().waitFor();
});
