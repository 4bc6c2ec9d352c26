// @module-tag slow
import type { Locator } from 'playwright-core';
import { expect } from 'vitest';
import { addDays, localDateOf } from '../../src/lib/time.ts';
import type { Balances, DayDetails, DeviceStatuses, Profiles } from '../../src/web/facts/answers.ts';
import { drawnCells } from './support/drawn-cells.ts';
import { balanceValues, roleNames } from './support/expected-figure.ts';
import { heatRows } from './support/expected-quality.ts';
import { ask, openPage, signIn, testPage } from './support/open-page.ts';
import { daysFrom, namerOf } from './support/page-facts.ts';
import { longDay } from './support/plain-words.ts';

/** A mark is drawn to a tenth of a pixel, and no bar is lower than half of one. */
const PIXELS = 0.6;
const today = () => localDateOf(Date.now(), 'Europe/Berlin');
const tones = [
  'production',
  'battery_discharge',
  'grid_import',
  'consumption',
  'battery_charge',
  'grid_export',
];

/** For each column the height of each bar, by its colour. */
function barsOf(figure: Locator): Promise<Array<Record<string, number>>> {
  return figure
    .locator('.column')
    .evaluateAll((columns) =>
      columns.map((column) =>
        Object.fromEntries(
          [...column.querySelectorAll('.bar')].map((bar) => [
            [...bar.classList].find((name) => name.startsWith('tone-'))!.slice(5),
            Number(bar.getAttribute('height')),
          ]),
        ),
      ),
    );
}

/** The heights of the reference above the axis, one for each column. */
function referenceOf(figure: Locator): Promise<number[]> {
  return figure.evaluate((element) => {
    const zero = Number(element.querySelector('.axis-line')!.getAttribute('y1'));
    const steps = element
      .querySelector('.reference')!
      .getAttribute('d')!
      .matchAll(/[ML][\d.]+ ([\d.]+)H/g);
    return [...steps].map(([, y]) => zero - Number(y));
  });
}

testPage('bars and the steps of the reference are as high as their energy, on one scale', async () => {
  const to = addDays(today(), -2);
  const days = daysFrom(addDays(to, -2), to);
  const before = days.map((day) => addDays(day, -3));
  const balancesOf = (of: string[]) => ask<Balances>(`home/balance?startDate=${of[0]}&endDate=${of.at(-1)}`);
  const [balances, earlier] = [await balancesOf(days), await balancesOf(before)];
  const { page } = await openPage();
  await signIn(page, `home/energy?from=${days[0]}&to=${to}&compare=before`);
  const figure = page.locator('main figure');
  await expect.poll(async () => (await referenceOf(figure)).length).toBe(days.length);
  const bars = await barsOf(figure);
  const values = days.map((day) => balanceValues(balances[day]));
  const [firstHeight, firstWh] = [bars[0]!.production!, values[0]![0]!];
  const scale = firstHeight / firstWh;
  expect(scale).toBeGreaterThan(0);
  for (const [index, column] of values.entries()) {
    const drawn = roleNames.map((_, role) => bars[index]![tones[role]!] ?? 0);
    expect(drawn.length).toBe(column.length);
    for (const [role, wh] of column.entries())
      expect(Math.abs(drawn[role]! - (wh ?? 0) * scale), `${days[index]} ${tones[role]}`).toBeLessThan(
        PIXELS,
      );
  }
  for (const [index, height] of (await referenceOf(figure)).entries())
    expect(Math.abs(height - earlier[before[index]!]!.productionWh! * scale), before[index]).toBeLessThan(
      PIXELS,
    );
});

/** The height of each bar of a small picture, by its place. */
function sparkOf(picture: Locator): Promise<Record<string, number>> {
  return picture.evaluate((element) =>
    Object.fromEntries(
      [...element.querySelectorAll('rect.bar')].map((bar) => [
        Math.floor(Number(bar.getAttribute('x'))),
        Number(bar.getAttribute('height')),
      ]),
    ),
  );
}

/** What a small picture of some height must show. Nothing stands where nothing is known. */
function expectedSpark(values: ReadonlyArray<number | null>, height: number, least: number) {
  const most = Math.max(1, ...values.map((wh) => wh ?? 0));
  return Object.fromEntries(
    values.flatMap((wh, index) => (wh === null ? [] : [[index, Math.max(least, (wh / most) * height)]])),
  );
}

function expectHeights(drawn: Record<string, number>, expected: Record<string, number>): void {
  expect(Object.keys(drawn)).toEqual(Object.keys(expected));
  for (const [place, height] of Object.entries(expected)) expect(drawn[place], place).toBeCloseTo(height, 3);
}

testPage('small pictures have the quarters of today, and the days of each device', async () => {
  const day = today();
  const from = addDays(day, -29);
  const [profiles, balances, statuses, details] = await Promise.all([
    ask<Profiles>(`home/interval-energy?startDate=${day}&endDate=${day}&groupBy=source`),
    ask<Balances>(`home/balance?startDate=${from}&endDate=${day}`),
    ask<DeviceStatuses>('home/device-status'),
    ask<DayDetails>(`home/daily-energy/details?startDate=${from}&endDate=${day}`),
  ]);
  const producing = new Set(
    Object.values(balances).flatMap(({ parts }) =>
      parts.flatMap(({ role, device, source }) => (role === 'production' ? [`${device}.${source}`] : [])),
    ),
  );
  const { intervals, energyWh } = profiles[day]!;
  const quarters = Array.from({ length: intervals }, (_, index) => {
    const known = [...producing].map((key) => energyWh[key]?.[index] ?? null).filter((wh) => wh !== null);
    return known.length === 0 ? null : known.reduce((a, b) => a + b, 0);
  });
  const { page } = await openPage();
  await signIn(page, 'home/overview');
  const spark = page.locator('.tile .spark');
  await spark.waitFor();
  expectHeights(await sparkOf(spark), expectedSpark(quarters, 30, 0));

  await page.goto('/#/home/devices');
  for (const [id, { name }] of Object.entries(statuses)) {
    const picture = page.getByRole('row', { name: new RegExp(`^${name} `) }).locator('.day-spark');
    await picture.waitFor();
    const values = daysFrom(from, day).map((one) => details[one]?.[id]?.energyWh ?? null);
    expectHeights(await sparkOf(picture), expectedSpark(values, 31, 1));
  }
});

testPage('each cell of a heat map has the state and the words of its day', async () => {
  const days = daysFrom(addDays(today(), -29), today());
  const { page } = await openPage();
  await signIn(page, 'home/quality');
  await page.locator('.heat path').first().waitFor();
  const [details, statuses] = await Promise.all([
    ask<DayDetails>(`home/daily-energy/details?startDate=${days[0]}&endDate=${days.at(-1)}&groupBy=source`),
    ask<DeviceStatuses>('home/device-status'),
  ]);
  const keys = [...new Set(days.flatMap((day) => Object.keys(details[day]!)))];
  const rows = heatRows(days, keys, (key, day) => details[day]![key], {
    today: days.at(-1)!,
    nameOf: namerOf(statuses),
  });
  expect(await drawnCells(page, days.length)).toEqual(rows.map(({ states }) => states));
  const words = await page.locator('.heat-rows .heat').evaluate(
    async (heat, size) => {
      const frame = heat.querySelector('.heat-active rect')!;
      const of = (name: string) => Number(frame.getAttribute(name));
      const [band, height] = [of('width'), of('height')];
      const gutter = of('x') - (size.columns - 2) * band;
      const box = heat.getBoundingClientRect();
      const found: string[] = [];
      for (let row = 0; row < size.rows; row++)
        for (let column = 0; column < size.columns; column++) {
          const at = {
            clientX: box.left + gutter + (column + 0.5) * band,
            clientY: box.top + (row + 0.5) * height,
          };
          heat.dispatchEvent(new PointerEvent('pointermove', { ...at, bubbles: true, pointerType: 'mouse' }));
          await new Promise((resolve) => setTimeout(resolve));
          found.push(heat.querySelector('.heat-active')!.getAttribute('aria-label')!);
        }
      return found;
    },
    { rows: rows.length, columns: days.length },
  );
  const expected = rows.flatMap(({ name, cells }) =>
    cells.map((cell, index) => `${name}, ${longDay(days[index]!)}: ${cell}`),
  );
  expect(words.map((text) => text.replaceAll(/\s+/g, ' '))).toEqual(expected);
});
