import { expect, test } from 'vitest';
import { BudgetsPage } from '../../src/web/pages/budgets-page.tsx';
import { makeVariance } from './support/make-variance.ts';
import { renderPart } from './support/render-part.ts';

const site = (name: string, meters = 1) => ({ name, meters, devices: 0 });
const may = 'startDate=2026-05-01&endDate=2026-05-31';
const shown = (query: Record<string, string>, sites: object[], answers = {}) =>
  renderPart(BudgetsPage, { query }, answers, { sites } as never).lines;

test('without a site that has meters the page says what a site is', () => {
  expect(shown({}, [site('Barn', 0)])).toEqual([
    'Budgets and sites',
    'Month {#/home/budgets?from=2026-05-01&to=2026-05-31}Year {#/home/budgets?from=2026-01-01&to=2026-12-31} <Length of the period>',
    '{#/home/budgets?from=2026-04-01&to=2026-04-30} <Period before>May 2026 <Period>',
    'First and last day',
    '[date: 2026-05-01] <First day>–[date: 2026-05-31] <Last day>',
    'No site with meters',
    'A site names the meters and the devices that belong together. List sites and meters in the configuration, and upload a budget with wattline budget put.',
  ]);
});

test('a single site has no list of sites', () => {
  expect(shown({ site: 'Barn' }, [site('Barn')]).slice(5)).toEqual([
    'Barn: actual energy against the budget',
    'Reading the budget …',
  ]);
});

test('each site has the sums of its days that have both', () => {
  const total = { elapsedDays: 16, budgetOfAllDaysWh: 9_000 };
  const barn = makeVariance({
    total: { ...total, comparedDays: 15, actualWh: 4_200, budgetWh: 4_000, variancePercent: 5 },
  });
  const answers = {
    [`sites/Barn/variance?${may}`]: barn,
    [`sites/Cow%20shed/variance?${may}`]: makeVariance({ total: { ...total, elapsedDays: 1 } }),
    [`sites/Dairy/variance?${may}`]: makeVariance({}),
  };
  const sites = ['Barn', 'Cow shed', 'Dairy', 'Empty'].map((name) => site(name));
  expect(shown({ site: 'Dairy', page: '1' }, [site('No meters', 0), ...sites], answers).slice(5, -1)).toEqual(
    [
      'All sites',
      '4 sites in May 2026. The sums count the days that have both actual energy and a budget.',
      'Sites',
      'Site | Actual | Budget | Difference | Days compared',
      'Barn {#/home/budgets?site=Barn&page=1} | 4.20 kWh {4200} | 4.00 kWh {4000} | +5.0 % {5} | 15 of 16 past days',
      'Cow shed {#/home/budgets?site=Cow+shed&page=1} | – <not known> | – <not known> | – | 0 of 1 past day',
      'Dairy {#/home/budgets?site=Dairy&page=1} | – <not known> | – <not known> | – | no budget',
      'Empty {#/home/budgets?site=Empty&page=1} | – <not known> | – <not known> | – | …',
      '<Sites>',
      'Dairy: actual energy against the budget',
      'No budget in this period',
    ],
  );
});

test('fifteen sites are on a page, and the chosen one is shown even if it is on another page', () => {
  const sites = Array.from({ length: 16 }, (_, index) => site(`S${index + 1}`));
  const lines = shown({ page: '2', site: 'S3' }, sites);
  expect(lines.slice(5)).toEqual([
    'All sites',
    '16 sites in May 2026. The sums count the days that have both actual energy and a budget.',
    'Sites',
    'Site | Actual | Budget | Difference | Days compared',
    'S16 {#/home/budgets?page=2&site=S16} | – <not known> | – <not known> | – | …',
    '<Sites>',
    '1 {#/home/budgets?page=1&site=S3}2 {#/home/budgets?page=2&site=S3} <Pages of sites>',
    'S3: actual energy against the budget',
    'Reading the budget …',
  ]);
});

test('a period of the address is shown if it is not too long, and else the month', () => {
  const periodOf = (from: string, to: string) => shown({ from, to }, [])[2];
  expect([
    periodOf('2023-05-14', '2026-05-17'),
    periodOf('2023-05-13', '2026-05-17'),
    periodOf('2026-05-17', '2026-05-16'),
  ]).toEqual([
    '{#/home/budgets?from=2020-05-09&to=2023-05-13} <Period before>May 14, 2023 – May 17, 2026 <Period>',
    '{#/home/budgets?from=2026-04-01&to=2026-04-30} <Period before>May 2026 <Period>',
    '{#/home/budgets?from=2026-04-01&to=2026-04-30} <Period before>May 2026 <Period>',
  ]);
});
