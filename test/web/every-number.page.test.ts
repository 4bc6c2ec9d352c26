// @module-tag slow
import { expect } from 'vitest';
import { localDateOf } from '../../src/lib/time.ts';
import type { PageName } from '../../src/web/app/address.ts';
import type { DayDetails, DeviceStatuses } from '../../src/web/facts/answers.ts';
import { budgetLines } from './support/expected-budgets.ts';
import { deviceLines } from './support/expected-devices.ts';
import { balanceLines, dayLines, longPeriodLines, seriesLines } from './support/expected-energy.ts';
import { configurationLines, exportLines, pipelineLines } from './support/expected-operate.ts';
import { overviewLines } from './support/expected-overview.ts';
import { qualityLines } from './support/expected-quality.ts';
import { whyLines } from './support/expected-why.ts';
import { isRounded } from './support/is-rounded.ts';
import {
  ASKING,
  ask,
  askAgain,
  openPage,
  served,
  signIn,
  testPage,
  untilComplete,
  type Watched,
} from './support/open-page.ts';
import { daysFrom, type Facts, namerOf, shift } from './support/page-facts.ts';
import { hasNumber, readPage } from './support/read-page.ts';
import { GARAGE } from './support/serve-page.ts';

const ZONE = 'Europe/Berlin';

type View = [address: string, expected: () => Promise<string[]>];

/** The views of each page, each with the lines that follow from the endpoints. */
const views: Readonly<Record<PageName, (facts: Facts) => View[]>> = {
  overview: (facts) =>
    ['home', 'shop', 'past'].map((id) => [`${id}/overview`, () => overviewLines(id, facts)]),
  energy: (facts) => {
    const span = { from: shift(facts.today, -4), to: shift(facts.today, -3) };
    const before = { from: shift(span.from, -2), to: shift(span.to, -2) };
    const address = `home/energy?from=${span.from}&to=${span.to}`;
    const { firstDay } = served().plants;
    const yearOf = (year: number) => ({ from: `${year}-01-01`, to: `${year}-12-31` });
    const year = Number(firstDay.slice(0, 4)) + 2;
    const long = { from: shift(firstDay, -90), to: facts.today };
    const plants = (of: typeof long) => `plants/energy?show=devices&from=${of.from}&to=${of.to}`;
    return [
      [`${address}&compare=before`, () => balanceLines('home', span, before, facts)],
      ...(['devices', 'sources', 'production'] as const).map(
        (show): View => [`${address}&show=${show}`, () => seriesLines('home', show, span, facts)],
      ),
      [
        `${plants(yearOf(year))}&compare=year`,
        () => longPeriodLines('plants', yearOf(year), yearOf(year - 1), 7, facts),
      ],
      [plants(long), () => longPeriodLines('plants', long, undefined, 4, facts)],
    ];
  },
  day: (facts) => {
    const [day, other] = [shift(facts.today, -3), shift(facts.today, -4)];
    return [[`home/day?day=${day}&with=${other}`, () => dayLines('home', day, other, facts)]];
  },
  quality: (facts) => [
    [
      'home/quality',
      async () => {
        const days = daysFrom(shift(facts.today, -29), facts.today);
        const [details, statuses] = await Promise.all([
          ask<DayDetails>(
            `home/daily-energy/details?startDate=${days[0]}&endDate=${facts.today}&groupBy=source`,
          ),
          ask<DeviceStatuses>('home/device-status'),
        ]);
        return qualityLines(days, details, statuses, { today: facts.today, nameOf: namerOf(statuses) });
      },
    ],
  ],
  why: (facts) =>
    [
      ['shop', served().yesterday],
      ['past', shift(facts.today, -15)],
    ].map(([id, day]) => [`${id}/why?device=${GARAGE}&day=${day}`, () => whyLines(id!, GARAGE, day!, facts)]),
  devices: (facts) => [
    ['home/devices', () => deviceLines('home', facts)],
    [`shop/devices?device=${GARAGE}`, () => deviceLines('shop', facts, GARAGE)],
  ],
  budgets: (facts) => {
    const span = { from: shift(facts.today, -19), to: shift(facts.today, -14) };
    const first = `${served().yesterday.slice(0, 7)}-01`;
    const month = { from: first, to: shift(`${shift(first, 31).slice(0, 7)}-01`, -1) };
    return [
      [`past/budgets?from=${span.from}&to=${span.to}`, () => budgetLines('past', 'works', span, facts)],
      // The month of yesterday to date, in which one day alone has a budget.
      [`shop/budgets?from=${month.from}&to=${month.to}`, () => budgetLines('shop', 'garage', month, facts)],
    ];
  },
  exports: (facts) => ['shop', 'past'].map((id) => [`${id}/exports`, () => exportLines(id, facts)]),
  pipeline: (facts) =>
    ['shop', 'past', 'torn'].map((id) => [`${id}/pipeline`, () => pipelineLines(id, facts)]),
  configuration: (facts) => [['home/configuration', () => configurationLines('home', facts)]],
};

/** Compares every number of a view: none is wrong, none is missing, and none is unknown here. */
async function expectNumbers(watched: Watched, [view, expected]: View): Promise<void> {
  const { page } = watched;
  await signIn(page, view);
  await untilComplete(watched);
  let isFirst = true;
  await expect
    .poll(
      async () => {
        if (!isFirst) await askAgain(page);
        isFirst = false;
        await page.locator('main details:not([open])').evaluateAll((closed) => {
          for (const one of closed) (one as HTMLDetailsElement).open = true;
        });
        const { lines, numbers } = await readPage(page);
        const wanted = (await expected())
          .map((line) => line.replaceAll(/\s+/g, ' ').trim())
          .filter(hasNumber);
        return {
          unknown: without(lines, wanted),
          missing: without(wanted, lines),
          rounded: numbers.filter((one) => !isRounded(one)),
        };
      },
      { message: view, ...ASKING },
    )
    .toEqual({ unknown: [], missing: [], rounded: [] });
}

/** The lines that `others` lacks. A repeated line counts as often as it is there. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

for (const [name, viewsOf] of Object.entries(views))
  testPage(`every number of the page ${name} is that of the endpoints`, async () => {
    const watched = await openPage();
    const { page, complaints } = watched;
    const nowMs = Date.now();
    // "3 minutes ago" stays true while it is compared.
    await page.clock.setFixedTime(nowMs);
    const today = localDateOf(nowMs, ZONE);
    for (const view of viewsOf({ today, yesterday: shift(today, -1), zone: ZONE, nowMs }))
      await expectNumbers(watched, view);
    expect(complaints).toEqual([]);
  });
