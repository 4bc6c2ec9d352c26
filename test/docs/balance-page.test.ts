import { expect, test } from 'vitest';
import { readBalanceCase } from '../../src/cli/replay/balance-case.ts';
import { runBalanceCase } from '../../src/cli/replay/run-balance-case.ts';
import { sourceRoles } from '../../src/roles/role.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { openConnection } from '../balance/balance-fixture.ts';
import { pages } from '../support/readme.ts';

const page = pages.get('docs/balance.md')!;
const example = page.slice(page.indexOf('## A worked example'), page.indexOf('## Days, months, years'));

/** Rows of the example by the time of their interval, and of the day. */
const rows = new Map(
  [...example.matchAll(/^\| (\d\d:\d\d|day) \| (.*) \|$/gm)].map(([, at, cells]) => [
    at!,
    cells!.split(' | ').map(Number),
  ]),
);
const DAY = '2025-06-02';
const columns = [
  ...[
    'productionWh',
    'gridImportWh',
    'gridExportWh',
    'batteryChargeWh',
    'batteryDischargeWh',
    'consumptionWh',
  ],
  ...['selfConsumptionWh', 'selfSupplyWh', 'gridToBatteryWh'],
];

test('the worked example is what the balance says', { tags: ['slow'] }, async () => {
  const roles = ['production', 'grid_import', 'grid_export', 'battery_charge', 'battery_discharge'];
  const intervals = [...rows].filter(([at]) => at !== 'day');
  expect(intervals).toHaveLength(4);
  const sources = roles.map((role, index) => ({
    device: 'house',
    source: role,
    role,
    wh: Object.fromEntries(intervals.map(([at, cells]) => [`${DAY}T${at}:00Z`, cells[index]])),
    ...(role === 'production' && { peakPower: [{ kWp: 4 }] }),
  }));
  const one = { id: 'example', timezone: 'Etc/UTC', sources, options: { startDate: DAY, endDate: DAY } };
  const told = await runBalanceCase(await openConnection(), readBalanceCase('page', one, 0));
  if ('error' in told) throw new Error(told.error);
  const fields = (cells: number[]) => Object.fromEntries(columns.map((name, index) => [name, cells[index]]));
  for (const [at, cells] of intervals)
    expect(told.intervals[`${DAY}T${at}:00Z`]).toMatchObject(fields(cells));
  const day = told.day[DAY]!;
  expect(day).toMatchObject(fields(rows.get('day')!));
  for (const [name, value] of [
    ['Self-consumption rate', day.selfConsumptionRate],
    ['Autarky', day.autarky],
    ['Specific yield', day.specificYield],
  ])
    expect(example).toMatch(new RegExp(`${name}: [^.=]*(\\.[^.=]*)?= ${value}\\.?( |$)`, 'm'));
});

test('the page names every role, flag and constant of the rules', () => {
  const named = new Set([...page.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name!));
  const flags = [...loadSql('balance/judge').matchAll(/THEN '([a-z_]+)' END/g)].map(([, name]) => name!);
  expect(flags.length).toBeGreaterThan(8);
  expect([...sourceRoles, ...flags].filter((name) => !named.has(name))).toEqual([]);
  const rule = loadSql('balance/find_rule');
  for (const constant of [
    '0.999 AS known_share',
    '20 AS span_wh',
    '20 AS tolerance_wh',
    '5 AS tolerance_percent',
  ])
    expect(rule).toContain(constant);
  expect(page).toMatch(/99\.9 %.*Up to 20 Wh a day.*5 % of what goes in or out.*at least 20 Wh/s);
});
