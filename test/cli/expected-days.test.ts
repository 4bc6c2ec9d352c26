import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compareDays, readExpected } from '../../src/cli/replay/expected-days.ts';
import { InputError } from '../../src/lib/errors.ts';
import { tempDir } from '../support/temp-dir.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const day = (date: string, energyWh: number, toleranceWh: number) => ({
  day: date,
  device: DEVICE,
  source: 'default',
  energyWh,
  toleranceWh,
});

test('a day matches within its tolerance, and the days that are furthest from it come first', () => {
  const energy = { '2026-01-01': 105, '2026-01-02': 94.9994, '2026-01-03': 3, '2026-01-04': 100 };
  const computed = Object.fromEntries(
    Object.entries(energy).map(([date, wh]) => [date, { [`${DEVICE}.default`]: wh, [`${DEVICE}.other`]: 1 }]),
  );
  const expected = [
    day('2026-01-01', 100, 5),
    day('2026-01-02', 100, 5),
    // A tolerance of 0 counts as 1 Wh for the order only.
    day('2026-01-03', 1, 0),
    day('2026-01-04', 100, 0),
    day('2026-01-05', 0, 1_000),
  ];
  expect(
    compareDays(expected, computed).map((one) => [one.day, one.gotWh, one.differenceWh, one.matches]),
  ).toEqual([
    ['2026-01-05', null, 0, false],
    ['2026-01-03', 3, 2, false],
    ['2026-01-02', 94.9994, -5.001, false],
    ['2026-01-01', 105, 5, true],
    ['2026-01-04', 100, 0, true],
  ]);
});

test('known days are read from CSV, and each line that cannot be read is named', async () => {
  const file = join(tempDir(), 'expected.csv');
  expect(await readExpected(file)).toBeUndefined();
  const heading = '\ufeffday,device_id,source,energy_wh,tolerance_wh';
  writeFileSync(
    file,
    `${heading}\n2026-01-01,${DEVICE.toUpperCase()},,12.5,0\n\n2026-01-02,${DEVICE},roof,0,1\n`,
  );
  expect(await readExpected(file)).toEqual([
    day('2026-01-01', 12.5, 0),
    { ...day('2026-01-02', 0, 1), source: 'roof' },
  ]);
  writeFileSync(file, `${heading}\n2026-02-30,${DEVICE},,1,0\n2026-01-01,${DEVICE},, ,-1\n`);
  const error = await readExpected(file).catch((thrown: unknown) => thrown);
  expect(error instanceof InputError && error.problems).toEqual([
    { path: 'line 2, day', message: 'must be a day that exists, such as 2026-11-20' },
    { path: 'line 3, energy_wh', message: 'must be a number' },
    { path: 'line 3, tolerance_wh', message: 'must not be negative' },
  ]);
});
