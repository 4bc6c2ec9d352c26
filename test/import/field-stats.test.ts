import { expect, test } from 'vitest';
import { createNameTable } from '../../src/decode/name-table.ts';
import { addStats, createFieldStats, type FieldStats } from '../../src/import/field-stats.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { deviceId } from '../support/messages.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';

const START_MS = Date.UTC(2026, 10, 20, 12);

interface Row {
  /** Minutes after the start. Default: the number of the row. */
  minute?: number;
  device?: number;
  source?: string;
  value: number | string;
  /** The value of a second field. */
  other?: number;
}

/** The statistics of each field with these values, a minute apart. */
function allStatsOf(rows: ReadonlyArray<number | Row>, zone = 'Etc/UTC'): FieldStats[] {
  const names = createNameTable();
  const collector = createFieldStats(zone);
  const messages = rows.map((row, index) => {
    const {
      minute = index,
      device = 1,
      source = 'roof',
      value,
      other,
    } = typeof row === 'number' ? { value: row } : row;
    return {
      offset: BigInt(index),
      table: 't',
      device: deviceId(device),
      source,
      event_time: START_MS + minute * MINUTE_MS,
      store_time: START_MS,
      data: { wh: value, ...(other !== undefined && { other }) },
    };
  });
  const columns = messagesToColumns(messages, names);
  expect([columns.count, columns.rejected]).toEqual([rows.length, []]);
  collector.add(columns, names);
  return collector.stats();
}

/** The same of the first field. */
function statsOf(rows: ReadonlyArray<number | Row>, zone?: string): FieldStats {
  return allStatsOf(rows, zone)[0]!;
}

test.each<[about: string, rows: Array<number | Row>, stats: Partial<FieldStats>]>([
  ['that rises', [10, 12, 12, 15], { min: 10, max: 15, risen: 5, fallen: 0, restarts: 0 }],
  ['that falls to more than a tenth', [100, 11, 12], { risen: 1, fallen: 89, restarts: 0 }],
  ['that falls to a tenth restarts', [100, 10, 12], { risen: 2, fallen: 0, restarts: 1, dropOuts: 0 }],
  ['that returns to nine tenths had a drop-out', [100, 0, 90, 91], { risen: 1, restarts: 0, dropOuts: 1 }],
  ['that returns to less has restarted', [100, 0, 89, 90], { risen: 90, restarts: 1, dropOuts: 0 }],
  ['that stays at 0 may still return', [100, 0, 0, 100], { risen: 0, restarts: 0, dropOuts: 1 }],
  [
    'that returns in its second rise has restarted',
    [100, 0, 50, 100],
    { risen: 100, restarts: 1, dropOuts: 0 },
  ],
  ['below 0 does not restart', [-10, -100, 0], { risen: 100, fallen: 90, restarts: 0 }],
  [
    'has steps of each device and source alone',
    [
      { value: 1 },
      { value: 100, device: 2 },
      { value: 50, source: 'yard' },
      { value: 3 },
      { value: 101, device: 2 },
    ],
    { values: 5, min: 1, max: 101, risen: 3, fallen: 0, restarts: 0 },
  ],
  [
    'has no steps of rows out of order, or of one time',
    [
      { value: 1, minute: 5 },
      { value: 9, minute: 4 },
      { value: 7, minute: 5 },
      { value: 2, minute: 6 },
    ],
    { values: 4, risen: 1, fallen: 0 },
  ],
  ['counts texts apart', [1, { value: 'off' }, 3], { values: 3, texts: 1, min: 1, max: 3, risen: 2 }],
  [
    'of texts only has no least and no most',
    [{ value: 'off' }],
    { values: 1, texts: 1, min: null, max: null },
  ],
])('a field %s', (_, rows, stats) => {
  expect(statsOf(rows)).toMatchObject({ field: 'wh', ...stats });
});

test('each field of a device has steps of its own', () => {
  const rows = [
    { value: 10, other: 900 },
    { value: 12, other: 903 },
    { value: 15, other: 907 },
  ];
  expect(allStatsOf(rows)).toMatchObject([
    { field: 'wh', min: 10, max: 15, risen: 5, fallen: 0, restarts: 0 },
    { field: 'other', min: 900, max: 907, risen: 7, fallen: 0, restarts: 0 },
  ]);
});

test('the days of steps are those of the zone', () => {
  const hours = [0, 10, 11, 12, 13].map((hour) => ({ value: hour, minute: (hour * HOUR_MS) / MINUTE_MS }));
  expect(statsOf(hours).dayChanges).toBe(1);
  // From noon in UTC on it is 13:00 in Paris: a day begins after eleven hours.
  expect(statsOf(hours.slice(0, 3)).dayChanges).toBe(0);
  expect(statsOf(hours.slice(0, 3), 'Europe/Paris').dayChanges).toBe(1);
});

test('the statistics of files add up, and those of other fields stay apart', () => {
  const one = statsOf([100, 0, 90, 9, 10, { value: 'off' }]);
  const another = { ...statsOf([7, 200, 50]), dayChanges: 2 };
  const texts = statsOf([{ value: 'off' }]);
  expect(addStats([[one], [another, { ...texts, field: 'state' }], [texts]])).toEqual([
    {
      field: 'wh',
      values: 10,
      texts: 2,
      min: 0,
      max: 200,
      risen: one.risen + another.risen,
      fallen: 150,
      restarts: 1,
      dropOuts: 1,
      dayChanges: 2,
    },
    { ...texts, field: 'state' },
  ]);
});
