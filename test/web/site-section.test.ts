import { expect, test } from 'vitest';
import type { Reconciliation, Variance } from '../../src/web/facts/answers.ts';
import { SiteSection } from '../../src/web/pages/site-section.tsx';
import { makeVariance } from './support/make-variance.ts';
import { renderPart } from './support/render-part.ts';

const GARAGE = '0b0e7c1e-0000-4000-8000-000000000001';
const period = { from: '2026-05-15', to: '2026-05-18' };
const path = 'sites/Barn/variance?startDate=2026-05-15&endDate=2026-05-18';
const reconciliationPath = 'sites/Barn/reconciliation?startDate=2026-05-15&endDate=2026-05-16';
const shown = (variance: Variance, answers = {}, devices = 0) =>
  renderPart(
    SiteSection,
    { site: { name: 'Barn', devices }, period },
    { [path]: variance, 'device-status': { [GARAGE]: { name: 'Garage' } }, ...answers },
  );
const day = (
  actualWh: number | null,
  budgetWh: number | null,
  partial = false,
): Variance['days'][string] => ({
  actualWh,
  budgetWh,
  varianceWh: actualWh === null || budgetWh === null ? null : actualWh - budgetWh,
  variancePercent: actualWh === null || budgetWh === null ? null : ((actualWh - budgetWh) / budgetWh) * 100,
  partial,
  scenarios: budgetWh === null ? [] : ['P50'],
});

test('a site without a budget says how it gets one', () => {
  expect(shown(makeVariance({})).lines).toEqual([
    'Barn: actual energy against the budget',
    'No budget in this period',
    'Upload one with wattline budget put, or choose another period.',
  ]);
});

test('actual energy is compared with the budget of the days that have both', () => {
  const variance = makeVariance({
    scenario: 'P50',
    metersWithoutBudget: ['M2', 'M3'],
    days: {
      '2026-05-15': day(900, 1_000),
      '2026-05-16': day(null, 1_000),
      '2026-05-17': day(100, 1_000, true),
      '2026-05-18': day(null, 1_000),
    },
    total: {
      elapsedDays: 2,
      comparedDays: 1,
      actualWh: 900,
      budgetWh: 1_000,
      varianceWh: -100,
      variancePercent: -10,
      budgetToDateWh: 2_000,
      budgetOfAllDaysWh: 4_000,
    },
  });
  const part = shown(variance);
  expect(part.lines).toEqual([
    'Barn: actual energy against the budget',
    '900 Wh {900} of 1.00 kWh {1000} in May 15 – 18, 2026, up to yesterday: 10 % below {-10} the budget (P50). 1 day to look at. Left out, because they have no budget: M2 and M3.',
    'May 15 – 18, 2026, with today 1.00 kWh {1000} Budget 4.00 kWh {4000}',
    '[Actual 1.00 kWh {1000}] <Highlight this series>',
    'provisional, can still change',
    'no data, which is not zero',
    'Actual 900 Wh {900}Line: budget of the past days 2.00 kWh {2000}Budget of all days 4.00 kWh {4000}',
    'Days to look at',
    'Sat, May 16, 2026 {#/home/day?day=2026-05-16}: a meter has no energy',
    'The same as a table',
    'Actual energy and budget',
    'Day | Actual | Budget | Difference | Percent | Note',
    'Fri, May 15, 2026 | 900 Wh {900} | 1.00 kWh {1000} | -100 Wh {-100} | -10 % {-10} | P50',
    'Sat, May 16, 2026 | – <not known> | 1.00 kWh {1000} | – <not known> | – | P50',
    'Sun, May 17, 2026 | 100 Wh {100} | 1.00 kWh {1000} | -900 Wh {-900} | -90 % {-90} | partly measured, P50',
    'Mon, May 18, 2026 | – <not known> | 1.00 kWh {1000} | – <not known> | – | P50',
    'Sum | 900 Wh {900} | 1.00 kWh {1000} | -100 Wh {-100} | |',
    '<Actual energy and budget>',
    '[Download CSV]',
  ]);
  // The bar is drawn in percent of the budget of all days.
  expect(part.elements('rect').find(({ class: name }) => name === 'pace-actual')?.width).toBe('22.5');
  expect(part.elements('line').find(({ class: name }) => name === 'pace-due')?.x1).toBe('50');
});

test('a period that ends today is said to have today in its sum, and one that ended yesterday is not', () => {
  const variance = makeVariance({
    days: { '2026-05-15': day(900, 1_000) },
    total: { budgetOfAllDaysWh: 4_000 },
  });
  const lineOf = (to: string) =>
    renderPart(
      SiteSection,
      { site: { name: 'Barn', devices: 0 }, period: { from: '2026-05-15', to } },
      { [`sites/Barn/variance?startDate=2026-05-15&endDate=${to}`]: variance },
    ).lines[2];
  expect(lineOf('2026-05-17')).toMatch(/^May 15 – 17, 2026, with today /);
  expect(lineOf('2026-05-16')).toMatch(/^May 15 – 16, 2026 \d/);
});

test('more than the budget of all days is the whole bar, and the line of the past days has its place in it', () => {
  const days = { '2026-05-15': day(5_000, 1_000) };
  const total = { comparedDays: 1, actualWh: 5_000, budgetToDateWh: 1_000, budgetOfAllDaysWh: 4_000 };
  const part = shown(makeVariance({ days, total }));
  expect(part.elements('rect').find(({ class: name }) => name === 'pace-actual')?.width).toBe('100');
  expect(part.elements('line').find(({ class: name }) => name === 'pace-due')?.x1).toBe('20');
});

test('if no day can be compared, the sentence says so', () => {
  const days = { '2026-05-15': day(900, null), '2026-05-16': day(5, 10, true) };
  const variance = makeVariance({ days, total: { budgetOfAllDaysWh: 1_000 } });
  expect(shown(variance).lines.slice(1, 2)).toEqual([
    'No day can be compared in May 15 – 18, 2026. 2 days to look at.',
  ]);
  const heading = shown(variance).lines.indexOf('Days to look at');
  expect(shown(variance).lines.slice(heading, heading + 3)).toEqual([
    'Days to look at',
    'Sat, May 16, 2026 {#/home/day?day=2026-05-16}: only a part of the day is measured; it counts as far as it is',
    'Fri, May 15, 2026 {#/home/day?day=2026-05-15}: there is no budget for it',
  ]);
});

const compared: Reconciliation['days'][string] = {
  metersWh: 1_000,
  devicesWh: 1_100,
  differenceWh: -100,
  differencePercent: -10,
  estimated: true,
} as Reconciliation['days'][string];
const reconciliation = (changed: Partial<Reconciliation>, total: Partial<Reconciliation['total']>) =>
  ({
    days: {},
    incompleteDays: {},
    ...changed,
    total: {
      days: 2,
      completeDays: 0,
      metersWh: 0,
      devicesWh: 0,
      differenceWh: 0,
      differencePercent: null,
      ...total,
    },
  }) as unknown as Reconciliation;
const meters = (answer: Reconciliation) => {
  const { lines } = shown(makeVariance({}), { [reconciliationPath]: answer }, 1);
  return lines.slice(lines.indexOf('Barn: meters against devices'));
};

test('meters are compared with devices up to yesterday', () => {
  const answer = reconciliation(
    {
      days: { '2026-05-15': compared },
      incompleteDays: {
        '2026-05-16': [
          { reason: 'no energy', device: GARAGE, source: 'total' },
          { reason: 'partly measured', meter: 'M1' },
        ],
      } as unknown as Reconciliation['incompleteDays'],
    },
    { completeDays: 1, metersWh: 1_000, devicesWh: 1_100, differenceWh: -100, differencePercent: -10 },
  );
  expect(meters(answer)).toEqual([
    'Barn: meters against devices',
    'The meters have 1.00 kWh {1000}, the devices 1.10 kWh {1100}: a difference of -100 Wh {-100} (-10 % {-10}) over 1 of 2 days.',
    'Incomplete days, which are not compared',
    'Sat, May 16, 2026 {#/home/day?day=2026-05-16}: Garage · total: no energy; M1: partly measured',
    'Each day',
    'Meters against devices',
    'Day | Meters | Devices | Difference | Percent | Note',
    'Fri, May 15, 2026 {#/home/day?day=2026-05-15} | 1.00 kWh {1000} | 1.10 kWh {1100} | -100 Wh {-100} | -10 % {-10} | contains an estimate',
    'Sum | 1.00 kWh {1000} | 1.10 kWh {1100} | -100 Wh {-100} | |',
    '<Meters against devices>',
    '[Download CSV]',
  ]);
});

test('without a complete day there is nothing to compare', () => {
  expect(meters(reconciliation({}, {}))).toEqual([
    'Barn: meters against devices',
    'None of 2 days is complete, so there is nothing to compare.',
  ]);
  expect(meters(reconciliation({}, { days: 1 }))).toEqual([
    'Barn: meters against devices',
    'The day is not complete, so there is nothing to compare.',
  ]);
  expect(meters(reconciliation({}, { completeDays: 2, metersWh: 5 }))[1]).toBe(
    'The meters have 5 Wh {5}, the devices 0 Wh {0}: a difference of 0 Wh {0} over 2 of 2 days.',
  );
});

test('ten days that are left out are eight, and the number of those before', () => {
  const incompleteDays = Object.fromEntries(
    Array.from({ length: 10 }, (_, index) => [
      `2026-05-${String(index + 1).padStart(2, '0')}`,
      [{ reason: 'no energy' }],
    ]),
  ) as unknown as Reconciliation['incompleteDays'];
  const lines = meters(reconciliation({ incompleteDays }, {}));
  expect([lines[3], lines[10], lines.at(-1)]).toEqual([
    'Sun, May 10, 2026 {#/home/day?day=2026-05-10}: no energy',
    'Sun, May 3, 2026 {#/home/day?day=2026-05-03}: no energy',
    'And 2 earlier days.',
  ]);
});

test.each(['2026-05-17', '2026-05-18'])('a period from yesterday to %s has one day to compare', (to) => {
  const since = { from: '2026-05-16', to };
  const answers = {
    'sites/Barn/reconciliation?startDate=2026-05-16&endDate=2026-05-16': reconciliation({}, { days: 1 }),
  };
  const { lines } = renderPart(SiteSection, { site: { name: 'Barn', devices: 1 }, period: since }, answers);
  expect(lines.at(-1)).toBe('The day is not complete, so there is nothing to compare.');
});

test('of a period that has not begun no reconciliation is asked', () => {
  const future = { from: '2026-06-01', to: '2026-06-30' };
  const variance = makeVariance({ total: { budgetOfAllDaysWh: 1_000 } });
  const answers = { 'sites/Barn/variance?startDate=2026-06-01&endDate=2026-06-30': variance };
  const { lines } = renderPart(SiteSection, { site: { name: 'Barn', devices: 1 }, period: future }, answers);
  expect(lines.slice(0, 2)).toEqual([
    'Barn: actual energy against the budget',
    'No day can be compared in June 2026.',
  ]);
  expect(lines).not.toContain('Barn: meters against devices');
});
