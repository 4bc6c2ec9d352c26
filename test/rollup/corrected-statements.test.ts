import { expect, test } from 'vitest';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 85, each over a few rows. correction-golden.test.ts has whole corrections. */
const open = chapterTables();
const [one, two] = [deviceOf(1), deviceOf(2)];
const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;
const CORRECTION = 'correction_id, kind, device, source, from_ms, to_ms, energy_wh, undoes';
const DAY = 'device UUID, source VARCHAR, day DATE, start_ms BIGINT, end_ms BIGINT';
const dayOf = (number: number) => [`1970-01-0${number}`, (number - 1) * DAY_MS, number * DAY_MS];
const set = (id: number, from: number, to: number, wh = 0) => [id, 'set', one, 'a', from, to, wh, null];

test.each([
  ['in the day', DAY_MS, 2 * DAY_MS, 1],
  ['over its end', 2 * DAY_MS - 1, 3 * DAY_MS, 1],
  ['over its start', 0, DAY_MS + 1, 1],
  ['after it', 2 * DAY_MS, 3 * DAY_MS, 0],
  ['before it', 0, DAY_MS, 0],
])('corrections that overlap a touched day count: %s', async (_name, from, to, count) => {
  const { fill, run } = await open();
  await fill('touched_day', DAY, [one, 'a', ...dayOf(2)], [one, 'b', ...dayOf(3)]);
  await fill(
    'correction',
    CORRECTION,
    set(1, from, to),
    [2, 'set', one, 'c', 0, 9 * DAY_MS, 0, null],
    [3, 'set', two, 'a', 0, 9 * DAY_MS, 0, null],
  );
  expect(await run('count_corrections', { all: false })).toEqual([{ count }]);
  expect(await run('count_corrections', { all: true })).toEqual([{ count: 3 }]);
  const range = { device: one, source: 'a', from_ms: from, to_ms: to };
  expect(await run('list_corrected_ranges', { all: false })).toEqual(count ? [range] : []);
});

test('a day is corrected in the series from which it is read, else in the first one of the workgroup', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'touched_day',
    DAY,
    [one, 'a', ...dayOf(1)],
    [one, 'a', ...dayOf(2)],
    [one, 'a', ...dayOf(3)],
    [one, 'b', ...dayOf(1)],
    [two, 'a', ...dayOf(1)],
    [one, 'a', ...dayOf(6)],
  );
  await fill(
    'series_rule',
    'series_id INTEGER, position INTEGER, device UUID, source VARCHAR',
    [7, 1, one, 'a'],
    [8, 0, one, 'a'],
    [9, 0, one, 'b'],
  );
  await fill(
    'day_candidate',
    'device UUID, source VARCHAR, day DATE, preference INTEGER, series_id INTEGER',
    [one, 'a', '1970-01-01', 1, 7],
    [one, 'a', '1970-01-01', 2, 8],
  );
  await fill(
    'correction',
    CORRECTION,
    set(1, DAY_MS / 2, 2 * DAY_MS),
    set(2, 5 * DAY_MS, 6 * DAY_MS),
    [3, 'exclude', one, 'b', 0, DAY_MS, 0, null],
    [4, 'set', two, 'a', 0, DAY_MS, 0, null],
  );
  await run('collect_days_to_correct', { low_ms: 0n, high_ms: BigInt(4 * DAY_MS) });
  expect(await rows('day_to_correct', 'source, day::VARCHAR, series_id')).toEqual([
    ['a', '1970-01-01', 7],
    ['a', '1970-01-02', 8],
  ]);
});

test('a correction is ready when all of its time is selected', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'day_to_correct',
    `${DAY}, series_id INTEGER`,
    [one, 'a', ...dayOf(1), 7],
    [one, 'a', ...dayOf(2), 7],
  );
  await fill(
    'correction',
    CORRECTION,
    set(1, DAY_MS / 2, 2 * DAY_MS),
    set(2, DAY_MS / 2, 2 * DAY_MS + 1),
    [3, 'exclude', one, 'a', 0, DAY_MS, 0, null],
    set(4, 0, DAY_MS),
    [5, 'undo', one, 'a', 0, DAY_MS, 0, 4],
  );
  await run('collect_ready_corrections');
  expect((await rows('ready_correction', 'correction_id')).flat()).toEqual([1]);
});

test('the intervals of ready and of undone corrections are deleted, and those of streams that are not configured', async () => {
  const { fill, run, rows } = await open();
  await fill('correction', CORRECTION, set(1, 0, 1), set(2, 0, 1), set(3, 0, 1), [
    4,
    'undo',
    one,
    'a',
    0,
    1,
    0,
    2,
  ]);
  await fill('ready_correction', 'correction_id BIGINT', [1]);
  await fill('stream_setting', 'stream_id INTEGER', [5]);
  await fill('series', 'series_id, stream_id', [7, 5], [8, 6]);
  await fill('corrected_interval', 'correction_id, series_id', [1, 7], [2, 7], [3, 7], [3, 8]);
  await run('delete_corrected_intervals');
  expect(await rows('corrected_interval', 'correction_id, series_id')).toEqual([[3, 7]]);
});

/** Energy that is set for four quarters, and what was measured in them: energy and covered time. */
test.each<
  [name: string, setWh: number, measured: Array<[wh: number, share?: number] | null>, energy: number[]]
>([
  ['scaled', 100, [[10], [20], [20], [0]], [20, 40, 40, 0]],
  [
    'scaled, with an even share for time that is not measured',
    100,
    [[10], [30], null, null],
    [13, 37, 25, 25],
  ],
  ['scaled, with a share for a half of an interval', 70, [[10], [10], [5, 0.5], null], [18, 17, 18, 17]],
  ['evenly, if nothing is measured', 10, [null, null, null, null], [3, 2, 3, 2]],
  ['scaled, if all is negative', -100, [[-10], [-20], [-20], [0]], [-20, -40, -40, 0]],
  [
    'with an even share of the difference, if one sign differs',
    60,
    [[10], [-10], [10], [10]],
    [20, 0, 20, 20],
  ],
  [
    'with an even share of the difference, if their sum is zero',
    20,
    [[10], [-10], [5], [-5]],
    [15, -5, 10, 0],
  ],
])('set energy is spread like the measured energy: %s', async (_name, wh, measured, energy) => {
  const { fill, run, rows } = await open();
  await fill(
    'ready_correction',
    'correction_id BIGINT, kind VARCHAR, device UUID, source VARCHAR, from_ms BIGINT, to_ms BIGINT, energy_wh BIGINT',
    [1, 'set', one, 'a', QUARTER_MS, 5 * QUARTER_MS, wh],
  );
  await fill(
    'day_to_correct',
    `${DAY}, series_id INTEGER`,
    [one, 'a', ...dayOf(1), 7],
    [one, 'b', ...dayOf(1), 8],
  );
  await fill(
    'interval_day',
    'interval_index BIGINT, day DATE',
    ...[0, 1, 2, 3, 4, 5].map((index) => [index, '1970-01-01']),
  );
  await fill(
    'interval_energy',
    'series_id, interval_start_ms, energy_wh, covered_ms',
    ...measured.flatMap((interval, place) =>
      interval
        ? [
            [7, (place + 1) * QUARTER_MS, interval[0], QUARTER_MS * (interval[1] ?? 1)],
            [8, (place + 1) * QUARTER_MS, 999, QUARTER_MS],
          ]
        : [],
    ),
    [7, 0, 999, QUARTER_MS],
    [7, 5 * QUARTER_MS, 999, QUARTER_MS],
  );
  await run('store_corrected_intervals');
  expect(await rows('corrected_interval', 'interval_start_ms, energy_wh, series_id, flags')).toEqual(
    energy.map((part, place) => [(place + 1) * QUARTER_MS, part, 7, flagBits.corrected]),
  );
});

test('estimates are copied as they were computed', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'ready_correction',
    'correction_id BIGINT, kind VARCHAR, device UUID, source VARCHAR, from_ms BIGINT, to_ms BIGINT, energy_wh BIGINT',
    [1, 'fill', one, 'a', QUARTER_MS, 3 * QUARTER_MS, 0],
  );
  await fill('day_to_correct', `${DAY}, series_id INTEGER`, [one, 'a', ...dayOf(1), 7]);
  await fill(
    'interval_day',
    'interval_index BIGINT, day DATE',
    ...[0, 1, 2, 3].map((index) => [index, '1970-01-01']),
  );
  await fill(
    'correction_value',
    'correction_id, interval_start_ms, energy_wh',
    ...[0, 1, 2, 3].flatMap((index) => [
      [1, index * QUARTER_MS, 5 + index],
      [2, index * QUARTER_MS, 9],
    ]),
  );
  await run('store_corrected_intervals');
  const flags = flagBits.corrected | flagBits.estimated;
  expect(
    await rows('corrected_interval', 'correction_id, series_id, interval_start_ms, energy_wh, flags'),
  ).toEqual([
    [1, 7, QUARTER_MS, 6, flags],
    [1, 7, 2 * QUARTER_MS, 7, flags],
  ]);
});

test('corrected intervals move to the series from which their day is read now', async () => {
  const { fill, run, rows } = await open();
  await fill('correction', CORRECTION, set(1, 0, 2 * DAY_MS), [2, 'set', one, 'b', 0, DAY_MS, 0, null]);
  await fill('day_to_correct', `${DAY}, series_id INTEGER`, [one, 'a', ...dayOf(1), 8]);
  await fill(
    'corrected_interval',
    'correction_id, series_id, interval_start_ms',
    [1, 7, 0],
    [1, 7, DAY_MS - 1],
    [1, 7, DAY_MS],
    [2, 7, 0],
  );
  await run('move_corrected_intervals');
  expect(await rows('corrected_interval', 'correction_id, interval_start_ms, series_id')).toEqual([
    [1, 0, 8],
    [1, DAY_MS - 1, 8],
    [1, DAY_MS, 7],
    [2, 0, 7],
  ]);
});
