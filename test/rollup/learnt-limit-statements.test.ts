import { expect, test } from 'vitest';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';

/** The statement of chapter 45 that computes limits from learnt days, over a few days. */
const open = chapterTables();
const DAY_MS = 86_400_000;
const CHANGES = ruleConstants.informative_changes.value;
const STEPS = ruleConstants.informative_steps.value;
const DAYS = ruleConstants.limit_days.value;
const RULE = 'series_id INTEGER, method VARCHAR, max_power_w DOUBLE, jitter_wh DOUBLE';
interface Series {
  method?: string;
  maxPower?: number | null;
  jitter?: number | null;
}
const power: Series = { method: 'power_curve' };

async function openSeries({ method = 'total_energy', maxPower = null, jitter = null }: Series = {}) {
  const tables = await open();
  await tables.fill('series_rule', RULE, [1, method, maxPower, jitter]);
  return tables;
}

const DAY = 'series_id, utc_day, power_w, resolution, step_ms, step_count, change_count';
const LIMIT = 'utc_day, learnt_power_w, usual_power_w, learnt_resolution, learnt_step_ms';

async function limitsOf(series: Series, known: Array<Array<number | null>>, lookAhead = 2) {
  const { fill, run, rows } = await openSeries(series);
  await fill('learnt_day', 'series_id INTEGER, utc_day INTEGER', [1, 100]);
  await fill('series_day', DAY, ...known.map((day) => [1, ...day]), [2, 100, 1e9, 0.001, 5, 9, 99]);
  await run('collect_limits', { look_ahead: lookAhead });
  const found = await rows('changed_limit', `series_id, from_ms, to_ms, ${LIMIT}`);
  expect(found.map(([id, from, to]) => [id, from, to])).toEqual(
    found.map(([, , , day]) => [1, Number(day) * DAY_MS, (Number(day) + 1) * DAY_MS - 1]),
  );
  return found.map((row) => row.slice(3));
}

test('the limits can change from the days that look ahead to the changed day, to the last day that looks back to it', async () => {
  const far = [98 - DAYS, 97, 98, 99, 100, 99 + DAYS, 100 + DAYS, 102 + DAYS];
  const found = await limitsOf(
    {},
    far.map((day) => [day, 2_000, 1, 5, 9, CHANGES]),
  );
  expect(found.map(([day]) => day)).toEqual([98, 99, 100, 99 + DAYS]);
});

test.each([
  ['the first day that counts', 101 - DAYS, 320_000],
  ['the day before it', 100 - DAYS, 64_000],
  ['the last day that counts', 102, 320_000],
  ['the day after it', 103, 64_000],
])('the limit follows from the days near a day: %s', async (_name, day, limit) => {
  const found = await limitsOf({}, [
    [100, 2_000, 1, 5, 9, CHANGES],
    [day, 10_000, 1, 5, 9, CHANGES],
  ]);
  expect(found.find(([place]) => place === 100)![1]).toBe(limit);
});

const limits: Array<
  [name: string, series: Series, known: Array<Array<number | null>>, limit: Array<number | null>]
> = [
  ['of a register', {}, [[2_000, 10, 5, 9, CHANGES]], [64_000, null, 10, null]],
  [
    'of a register that restarts every day',
    { method: 'daily_energy' },
    [[2_000, 10, 5, 9, CHANGES]],
    [64_000, 2_000, 10, null],
  ],
  [
    'of such a register with a configured limit',
    { method: 'daily_energy', maxPower: 5 },
    [[2_000, 10, 5, 9, CHANGES]],
    [null, null, 10, null],
  ],
  [
    'of a register with a configured jitter',
    { jitter: 0 },
    [[2_000, 10, 5, 9, CHANGES]],
    [64_000, null, null, null],
  ],
  ['of power', power, [[2_000, 10, 5, 9, CHANGES]], [64_000, null, null, 5]],
  ['that is the least one', {}, [[100, 10, 5, 9, CHANGES]], [50_000, null, 10, null]],
  ['that is the highest one', {}, [[1e9, 10, 5, 9, CHANGES]], [1e9, null, 10, null]],
  [
    'without informative days: the median',
    {},
    [
      [2_000, 10, 5, 9, 6],
      [3_000, 10, 5, 9, 6],
      [4_000, 10, 5, 9, 8],
    ],
    [96_000, null, 10, null],
  ],
  [
    'with informative days: the busy one of them',
    {},
    [
      [2_000, 10, 5, 9, CHANGES],
      [3_000, 10, 5, 9, CHANGES],
      [9_000, 10, 5, 9, CHANGES - 1],
    ],
    [96_000, null, 10, null],
  ],
  ['with too few changes for a resolution', {}, [[2_000, 10, 5, 9, CHANGES - 1]], [64_000, null, null, null]],
  [
    'with the resolution of the finer days',
    {},
    [
      [2_000, 10, 5, 9, CHANGES],
      [2_000, 1, 5, 9, 0],
      [2_000, 100, 5, 9, 0],
      [2_000, 100, 5, 9, 0],
    ],
    [64_000, null, 1, null],
  ],
  [
    'with the resolution of the finer days, but not of a single one of many',
    {},
    [[2_000, 0.1, 5, 9, CHANGES], ...Array.from({ length: 15 }, () => [2_000, 10, 5, 9, 0])],
    [64_000, null, 10, null],
  ],
  [
    'with the step of the day',
    power,
    [
      [2_000, 1, 5, STEPS, CHANGES],
      [2_000, 1, 7, STEPS, 0],
      [2_000, 1, 9, STEPS, 0],
    ],
    [64_000, null, null, 5],
  ],
  [
    'with the median step, if the day has few',
    power,
    [
      [2_000, 1, 5, STEPS - 1, CHANGES],
      [2_000, 1, 7, STEPS, 0],
      [2_000, 1, 9, STEPS, 0],
    ],
    [64_000, null, null, 7],
  ],
];
test.each(limits)('the limit %s', async (_name, series, known, limit) => {
  const found = await limitsOf(
    series,
    known.map((day, place) => [100 - place, ...day]),
  );
  expect(found.find(([day]) => day === 100)).toEqual([100, ...limit]);
});

test.each<[changed: string, series: Series, stored: Array<number | null>, isChanged: boolean]>([
  ['nothing of it', { method: 'daily_energy' }, [64_000, 2_000, 10, null], false],
  ['the limit', { method: 'daily_energy' }, [32_000, 2_000, 10, null], true],
  ['only the usual power', { method: 'daily_energy' }, [64_000, 1_000, 10, null], true],
  ['only the resolution', { method: 'daily_energy' }, [64_000, 2_000, 1, null], true],
  ['nothing of power', power, [64_000, null, null, 5], false],
  ['only the step of power', power, [64_000, null, null, 4], true],
])('the limits of a day are stored again if they change: %s', async (_name, series, stored, isChanged) => {
  const { fill, run, rows } = await openSeries(series);
  await fill('learnt_day', 'series_id INTEGER, utc_day INTEGER', [1, 100]);
  const day = [1, 100, 2_000, 10, 5, 9, CHANGES];
  await fill('series_day', `${DAY}, learnt_power_w, usual_power_w, learnt_resolution, learnt_step_ms`, [
    ...day,
    ...stored,
  ]);
  await run('collect_limits', { look_ahead: 2 });
  expect(await rows('changed_limit', 'utc_day')).toEqual(isChanged ? [[100]] : []);
});

test('the limits of a series follow from its own days, around its own changed days', async () => {
  const { fill, run, rows } = await openSeries();
  await fill('series_rule', RULE, ...[2, 3].map((id) => [id, 'total_energy', null, null]));
  await fill('learnt_day', 'series_id INTEGER, utc_day INTEGER', [1, 100], [2, 101], [3, 300]);
  const day = (id: number, utcDay: number, powerW: number) => [id, utcDay, powerW, 1, 5, 9, CHANGES];
  const last = 300 + DAYS - 1;
  await fill('series_day', DAY, day(1, 100, 2_000), day(2, 101, 10_000), day(1, 300, 2_000));
  await fill('series_day', DAY, day(3, 300, 2_000), day(3, last, 2_000), day(3, last + 2, 10_000));
  await run('collect_limits', { look_ahead: 2 });
  expect(await rows('changed_limit', 'series_id, utc_day, learnt_power_w')).toEqual([
    [1, 100, 64_000],
    [2, 101, 320_000],
    [3, 300, 64_000],
    [3, last, 320_000],
  ]);
});
