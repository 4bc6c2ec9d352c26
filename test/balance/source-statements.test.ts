import { expect, test } from 'vitest';
import { balanceTables } from './balance-tables.ts';

const readStatements = balanceTables();

const QUARTER_MS = 900_000;
const HOUR_MS = 3_600_000;
const day = (number: number) => `DATE '2026-11-0${number}'`;

test('a day is read from its stream, with the step of that stream', async () => {
  const found = await readStatements(
    {
      wanted: [
        'device, source, own_day',
        `'a', 'x', ${day(1)}`,
        `'a', 'x', ${day(2)}`,
        `'a', 'y', ${day(1)}`,
      ],
      daily_energy: [
        'device, source, day, stream_id, method',
        `'a', 'x', ${day(1)}, 1, 'total_energy'`,
        `'a', 'x', ${day(2)}, 2, 'daily_energy'`,
        `'a', 'x', ${day(3)}, 1, 'total_energy'`,
        `'a', 'y', ${day(1)}, 3, 'power_curve'`,
        `'a', 'y', ${day(2)}, 3, 'power_curve'`,
        `'b', 'y', ${day(1)}, 3, 'power_curve'`,
      ],
      series: [
        'device, source, stream_id, step_ms, resolution_wh',
        `'a', 'x', 1, ${HOUR_MS}, 10`,
        `'a', 'x', 2, ${HOUR_MS + 1}, 20`,
        "'b', 'y', 3, 1, 30",
      ],
    },
    { read_from: 'find_read_from' },
    'source, day(own_day), stream_id, is_register, is_sparse, step_wh',
  );
  expect(found).toEqual([
    ['x', 1, 1, true, false, 10],
    ['x', 2, 2, true, true, 20],
    ['y', 1, 3, false, false, 0],
  ]);
});

test('the stored intervals of a day are those of its stream', async () => {
  const found = await readStatements(
    {
      read_from: [
        'device, source, own_day, stream_id, is_sparse',
        `'a', 'x', ${day(1)}, 1, false`,
        `'a', 'x', ${day(2)}, 2, false`,
      ],
      own_slot: ['own_day, at_ms', `${day(1)}, 0`, `${day(2)}, ${QUARTER_MS}`],
      interval_energy: [
        'device, source, stream_id, interval_start, energy_wh, covered_ms, flags',
        ...[1, 2].flatMap((stream) =>
          [0, QUARTER_MS, 2 * QUARTER_MS].map(
            (ms) =>
              `'a', 'x', ${stream}, make_timestamptz(${ms}000::BIGINT), ${10 * stream}, 7, []::VARCHAR[]`,
          ),
        ),
        "'a', 'other', 1, make_timestamptz(0), 5, 7, ['estimated']",
      ],
    },
    { measured: 'find_measured' },
    'day(own_day), at_ms, energy_wh, covered_ms, is_estimated',
  );
  expect(found).toEqual([
    [1, 0, 10, 7, false],
    [2, QUARTER_MS, 20, 7, false],
  ]);
});

/** Three intervals of each day. A day: its method, the step, and the covered time of the intervals. */
async function intervalsOf(days: Array<{ method: string; step?: number; covered: Array<number | null> }>) {
  const numbered = days.map((one, index) => ({ ...one, own: day(index + 1), index }));
  return readStatements(
    {
      wanted: ['device, source, own_day', ...numbered.map(({ own }) => `'a', 'x', ${own}`)],
      slot: [
        'own_day, at_ms',
        ...numbered.flatMap(({ own, index }) => [0, 1, 2].map((place) => `${own}, ${3 * index + place}`)),
      ],
      read_from: [
        'device, source, own_day, is_register, step_wh',
        ...numbered.map(
          ({ own, method, step = 10 }) => `'a', 'x', ${own}, ${method !== 'power_curve'}, ${step}`,
        ),
      ],
      daily_energy: [
        'day, device, source, method',
        ...numbered.map(({ own, method }) => `${own}, 'a', 'x', '${method}'`),
      ],
      measured: [
        'device, source, own_day, at_ms, energy_wh, covered_ms, is_estimated, is_spread',
        ...numbered.flatMap(({ own, covered, index }) =>
          covered.flatMap((ms, place) =>
            ms === null ? [] : [`'a', 'x', ${own}, ${3 * index + place}, 5, ${ms}, ${place === 0}, false`],
          ),
        ),
      ],
    },
    { source_interval: 'find_source_interval' },
    'at_ms, energy_wh, is_estimated, step_wh',
  );
}

test('an interval of power is known if almost all of it is covered, and has no step', async () => {
  expect(await intervalsOf([{ method: 'power_curve', covered: [899_100, 899_099, null] }])).toEqual([
    [0, 5, true, 0],
    [1, null, false, 0],
    [2, null, false, 0],
  ]);
});

test('days before the first one of the register are not between its readings', async () => {
  const power = { method: 'power_curve', covered: [QUARTER_MS, QUARTER_MS, null] };
  const register = { method: 'total_energy', covered: [null, QUARTER_MS, null] };
  expect((await intervalsOf([power, register])).map(([, wh]) => wh)).toEqual([5, 5, null, null, 5, null]);
  expect((await intervalsOf([register, power])).map(([, wh]) => wh)).toEqual([null, 5, null, 5, 5, null]);
  expect(await intervalsOf([register, register])).toEqual([
    [0, null, false, 10],
    [1, 5, false, 10],
    [2, 0, false, 10],
    [3, 0, false, 10],
    [4, 5, false, 10],
    [5, null, false, 10],
  ]);
});
