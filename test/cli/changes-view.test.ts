import { expect, test } from 'vitest';
import { describeChanges } from '../../src/cli/changes/changes-view.ts';
import { type DayChange, totalChanges } from '../../src/report/day-changes.ts';
import { linesOf } from './terminal-of.ts';

const before: NonNullable<DayChange['before']> = {
  version: 1,
  energyWh: 2_400,
  method: 'total_energy',
  flags: ['old'],
  coverage: 1,
};
const change: DayChange = {
  day: '2026-11-01',
  device: 'd1',
  source: 'roof',
  kind: 'restated',
  before,
  after: { ...before, version: 3, energyWh: 2_500, flags: ['new'], status: 'restated' },
  differenceWh: 100,
  versions: 2,
  changedAt: '2026-11-10T23:30:00.000Z',
  causes: ['stream'],
  batch: '7',
};
const workgroup = { devices: [{ id: 'd1', name: 'garage' }], timezone: 'Europe/Paris' };
const linesAbout = (...changes: DayChange[]) =>
  linesOf(describeChanges(changes, totalChanges(changes), workgroup)).map((line) => line.split(/ {2,}/));

test('a change has both values with the sign of the difference, the local time, and what has changed beside it', () => {
  const [titles, row, total] = linesAbout(change);
  expect(titles!.join()).toBe(
    'Day,Device,Source,Before Wh,After Wh,Change,Status,Version,When,Why,Batch,Other changes',
  );
  expect(row).toEqual([
    '2026-11-01',
    'garage',
    'roof',
    '2400',
    '2500',
    '+100',
    'restated',
    '1 -> 3',
    '2026-11-11 00:30:00',
    'late readings of the stream',
    '7',
    '+new -old',
  ]);
  expect(total).toEqual(['1 day: 2400 Wh before, 2500 Wh after, +100 Wh']);
  const after = { ...change.after, method: 'power_curve' as const, flags: ['old'] };
  expect(linesAbout({ ...change, after })[1]!.at(-1)).toBe('total_energy -> power_curve');
});

test('a day that was withdrawn or added has "-" for the energy that it does not have', () => {
  const withdrawn: DayChange = {
    ...change,
    kind: 'withdrawn',
    after: { ...change.after, energyWh: null, method: null, flags: ['left_out'], coverage: null },
    differenceWh: -2_400,
    causes: [],
  };
  const added: DayChange = { ...change, device: 'd2', kind: 'added', before: null, differenceWh: 2_500 };
  const [, first, second, total] = linesAbout(withdrawn, added);
  expect(first!.slice(3, 8)).toEqual(['2400', '-', '-2400', 'withdrawn', '1 -> 3']);
  expect(first!.slice(9)).toEqual(['not known', '7', '+left_out']);
  expect(second!.slice(1, 8)).toEqual(['d2', 'roof', '-', '2500', '+2500', 'added', '3']);
  expect(total).toEqual(['2 days: 2400 Wh before, 2500 Wh after, +100 Wh']);
});

test('500 rows are shown, and the sum is about all', () => {
  const more = linesAbout(...Array.from({ length: 502 }, () => change));
  expect(more.slice(501)).toEqual([
    ['... and 2 more; --json prints all'],
    ['502 days: 1204800 Wh before, 1255000 Wh after, +50200 Wh'],
  ]);
  expect(linesAbout()).toEqual([['no closed day has changed']]);
});
