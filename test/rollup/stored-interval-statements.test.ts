import { expect, test } from 'vitest';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { chapterTables } from './chapter-tables.ts';

/** The statements of chapter 70 for marks and power, each over a few rows. Golden cases have whole days. */
const open = chapterTables();
const QUARTER_MS = 900_000;
const DAY_MS = 96 * QUARTER_MS;
const { gap, spike } = flagBits;
const SCOPE =
  'series_id INTEGER, method VARCHAR, compute_from_ms BIGINT, compute_to_ms BIGINT, last_ms BIGINT, has_later BOOLEAN';
const bounds = { low_ms: 0n, high_ms: BigInt(DAY_MS) };
const q = (quarters: number) => quarters * QUARTER_MS;
/** A series in scope from quarter 2 to quarter 90. */
const inScope = (id: number, method: string, hasLater = true) => [id, method, q(2), q(90), q(90), hasLater];

test('a mark has moved if the last reading in scope, or the value there, is not what was stored', async () => {
  const { fill, run, rows } = await open();
  const total = (id: number) => inScope(id, 'total_energy');
  await fill('scope', SCOPE, ...[1, 2, 3, 4, 5].map(total));
  await fill('scope', SCOPE, inScope(6, 'total_energy', false), inScope(7, 'daily_energy'));
  const MARK = 'series_id, interval_start_ms, last_ms, last_value';
  for (const id of [1, 2, 3, 4, 6, 7])
    await fill(
      'interval_energy',
      MARK,
      [id, q(4), q(4) + 5, 50],
      [id, q(2), q(2), 99],
      [id, q(5), null, null],
    );
  // Before the scope, after it, and of no series in scope.
  await fill('interval_energy', MARK, [1, q(1), q(1), 7], [1, q(90), q(90), 8], [9, q(4), q(4), 9]);
  await run('collect_stored_marks', bounds);
  expect(await rows('stored_mark', 'series_id, last_ms, last_value')).toEqual(
    [1, 2, 3, 4].map((id) => [id, q(4) + 5, 50]),
  );
  await run('delete_intervals', bounds);
  expect(await rows('interval_energy', 'series_id, interval_start_ms')).toEqual([
    [1, q(1)],
    [1, q(90)],
    [9, q(4)],
  ]);
  await fill('interval_energy', MARK, [1, q(4), q(4) + 5, 50], [1, q(3), q(3), 60], [1, q(6), null, null]);
  await fill('interval_energy', MARK, [2, q(4), q(4) + 5, 51], [3, q(4), q(4) + 6, 50], [5, q(4), q(4), 1]);
  await run('collect_moved_marks', bounds);
  expect((await rows('moved_mark', 'series_id')).flat()).toEqual([2, 3, 4]);
});

const POWER =
  'series_id INTEGER, interval_index BIGINT, from_ms BIGINT, to_ms BIGINT, covered BOOLEAN, exact_nwh BIGINT';
const STORED = 'series_id, interval_start_ms, energy_wh, exact_nwh, covered_ms, flags';

test('energy of power is summed by interval, with the flag gap where it is not known', async () => {
  const { fill, run, rows } = await open();
  await fill('scope', SCOPE, inScope(1, 'power_curve'), inScope(2, 'power_curve'));
  await fill(
    'power_line',
    POWER,
    [1, 2, 0, 300, true, 5],
    [1, 2, 300, 700, true, 6],
    [1, 2, 700, 900, false, 0],
    [2, 2, 0, 100, true, 7],
    [1, 89, 0, 100, true, 8],
    // Outside the scope, and of no series in scope.
    [1, 1, 0, 100, true, 9],
    [1, 90, 0, 100, true, 9],
    [3, 5, 0, 100, true, 9],
  );
  await fill('energy_event', 'series_id, kind, from_ms, to_ms', [1, 'spike', q(2), q(2)]);
  await run('store_power_intervals');
  expect(await rows('interval_energy', STORED)).toEqual([
    [1, q(2), 0, 11, 700, gap | spike],
    [1, q(89), 0, 8, 100, 0],
    [2, q(2), 0, 7, 100, 0],
  ]);
});

test.each<[name: string, fromMs: number, toMs: number, quarters: number[], method?: string]>([
  ['one interval', q(5), q(5) + 1, [5]],
  ['up to its last interval', q(5) + 1, q(7), [5, 6, 7]],
  ['to before its last interval', q(5), q(7) - 1, [5, 6]],
  ['from the beginning of the scope', 0, q(3), [2, 3]],
  ['up to the beginning of the scope', 0, q(2), [2]],
  ['before the scope', 0, q(2) - 1, []],
  ['up to the last reading', q(88), q(95), [88, 89]],
  ['from the last reading', q(90), q(95), []],
  ['of a register', q(5), q(6), [], 'total_energy'],
])('a spike of power flags intervals: %s', async (_name, fromMs, toMs, quarters, method = 'power_curve') => {
  const { fill, run, rows } = await open();
  await fill('scope', SCOPE, inScope(1, method), inScope(2, 'power_curve'));
  await fill('power_line', POWER);
  await fill('energy_event', 'series_id, kind, from_ms, to_ms', [1, 'spike', fromMs, toMs]);
  await run('store_power_intervals');
  expect(await rows('interval_energy', STORED)).toEqual(
    quarters.map((place) => [1, q(place), 0, 0, 0, spike]),
  );
});

test('energy of power is rounded by its running sum of the local day, on the days in scope', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'scope',
    SCOPE,
    [1, 'power_curve', q(5), q(9), 0, false],
    [2, 'total_energy', q(5), q(9), 0, false],
    [4, 'power_curve', q(5), q(9), 0, false],
  );
  await fill('local_day', 'day DATE, start_ms BIGINT, end_ms BIGINT');
  const days = [0, 1, 2].map((place) => [`1970-01-0${place + 1}`, q(place * 4), q(place * 4 + 4)]);
  await fill('local_day', 'day, start_ms, end_ms', ...days);
  await fill(
    'interval_day',
    'interval_index BIGINT, day DATE',
    ...Array.from({ length: 12 }, (_, place) => [place, `1970-01-0${Math.floor(place / 4) + 1}`]),
  );
  const places = [3, 4, 5, 6, 7, 8];
  for (const id of [1, 2, 3])
    await fill(
      'interval_energy',
      'series_id, interval_start_ms, energy_wh, exact_nwh',
      ...places.map((place) => [id, q(place), 9, place === 6 ? null : 400_000_000]),
    );
  const others = places.map((place) => [4, q(place), 9, 1_000_000_000 * place]);
  await fill('interval_energy', 'series_id, interval_start_ms, energy_wh, exact_nwh', ...others);
  await run('round_intervals');
  // 0.4, 0.8 and 1.2 Wh since midnight, and 0.4 Wh on the next day.
  const energyOf = async (id: number) =>
    (await rows(`interval_energy WHERE series_id = ${id}`, 'interval_start_ms, energy_wh')).map(
      ([, wh]) => wh,
    );
  expect(await energyOf(1)).toEqual([9, 0, 1, 9, 0, 0]);
  expect(await energyOf(4)).toEqual([9, 4, 5, 6, 7, 8]);
  expect([await energyOf(2), await energyOf(3)].flat()).toEqual(Array.from({ length: 12 }, () => 9));
});
