import { expect, test } from 'vitest';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';

/** The statements of chapter 52, each over a few rows. judged-again.test.ts has whole roll-ups. */
const open = chapterTables();
const FOREVER_MS = ruleConstants.forever_ms.value;
const STANDSTILL_MS = ruleConstants.standstill_max_ms.value;
const SCOPE =
  'series_id INTEGER, method VARCHAR, compute_from_ms BIGINT, compute_to_ms BIGINT, is_new BOOLEAN';
const SPAN = 'series_id INTEGER, from_ms BIGINT, to_ms BIGINT';

/** Tables of one series whose scope is from 1000 to 2000. */
async function openRanges({ method = 'total_energy', isNew = true, firstMs = 0 } = {}) {
  const tables = await open();
  const { fill, run, rows } = tables;
  await fill('changed_break', SPAN);
  await fill('changed_limit', SPAN);
  await fill('scope', SCOPE, [1, method, 1_000, 2_000, isNew]);
  await fill('series_rule', 'series_id INTEGER, first_ms BIGINT', [1, firstMs]);
  return {
    ...tables,
    async ranges(is_restated = false) {
      await run('collect_changed_ranges', { is_restated, low_ms: 900n, high_ms: 2_100n });
      return rows('changed_range', 'series_id, from_ms, to_ms');
    },
  };
}

test('breaks are judged again from the first to the last of what has changed: breaks, and limits of series in scope', async () => {
  const { fill, ranges } = await openRanges();
  expect(await ranges()).toEqual([]);
  await fill('changed_break', SPAN, [1, 1_100, 1_200], [1, 1_150, 1_300]);
  expect(await ranges()).toEqual([[1, 1_100, 1_300]]);
  await fill('changed_limit', SPAN, [1, 1_050, 1_250], [2, 0, 5_000]);
  expect(await ranges()).toEqual([[1, 1_050, 1_300]]);
});

test('the whole scope is judged again if rules have changed', async () => {
  const { ranges } = await openRanges();
  expect(await ranges(true)).toEqual([[1, 1_000, 2_000]]);
});

test('the days of a register that restarts every day are judged again if it has breaks around the scope', async () => {
  const { fill, ranges } = await openRanges({ method: 'daily_energy' });
  await fill('series_break', 'series_id, to_ms', [1, 899], [1, 2_101], [2, 1_000]);
  expect(await ranges()).toEqual([]);
  await fill('series_break', 'series_id, to_ms', [1, 2_100]);
  expect(await ranges()).toEqual([[1, 1_000, 1_999]]);
});

const BREAK = 'series_id, from_ms, from_value, to_ms, to_value';
test.each<[name: string, breaks: number[][], ranges: number[][], method?: string, isNew?: boolean]>([
  ['a rise in scope', [[1, 1_100, 5, 1_200, 9]], [[1, 1_200, 1_200]]],
  ['a rise at the beginning of the scope', [[1, 900, 5, 1_000, 9]], []],
  [
    'the next rise after the scope',
    [[1, 2_100, 5, 2_000 + STANDSTILL_MS, 9]],
    [[1, 2_000 + STANDSTILL_MS, 2_000 + STANDSTILL_MS]],
  ],
  ['a rise too long after the scope', [[1, 2_100, 5, 2_001 + STANDSTILL_MS, 9]], []],
  ['a fall', [[1, 1_100, 9, 1_200, 5]], []],
  ['a rise from zero', [[1, 1_100, 0, 1_200, 5]], []],
  [
    'a rise after the register moved again after the scope',
    [
      [1, 2_100, 5, 2_200, 9],
      [1, 2_300, 9, 2_400, 20],
    ],
    [[1, 2_200, 2_200]],
  ],
  [
    'two rises, of which the first begins before the end of the scope',
    [
      [1, 1_900, 5, 2_200, 9],
      [1, 2_300, 9, 2_400, 20],
    ],
    [[1, 2_200, 2_400]],
  ],
  [
    'a rise of a register that restarts every day',
    [[1, 1_100, 5, 1_200, 9]],
    [[1, 1_000, 1_999]],
    'daily_energy',
  ],
  ['a rise without new readings', [[1, 1_100, 5, 1_200, 9]], [], 'total_energy', false],
])(
  'a rise after a standstill is judged again if the standstill can begin in scope: %s',
  async (_name, breaks, wanted, method, isNew) => {
    const { fill, ranges } = await openRanges({ method, isNew });
    await fill('series_break', BREAK, ...breaks);
    expect(await ranges()).toEqual(wanted);
  },
);

test.each([
  ['the series begins in scope', 1_000, true, [[1, 1_000, 1_000]]],
  ['the series begins before', 999, true, []],
  ['no reading is new', 1_000, false, []],
])('the beginning of a series with events is judged again: %s', async (_name, firstMs, isNew, wanted) => {
  const { fill, ranges } = await openRanges({ firstMs, isNew });
  expect(await ranges()).toEqual([]);
  await fill('energy_event', 'series_id, from_ms', [1, 2_101], [2, 1_000]);
  expect(await ranges()).toEqual([]);
  await fill('energy_event', 'series_id, from_ms', [1, 900]);
  expect(await ranges()).toEqual(wanted);
});

/** The range of one series that has changed from 1000 to 2000. */
async function judgingOf(
  method: string,
  breaks: Array<[toMs: number, decidedMs: number | null]>,
  nearMs = 800,
) {
  const { fill, run, rows } = await open();
  await fill('changed_range', SPAN, [1, 1_000, 2_000]);
  await fill('series_rule', 'series_id INTEGER, method VARCHAR', [1, method]);
  await fill('local_day', 'start_ms BIGINT, end_ms BIGINT', [0, 1_000], [1_000, 1_900], [1_900, 2_500]);
  await fill(
    'series_break',
    'series_id, to_ms, decided_ms',
    ...breaks.map((one) => [1, ...one]),
    [2, 990, 990],
  );
  await run('collect_judging_ranges', { ahead: 2, near_ms: BigInt(nearMs) });
  const [row] = await rows('judging_range', 'after_ms, from_ms, to_ms, seen_ms');
  const [{ open: isOpen } = { open: undefined }] = await run('check_judging_ends');
  expect(await rows('judging_range', 'series_id, method, changed_ms')).toEqual([[1, method, 2_000]]);
  return { row, isOpen };
}

test('a lifetime register is judged from the last break that was decided without the change, to the second decided one after it', async () => {
  const { row, isOpen } = await judgingOf('total_energy', [
    [300, 300],
    [800, 900],
    [900, 1_000],
    [950, null],
    [1_500, 1_500],
    [2_000, 2_000],
    [2_100, 2_100],
    [2_200, null],
    [2_300, 2_400],
    [2_400, 2_400],
  ]);
  expect(row).toEqual([800, 800, 2_300, 2_300]);
  expect(isOpen).toBe(false);
});

test.each<[name: string, breaks: Array<[number, number | null]>, row: Array<number | null>]>([
  [
    'beginning',
    [
      [2_100, 2_100],
      [2_300, 2_300],
    ],
    [null, -1, 2_300, 2_300],
  ],
  [
    'end',
    [
      [800, 900],
      [2_100, 2_100],
    ],
    [800, 800, FOREVER_MS, FOREVER_MS],
  ],
  [
    'beginning within the searched time',
    [
      [199, 199],
      [2_100, 2_100],
      [2_300, 2_300],
    ],
    [null, -1, 2_300, 2_300],
  ],
  [
    'end within the searched time',
    [
      [200, 200],
      [2_800, 2_800],
      [2_801, 2_801],
    ],
    [200, 200, FOREVER_MS, FOREVER_MS],
  ],
])('the range of a lifetime register is open without such a break: no %s', async (_name, breaks, row) => {
  expect(await judgingOf('total_energy', breaks)).toEqual({ row, isOpen: true });
});

test('a register that restarts every day is judged by whole days, and its range is never open', async () => {
  expect(await judgingOf('daily_energy', [[500, 500]])).toEqual({
    row: [null, 999, 2_499, 2_499],
    isOpen: false,
  });
});

test.each<[name: string, breaks: Array<[number, number | null]>, row: Array<number | null>, isOpen: boolean]>(
  [
    [
      'between two breaks',
      [
        [400, null],
        [800, null],
        [2_100, null],
        [2_300, null],
      ],
      [null, 799, 2_099, 2_100],
      false,
    ],
    ['without a break before', [[2_100, null]], [null, -1, 2_099, 2_100], true],
    ['without a break after', [[800, null]], [null, 799, FOREVER_MS, FOREVER_MS], true],
  ],
)(
  'power is judged from the break before the change to the break after it, and that one is read: %s',
  async (_name, breaks, row, isOpen) => {
    expect(await judgingOf('power_curve', breaks)).toEqual({ row, isOpen });
  },
);

test('a range is extended to the given end, or to all breaks of its series', async () => {
  const { fill, run, rows } = await open();
  const columns =
    'series_id INTEGER, method VARCHAR, after_ms BIGINT, from_ms BIGINT, to_ms BIGINT, seen_ms BIGINT';
  await fill(
    'judging_range',
    columns,
    [1, 'total_energy', 5, 5, 9, 9],
    [2, 'total_energy', 5, 5, 9, 9],
    [3, 'daily_energy', null, 5, 9, 9],
  );
  await run('extend_judging', { ends: JSON.stringify([{ series_id: 2, to_ms: 20 }]) });
  const all = () => rows('judging_range', 'series_id, after_ms, from_ms, to_ms, seen_ms');
  expect(await all()).toEqual([
    [1, 5, 5, 9, 9],
    [2, 5, 5, 20, 20],
    [3, null, 5, 9, 9],
  ]);
  await run('judge_everything');
  expect(await all()).toEqual([
    [1, null, -1, FOREVER_MS, FOREVER_MS],
    [2, null, -1, FOREVER_MS, FOREVER_MS],
    [3, null, 5, 9, 9],
  ]);
});
