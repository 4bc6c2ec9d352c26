import { expect, test } from 'vitest';
import {
  describeBudgets,
  describeChecked,
  describeMeters,
  describePut,
} from '../../src/cli/upload/upload-view.ts';
import type { MeterRow } from '../../src/upload/upload-rows.ts';
import { linesOf } from './terminal-of.ts';

const wide = Number.POSITIVE_INFINITY;
const uploadedAtMs = Date.UTC(2026, 5, 1, 6);

function row(meter: string, hour: number, energyWh: number, hours = 1): MeterRow {
  const start = Date.UTC(2026, 4, 17, hour);
  return {
    line: 1,
    meter,
    start,
    end: start + hours * 3_600_000,
    energyWh,
    direction: null,
    quality: 'measured',
  };
}

test('an upload says how many rows are new, known already, and replaced', () => {
  const stored = {
    kind: 'stored' as const,
    uploadId: 1,
    accepted: 3,
    stored: 1_200,
    unchanged: 0,
    replaced: 0,
    revision: 1,
  };
  expect(
    linesOf(
      describePut([
        { path: '/a/may.csv', outcome: stored },
        { path: '/a/june.csv', outcome: { ...stored, stored: 1, unchanged: 7, replaced: 2, revision: 4 } },
        {
          path: '/a/july.csv',
          outcome: {
            kind: 'stored-before',
            uploadId: 1,
            accepted: 3,
            revision: 1,
            receivedAtMs: uploadedAtMs,
          },
        },
      ]),
    ),
  ).toEqual([
    'may.csv: 1,200 rows stored, revision 1',
    'june.csv: 1 row stored, 7 known already, 2 earlier ones replaced, revision 4',
    'july.csv: nothing to do, the same rows were already uploaded at 2026-06-01T06:00:00.000Z (--again lets them count again)',
  ]);
});

test('a dry run adds the intervals of each meter up, in kWh, from the first to the last in local time', () => {
  const rows = [row('B', 3, 500), row('A', 2, 1_500), row('A', 1, 250)];
  const text = describeChecked(
    [{ path: '/a/may.csv', upload: { kind: 'meter_intervals', rows } }],
    'Europe/Paris',
  );
  expect(linesOf(text)).toEqual([
    'may.csv: 3 intervals, no problems',
    'Meter  Rows  From                       To                          kWh',
    'B         1  2026-05-17 05:00:00+02:00  2026-05-17 06:00:00+02:00   0.5',
    'A         2  2026-05-17 03:00:00+02:00  2026-05-17 05:00:00+02:00  1.75',
  ]);
});

test('a dry run shows by how much a register grows, and not the sum of its values', () => {
  const rows = [row('A', 5, 120_900, 0), row('A', 1, 120_000, 0)];
  const single = [{ path: 'a.csv', upload: { kind: 'meter_registers' as const, rows: rows.slice(0, 1) } }];
  expect(linesOf(describeChecked(single, 'Etc/UTC'))[0]).toBe('a.csv: 1 value of registers, no problems');
  const text = describeChecked([{ path: 'a.csv', upload: { kind: 'meter_registers', rows } }], 'Etc/UTC');
  expect(linesOf(text).slice(1)).toEqual([
    'Meter  Rows  From                       To                         kWh grown',
    'A         2  2026-05-17 01:00:00+00:00  2026-05-17 05:00:00+00:00        0.9',
  ]);
});

test('a dry run of budgets has a line for each meter and scenario', () => {
  const budget = (scenario: string, start: string, end: string, energyWh: number) => ({
    line: 1,
    meter: 'PV',
    start,
    end,
    energyWh,
    scenario,
  });
  const rows = [
    budget('P50', '2026-06-01', '2026-06-30', 2_000_000),
    budget('P50', '2026-05-01', '2026-05-31', 1_000_000),
    budget('P90', '2026-05-01', '2026-05-31', 900_000),
  ];
  expect(linesOf(describeChecked([{ path: 'a.csv', upload: { kind: 'budget', rows } }], 'Etc/UTC'))).toEqual([
    'a.csv: 3 periods, no problems',
    'Meter  Scenario  Periods  First day   Last day      kWh',
    'PV     P50             2  2026-05-01  2026-06-30  3,000',
    'PV     P90             1  2026-05-01  2026-05-31    900',
  ]);
});

test('uploaded readings are listed in local time, with the meters that a device measures', () => {
  const of = {
    timezone: 'Europe/Paris',
    meters: [
      { code: 'GRID-1', direction: 'import' as const, multiplier: 1 },
      { code: 'PV', direction: 'export' as const, multiplier: 1, device: 'd1', source: 'roof' },
    ],
  };
  const meter = {
    meter: 'GRID-1',
    fromRegister: true,
    readings: 2_976,
    firstMs: Date.UTC(2026, 4, 1),
    lastMs: Date.UTC(2026, 5, 1),
    energyWh: null,
    faults: 2,
    revision: 3,
    uploadedAtMs,
  };
  expect(describeMeters([], of, wide)).toBe(
    'PV: measured by device d1, source roof\nno readings were uploaded yet; see "wattline help meter-data put"\n',
  );
  expect(linesOf(describeMeters([meter], of, wide))).toEqual([
    expect.any(String),
    'GRID-1  register      2,976  2026-05-01 02:00:00+02:00  2026-06-01 02:00:00+02:00    -       2         3  2026-06-01T06:00:00.000Z',
    '',
    'PV: measured by device d1, source roof',
  ]);
});

test('uploaded budgets are listed with their periods and their energy', () => {
  expect(describeBudgets([], wide)).toBe('no budget was uploaded yet; see "wattline help budget put"\n');
  const budget = {
    meter: 'PV',
    scenario: 'P50',
    period: 'month' as const,
    periods: 12,
    firstDay: '2026-01-01',
    lastDay: '2026-12-31',
    energyWh: 12_345_678,
    revision: 1,
    uploadedAtMs,
  };
  expect(linesOf(describeBudgets([budget], wide))[1]).toBe(
    'PV     P50       month       12  2026-01-01  2026-12-31  12,345.678         1  2026-06-01T06:00:00.000Z',
  );
});
