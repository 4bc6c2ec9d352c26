import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDays } from '../../src/lib/time.ts';
import { granularityOf, parseBudgetPeriod } from '../../src/upload/budget-rows.ts';
import { readBudgets, refusalOf } from './upload-fixture.ts';

const said = { options: { year: 2026, meter: 'PV', scenario: 'P50' } };

test.each([
  { period: '2026', start: '2026-01-01', end: '2026-12-31' },
  { period: '2026-02', start: '2026-02-01', end: '2026-02-28' },
  { period: '2028-02', start: '2028-02-01', end: '2028-02-29' },
  { period: '2026-12', start: '2026-12-01', end: '2026-12-31' },
  { period: '2026-05-17', start: '2026-05-17', end: '2026-05-17' },
])('$period is from $start to $end', ({ period, start, end }) => {
  const [row] = readBudgets(`meter_code,period,energy,unit,scenario\nPV,${period},1.2345,MWh,p90`);
  expect(row).toEqual({ line: 2, meter: 'PV', start, end, energyWh: 1_234_500, scenario: 'P90' });
});

test('a period can be given by its first and last day, and a scenario can have any name', () => {
  const [row] = readBudgets(
    'meter_code,period_start,period_end,energy_kwh,scenario\nPV,2026-04-01,2026-06-30,10,Bank case',
  );
  expect(row).toMatchObject({ start: '2026-04-01', end: '2026-06-30', scenario: 'Bank case' });
});

test('a table with a preamble, months by number and a last line of totals is read as it is', () => {
  const rows = readBudgets(
    `"PVWatts: Monthly PV Performance Data"
"Location:","SWANBOURNE, AUSTRALIA"
"Capacity Factor (%)","18.6"\t

"Month","AC System Output(kWh)","Solar Radiation (kWh/m^2/day)","DC array Output (kWh)"
"1","468.9066","7.1","489.1"
"12","438.2338","6.6","457.3"
"Total","907.1404","13.7","946.4"
`,
    said,
  );
  expect(rows).toEqual([
    { line: 6, meter: 'PV', start: '2026-01-01', end: '2026-01-31', energyWh: 468_907, scenario: 'P50' },
    { line: 7, meter: 'PV', start: '2026-12-01', end: '2026-12-31', energyWh: 438_234, scenario: 'P50' },
  ]);
});

test('mean power of hours adds up to days', () => {
  const hours = Array.from(
    { length: 48 },
    (_, index) =>
      `5,${17 + Math.floor(index / 24)},${index % 24},${index === 12 ? 1500.25 : index === 36 ? 0.5 : 100}`,
  );
  const rows = readBudgets(`Month,Day,Hour,AC System Output (W)\n${hours.join('\n')}`, said);
  expect(rows.map(({ start, energyWh }) => [start, energyWh])).toEqual([
    ['2026-05-17', 3_800],
    ['2026-05-18', 2_301],
  ]);
});

test('days of hours are rounded on the running sum of their meter and scenario only', () => {
  const hours = ['P50', 'P90'].flatMap((scenario) =>
    [1, 2].flatMap((day) =>
      Array.from({ length: 24 }, (_, hour) => `1,${day},${hour},${hour === 0 ? 0.0007 : 0},${scenario}`),
    ),
  );
  const rows = readBudgets(`month,day,hour,energy_kwh,scenario\n${hours.join('\n')}`, {
    options: { year: 2026, meter: 'PV' },
  });
  // 0.7 -> 1, 1.4 -> 1, for each scenario.
  expect(rows.map(({ scenario, start, energyWh }) => `${scenario} ${start} ${energyWh}`).toSorted()).toEqual([
    'P50 2026-01-01 1',
    'P50 2026-01-02 0',
    'P90 2026-01-01 1',
    'P90 2026-01-02 0',
  ]);
});

test('a year may be in the same file as its months', () => {
  const rows = readBudgets(
    'meter_code,period,energy_kwh,scenario\nPV,2026,100,P50\nPV,2026-01,5,P50\nPV,2026-01-01,1,P50',
  );
  expect(rows.map(granularityOf)).toEqual(['year', 'month', 'day']);
});

const heading = 'meter_code,period,energy_kwh,scenario';

test.each([
  [
    'months without a year',
    'month,energy_kwh\n1,2',
    { options: { meter: 'PV', scenario: 'P50' } },
    /^0:month: has no year.*--year 2026/,
  ],
  ['a month that does not exist', 'month,energy_kwh\n13,2', said, /^2:month: "2026-13" is not a month/],
  [
    'a day that does not exist',
    'month,day,energy_kwh\n2,29,2',
    said,
    /^2:day: "2026-02-29" is not an existing day/,
  ],
  [
    'a text that is not a period',
    `${heading}\nPV,May 2026,1,P50`,
    {},
    /^2:period: "May 2026" is not a period such as 2026, 2026-05/,
  ],
  [
    'a period that ends before it starts',
    'meter_code,period_start,period_end,energy_kwh,scenario\nPV,2026-02-01,2026-01-01,1,P50',
    {},
    /^2:period_end: .*before it starts/,
  ],
  ['no period', 'meter_code,energy_kwh,scenario\nPV,1,P50', {}, /^0:period: is missing/],
  ['no energy', 'meter_code,period,scenario\nPV,2026,P50', {}, /^0:energy: is missing/],
  [
    'no scenario',
    'meter_code,period,energy_kwh\nPV,2026,1',
    {},
    /^0:scenario: is missing.*over HTTP scenario=P50.*--scenario P50/,
  ],
  [
    'the scenario said twice',
    `${heading}\nPV,2026,1,P50`,
    { options: { scenario: 'P90' } },
    /^0:scenario: .*remove the parameter scenario/,
  ],
  ['an empty scenario', `${heading}\nPV,2026,1,`, {}, /^2:scenario: is empty/],
  ['power for a month', 'month,energy (kW)\n1,2', said, /of power/],
  ['a negative budget', `${heading}\nPV,2026,-1,P50`, {}, /^2:energy_kwh: -1 is negative/],
  [
    'a month twice',
    `${heading}\nPV,2026-05,1,P50\nPV,2026-06,1,P50\nPV,2026-05,1,p50`,
    {},
    /^4:period: overlaps the period of line 2/,
  ],
  [
    'periods that overlap',
    'meter_code,start,end,energy_kwh,scenario\nPV,2026-01-01,2026-01-10,1,P50\nPV,2026-01-10,2026-01-20,1,P50',
    {},
    /^3:start: overlaps the period of line 2/,
  ],
  [
    'a period of more than 3,660 days',
    'meter_code,start,end,energy_kwh,scenario\nPV,2026-01-01,2036-01-08,1,P50\nPV,2026-01-01,2036-01-09,1,P90',
    {},
    /^3:end: the period is longer than 3660 days/,
  ],
  [
    'an hour that is missing',
    `month,day,hour,energy_kwh\n${Array.from({ length: 23 }, (_, hour) => `1,1,${hour},1`).join('\n')}`,
    said,
    /^24:hour: 2026-01-01 lacks the hours 23/,
  ],
  [
    'an hour that exists twice',
    `month,day,hour,energy_kwh\n${Array.from({ length: 25 }, (_, hour) => `1,1,${hour % 24},1`).join('\n')}`,
    said,
    /^26:hour: the same hour of the same day as line 2/,
  ],
  [
    'an hour that does not exist',
    'month,day,hour,energy_kwh\n1,1,25,1',
    said,
    /^2:hour: "25" is not an hour/,
  ],
] as const)('%s is refused where it stands', (_, text, told, expected) => {
  expect(refusalOf(() => readBudgets(text, told))).toContainEqual(expect.stringMatching(expected));
});

test('the months of any year follow each other without a gap and add up to it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1970, max: 2098 }), (year) => {
      const months = Array.from(
        { length: 12 },
        (_, month) => parseBudgetPeriod(`${year}-${String(month + 1).padStart(2, '0')}`)!,
      );
      expect(months[0]!.start).toBe(parseBudgetPeriod(String(year))!.start);
      expect(months[11]!.end).toBe(parseBudgetPeriod(String(year))!.end);
      for (const [index, { start }] of months.slice(1).entries())
        expect(start).toBe(addDays(months[index]!.end, 1));
      expect(months.map(granularityOf)).toEqual(Array.from({ length: 12 }, () => 'month'));
    }),
  );
});
