import { expect, test } from 'vitest';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 90, each over a few rows. versions.test.ts has whole roll-ups. */
const open = chapterTables();
const [one, two] = [deviceOf(1), deviceOf(2)];
const DAY_MS = 86_400_000;
const CHANGE =
  'day DATE, device UUID, source VARCHAR, energy_wh BIGINT, method VARCHAR, stream_id INTEGER, flags UINTEGER, coverage DOUBLE, end_ms BIGINT, version INTEGER, status VARCHAR, history_version INTEGER';
const TOUCHED = 'device UUID, source VARCHAR, day DATE, start_ms BIGINT, end_ms BIGINT';
const dayOf = (number: number) => `1970-01-${String(number).padStart(2, '0')}`;
const boundsOf = (number: number) => [(number - 1) * DAY_MS, number * DAY_MS];

/** Source a of device 1 changes on day 2. The readings of batches 10 to 16 are new, of different origins. */
async function causesOf(
  incoming: Array<[series: number, day: number, batch: number]>,
  {
    version = 2,
    cause = null as string | null,
    learnt = [] as Array<[series: number, from: number, to: number]>,
    nowMs = 2 * DAY_MS,
  } = {},
) {
  const { fill, run, rows } = await open();
  await fill(
    'series',
    'series_id, device, source',
    [1, one, 'a'],
    [2, one, 'a'],
    [3, one, 'b'],
    [4, two, 'a'],
  );
  await fill(
    'batch',
    'batch_id, origin',
    [9, 'import:x:1'],
    [10, 'stream'],
    [11, 'import:x:1'],
    [12, 'backfill:1:0'],
    [13, 'archive:1'],
    [14, 'http://elsewhere'],
  );
  await fill(
    'incoming',
    'series_id INTEGER, event_time_ms BIGINT, batch_id BIGINT',
    ...incoming.map(([series, day, batch]) => [series, (day - 1) * DAY_MS + 5, batch]),
  );
  await fill(
    'interval_day',
    'interval_index BIGINT, day DATE',
    ...[1, 2, 3].map((number) => [(number - 1) * 96, dayOf(number)]),
  );
  await fill('day_change', CHANGE, [
    dayOf(2),
    one,
    'a',
    7,
    'm',
    1,
    3,
    0.5,
    2 * DAY_MS,
    version,
    'final',
    null,
  ]);
  await fill('touched_day', TOUCHED, [one, 'a', dayOf(2), ...boundsOf(2)]);
  await run('create_noted_limit_change');
  await fill('noted_limit_change', 'series_id, from_ms, to_ms', ...learnt);
  await run('store_versions', { now_ms: BigInt(nowMs), batch_id: 20n, cause, arrived_after: 9n });
  const found = await rows('daily_energy_history', "version, array_to_string(causes, ' ') AS causes");
  return found.length === 1 && found[0]![0] === version ? String(found[0]![1]) : found;
}

test.each<[name: string, incoming: Parameters<typeof causesOf>[0], causes: string]>([
  ['readings of the day', [[1, 2, 10]], 'stream'],
  ['readings of another origin', [[1, 2, 14]], 'stream'],
  ['an import', [[1, 2, 11]], 'import'],
  ['a backfill', [[1, 2, 12]], 'backfill'],
  ['messages of the lake', [[1, 2, 13]], 'backfill'],
  [
    'several, in order and each once',
    [
      [1, 2, 10],
      [2, 2, 11],
      [1, 2, 12],
      [2, 2, 13],
      [1, 2, 14],
    ],
    'backfill import stream',
  ],
  [
    'those of other days, in order',
    [
      [1, 4, 10],
      [1, 1, 11],
    ],
    'import stream',
  ],
  [
    'those of another source, in order',
    [
      [3, 4, 10],
      [3, 2, 11],
      [3, 1, 12],
    ],
    'backfill import stream',
  ],
  [
    'the day before other days',
    [
      [1, 3, 11],
      [2, 2, 10],
    ],
    'stream',
  ],
  [
    'other days of the source before other sources',
    [
      [3, 2, 11],
      [1, 3, 10],
      [2, 1, 12],
    ],
    'backfill stream',
  ],
  ['other days without a calendar', [[1, 4, 12]], 'backfill'],
  ['other sources of the device', [[3, 2, 11]], 'import'],
  ['another device, so only limits are left', [[4, 2, 11]], 'learnt'],
  ['readings that were taken before, so only limits are left', [[1, 2, 9]], 'learnt'],
])('a new version is caused by the nearest new readings: %s', async (_name, incoming, causes) => {
  expect(await causesOf(incoming)).toBe(causes);
});

const learnt: Array<[number, number, number]> = [[1, DAY_MS, 2 * DAY_MS - 1]];
test.each<[name: string, parameters: Parameters<typeof causesOf>, causes: string]>([
  ['limits, with other days', [[[1, 3, 10]], { learnt }], 'learnt stream'],
  ['limits that end where the day begins', [[[1, 3, 10]], { learnt: [[1, 0, DAY_MS]] }], 'learnt stream'],
  ['limits of the day before', [[[1, 3, 10]], { learnt: [[1, 0, DAY_MS - 1]] }], 'stream'],
  ['limits of the day after', [[[1, 3, 10]], { learnt: [[1, 2 * DAY_MS, 3 * DAY_MS]] }], 'stream'],
  ['limits of another source', [[[1, 3, 10]], { learnt: [[3, DAY_MS, 2 * DAY_MS - 1]] }], 'stream'],
  ['limits, with readings of the day', [[[1, 2, 10]], { learnt }], 'stream'],
  ['limits, with the first version', [[[1, 3, 10]], { learnt, version: 1 }], 'stream'],
  ['a setting', [[], { cause: 'zone' }], 'zone'],
  ['a setting, with readings', [[[1, 2, 11]], { cause: 'zone' }], 'zone import'],
  ['a setting, with limits', [[[1, 3, 11]], { cause: 'zone', learnt }], 'zone import'],
  ['a setting, with the first version', [[[1, 2, 11]], { cause: 'zone', version: 1 }], 'import'],
  ['a setting, with a first version without readings', [[], { cause: 'zone', version: 1 }], 'zone'],
])('a new version is caused by %s', async (_name, parameters, causes) => {
  expect(await causesOf(...parameters)).toBe(causes);
});

test('a day that is not over has no version in the history', async () => {
  expect(await causesOf([[1, 2, 10]], { nowMs: 2 * DAY_MS - 1 })).toEqual([]);
});

test('the version before is stored too if the history does not have it, and a withdrawn day keeps a version without energy', async () => {
  const { fill, run, rows } = await open();
  await run('create_noted_limit_change');
  await fill('incoming', 'series_id INTEGER, event_time_ms BIGINT, batch_id BIGINT');
  await fill('interval_day', 'interval_index BIGINT, day DATE');
  await fill('touched_day', TOUCHED);
  const stored = (day: number, version: number) => [
    dayOf(day),
    one,
    'a',
    10 * day,
    'old',
    1,
    8,
    0.25,
    'final',
    version,
    70,
    6,
  ];
  await fill(
    'daily_energy',
    'day, device, source, energy_wh, method, stream_id, flags, coverage, status, version, computed_at_ms, batch_id',
    stored(1, 1),
    stored(2, 2),
    stored(3, 3),
    stored(4, 1),
    stored(5, 1),
    stored(6, 2),
    [dayOf(1), one, 'b', 1, 'old', 1, 0, 1, 'final', 1, 70, 6],
  );
  const changed = (day: number, wh: number | null, version: number, history: number | null) => [
    dayOf(day),
    one,
    'a',
    wh,
    'new',
    2,
    9,
    0.5,
    day * DAY_MS,
    version,
    'restated',
    history,
  ];
  await fill(
    'day_change',
    CHANGE,
    changed(1, 11, 2, null),
    changed(2, 21, 3, 1),
    changed(3, null, 4, 3),
    // It is not over, so it has no version in the history yet.
    changed(6, 61, 2, 1),
    changed(9, 91, 1, null),
  );
  await run('store_versions', {
    now_ms: BigInt(5 * DAY_MS),
    batch_id: 20n,
    cause: 'rules',
    arrived_after: 9n,
  });
  const columns =
    "day(day), version, energy_wh, method, flags, coverage, status, computed_at_ms, batch_id, array_to_string(causes, ' ')";
  const now = 5 * DAY_MS;
  expect(await rows('daily_energy_history', columns)).toEqual([
    [1, 1, 10, 'old', 8, 0.25, 'final', 70, 6, ''],
    [1, 2, 11, 'new', 9, 0.5, 'restated', now, 20, 'rules'],
    [2, 2, 20, 'old', 8, 0.25, 'final', 70, 6, ''],
    [2, 3, 21, 'new', 9, 0.5, 'restated', now, 20, 'rules'],
    [3, 4, null, 'new', 9, 0.5, 'restated', now, 20, 'rules'],
  ]);
  await run('delete_changed_days');
  await run('store_days', { now_ms: BigInt(now), batch_id: 20n });
  expect(
    await rows(
      'daily_energy',
      'day(day), source, energy_wh, method, stream_id, flags, coverage, status, version, computed_at_ms, batch_id',
    ),
  ).toEqual([
    [1, 'a', 11, 'new', 2, 9, 0.5, 'restated', 2, now, 20],
    [1, 'b', 1, 'old', 1, 0, 1, 'final', 1, 70, 6],
    [2, 'a', 21, 'new', 2, 9, 0.5, 'restated', 3, now, 20],
    [4, 'a', 40, 'old', 1, 8, 0.25, 'final', 1, 70, 6],
    [5, 'a', 50, 'old', 1, 8, 0.25, 'final', 1, 70, 6],
    [6, 'a', 61, 'new', 2, 9, 0.5, 'restated', 2, now, 20],
    [9, 'a', 91, 'new', 2, 9, 0.5, 'restated', 1, now, 20],
  ]);
});

test('the months of changed days, of their versions, and the UTC days of touched local days are published again', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'day_change',
    CHANGE,
    ...(['1970-01-31', '1970-02-01', '1970-02-02'] as const).map((day, place) => [
      day,
      one,
      'a',
      1,
      'm',
      1,
      0,
      1,
      (31 + place) * DAY_MS,
      1,
      'final',
      null,
    ]),
  );
  const local = (number: number) => [
    one,
    'a',
    dayOf(number),
    ...boundsOf(number).map((ms) => ms - 3_600_000),
  ];
  // A local day, and one that is a UTC day.
  await fill('touched_day', TOUCHED, local(3), [two, ...local(3).slice(1)], local(8));
  await fill('touched_day', TOUCHED, [one, 'a', dayOf(5), ...boundsOf(5)]);
  await run('mark_dirty', { now_ms: BigInt(31 * DAY_MS), low_ms: 0n, high_ms: BigInt(5 * DAY_MS) });
  expect(await rows('dirty_partition', 'dataset, partition')).toEqual([
    ['daily_energy', '1970-01'],
    ['daily_energy', '1970-02'],
    ['daily_energy_version', '1970-01'],
    ['interval_energy', '1970-01-02'],
    ['interval_energy', '1970-01-03'],
    ['interval_energy', '1970-01-05'],
  ]);
});

test('provisional days before the first open day become final, and their months are published again', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'daily_energy',
    'day, status, version',
    ['1970-01-30', 'provisional', 1],
    ['1970-01-31', 'provisional', 2],
    ['1970-02-01', 'restated', 3],
    ['1970-02-02', 'provisional', 4],
  );
  await run('mark_closing_days', { before: '1970-02-02' });
  expect(await rows('dirty_partition', 'dataset, partition')).toEqual([['daily_energy', '1970-01']]);
  await run('close_days', { before: '1970-02-02' });
  expect(await rows('daily_energy', 'version, status')).toEqual([
    [1, 'final'],
    [2, 'final'],
    [3, 'restated'],
    [4, 'provisional'],
  ]);
});
