import { expect, test } from 'vitest';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';

/** The statements of chapter 45 that learn from quarters and days, each over a few rows. */
const open = chapterTables();
const QUARTER_MS = 900_000;
const DAY_MS = 96 * QUARTER_MS;
const CHANGES = ruleConstants.informative_changes.value;
const STEPS = ruleConstants.informative_steps.value;
const RULE = 'series_id INTEGER, method VARCHAR, net BOOLEAN, learns BOOLEAN, modulus_wh DOUBLE';
const SCOPE =
  'series_id INTEGER, method VARCHAR, is_new BOOLEAN, compute_from_ms BIGINT, compute_to_ms BIGINT';
const QUARTER = 'series_id, interval_start_ms, power_w, resolution, steps_ms, step_count, change_count';

interface Series {
  method?: string;
  isNew?: boolean;
  learns?: boolean;
  net?: boolean;
  modulus?: number | null;
}

/** Series 1 in scope in its quarters 2 and 3. */
async function openSeries({ method = 'total_energy', ...more }: Series = {}) {
  const tables = await open();
  const { fill, run } = tables;
  await run('create_empty_tables');
  await fill('scope', SCOPE, [1, method, more.isNew ?? true, 2 * QUARTER_MS, 4 * QUARTER_MS]);
  const { net = false, learns = true, modulus = null } = more;
  await fill('series_rule', RULE, [1, method, net, learns, modulus]);
  return tables;
}

type Pair = [before: number | null, from: number, to: number];
/** Pairs of 5 minutes in quarter 2. */
const quarters: Array<
  [
    name: string,
    series: Series,
    pairs: Pair[],
    power: number | null,
    resolution: number | null,
    changes: number,
  ]
> = [
  [
    'a register: the lowest power',
    {},
    [
      [null, 100, 130],
      [100, 130, 140],
      [130, 140, 160],
    ],
    120,
    10,
    3,
  ],
  [
    'a register that stands still',
    {},
    [
      [null, 100, 100],
      [100, 100, 112],
    ],
    144,
    1,
    1,
  ],
  ['a register that falls', {}, [[null, 100, 90]], null, 10, 1],
  ['a register that returns from a fall', {}, [[100, 50, 110]], 120, 10, 1],
  ['a register that returns to the value before a fall', {}, [[100, 50, 100]], null, 50, 1],
  ['a register that does not return from a fall', {}, [[100, 50, 90]], 480, 10, 1],
  [
    'a register that grows by less than its power of ten',
    {},
    [
      [null, 100, 104],
      [100, 996, 1_000],
    ],
    48,
    1,
    2,
  ],
  [
    'power: the highest that two readings agree on',
    { method: 'power_curve' },
    [
      [null, 5, -7],
      [5, -9, 6],
    ],
    6,
    15,
    2,
  ],
  ['power that hardly changes', { method: 'power_curve' }, [[null, 5, 5 + 1e-7]], 5, null, 1],
  [
    'interval readings',
    { method: 'interval_energy' },
    [
      [null, 5, 7],
      [5, -6, 9],
    ],
    72,
    2,
    2,
  ],
];
test.each(quarters)(
  'what a quarter shows of %s',
  async (_name, series, pairs, power, resolution, changes) => {
    const { fill, run, rows } = await openSeries(series);
    const STEP_MS = QUARTER_MS / 3;
    const at = (quarter: number, [before, from, to]: Pair, place: number) => {
      const toMs = quarter * QUARTER_MS + place * STEP_MS;
      return [1, before, toMs - STEP_MS, from, toMs, to];
    };
    await fill(
      'reading_pair',
      'series_id, value_before, from_ms, from_value, to_ms, to_value',
      ...pairs.map((pair, place) => at(2, pair, place)),
      [1, null, null, null, 2 * QUARTER_MS + 5, 1],
      // Outside the scope, and of another series.
      at(1, [0, 0, 1], 2),
      at(4, [0, 0, 1], 0),
      [2, 0, 0, 0, 2 * QUARTER_MS, 1],
    );
    await run('store_quarters');
    const found = await rows('series_quarter', QUARTER);
    expect(
      found.map((row) => row.map((cell) => (typeof cell === 'number' ? Math.round(cell * 1e6) / 1e6 : cell))),
    ).toEqual([[1, 2 * QUARTER_MS, power, resolution, pairs.length * STEP_MS, pairs.length, changes]]);
  },
);

test.each<[name: string, series: Series]>([
  ['without new readings', { isNew: false }],
  ['that learns nothing', { learns: false }],
])('nothing is learnt of a series %s', async (_name, series) => {
  const { fill, run, rows } = await openSeries(series);
  await fill('reading_pair', 'series_id, from_ms, from_value, to_ms, to_value', [1, 0, 1, 2 * QUARTER_MS, 2]);
  await run('store_quarters');
  expect(await rows('series_quarter', QUARTER)).toEqual([]);
  await fill('series_quarter', QUARTER, [1, 0, 5, 1, 5, 5, 5]);
  await run('summarize_days', { low_ms: 0n, high_ms: BigInt(DAY_MS - 1) });
  expect(await rows('learnt_day', 'series_id')).toEqual([]);
});

/** A quarter: power, resolution, ms of a step, number of steps and of changes. */
type Quarter = [
  power: number | null,
  resolution: number | null,
  stepMs: number,
  steps?: number,
  changes?: number,
];
type Learnt = [
  power: number | null,
  resolution: number | null,
  stepMs: number,
  steps: number,
  changes: number,
];
const power: Series = { method: 'power_curve' };
const ends = (first: number, last: number) => [...Array(5).fill(first), ...Array(5).fill(last)];
const grown = ends(100, 120);
const days: Array<[name: string, series: Series, quarters: Quarter[], learnt: Learnt, readings?: number[]]> =
  [
    [
      'the median power of a register, rounded up',
      {},
      [
        [9, 1, 1_000],
        [3, 1, 1_000],
        [5, 1, 1_000],
      ],
      [8, 1, 1_000, 3, 3],
    ],
    ['a power that is a power of two', {}, [[8, 1, 1_000]], [8, 1, 1_000, 1, 1]],
    // 20 / 4 = 5.
    [
      'a part of the second busiest quarter of power',
      power,
      [
        [90, 1, 1_000],
        [3, 1, 1_000],
        [20, 1, 1_000],
      ],
      [8, 1, 1_000, 3, 3],
    ],
    ['no power of one quarter of power', power, [[90, 1, 1_000]], [null, 1, 1_000, 1, 1]],
    [
      'no power of power of zero',
      power,
      [
        [0, 1, 1_000],
        [0, 1, 1_000],
      ],
      [null, 1, 1_000, 2, 2],
    ],
    ['the resolution in two digits', {}, [[8, 0.1234, 1_000]], [8, 0.12, 1_000, 1, 1]],
    [
      'the resolution of the finest quarters, but not of a single one of many',
      {},
      [[8, 0.01, 1_000], ...Array.from({ length: 19 }, (): Quarter => [8, 1, 1_000])],
      [8, 1, 1_000, STEPS, 20],
    ],
    ['a step in seconds', {}, [[8, 1, 59_499]], [8, 1, 59_000, 1, 1]],
    ['a step in seconds, rounded up', {}, [[8, 1, 1_500]], [8, 1, 2_000, 1, 1]],
    ['at least a second', {}, [[8, 1, 300]], [8, 1, 1_000, 1, 1]],
    ['a step from a minute on, in units of five seconds', {}, [[8, 1, 62_499]], [8, 1, 60_000, 1, 1]],
    ['such a step, rounded up', {}, [[8, 1, 62_500]], [8, 1, 65_000, 1, 1]],
    [
      'the median step',
      {},
      [
        [8, 1, 1_000],
        [8, 1, 3_000, 2],
        [8, 1, 9_000],
      ],
      [8, 1, 3_000, 4, 4],
    ],
    [
      'no more steps and changes than inform',
      {},
      [[8, 1, 1_000, STEPS + 9, CHANGES + 9]],
      [8, 1, 1_000, STEPS, CHANGES],
    ],
    // A growth of 20 Wh is 80 W in a quarter: twice that, by 32, is 5 W.
    ['at most what the day grew by', {}, [[4_000, 1, 1_000, CHANGES]], [8, 1, 1_000, STEPS, CHANGES], grown],
    [
      'no power of a day without growth',
      {},
      [[4_000, 1, 1_000, CHANGES]],
      [null, 1, 1_000, STEPS, CHANGES],
      ends(100, 100),
    ],
    [
      'its power, if the register is lower in the end',
      {},
      [[4_000, 1, 1_000, CHANGES]],
      [4_096, 1, 1_000, STEPS, CHANGES],
      ends(100, 99),
    ],
    [
      'its power, if it has few steps',
      {},
      [[4_000, 1, 1_000, CHANGES - 1]],
      [4_096, 1, 1_000, STEPS, CHANGES - 1],
      grown,
    ],
    [
      'its power, if the limit is the least one',
      {},
      [[1_562.5, 1, 1_000, CHANGES]],
      [2_048, 1, 1_000, STEPS, CHANGES],
      grown,
    ],
    [
      'its power, of a net register',
      { net: true },
      [[4_000, 1, 1_000, CHANGES]],
      [4_096, 1, 1_000, STEPS, CHANGES],
      grown,
    ],
    [
      'its power, with a modulus',
      { modulus: 1e6 },
      [[4_000, 1, 1_000, CHANGES]],
      [4_096, 1, 1_000, STEPS, CHANGES],
      grown,
    ],
    [
      'its power, of a register that restarts every day',
      { method: 'daily_energy' },
      [[4_000, 1, 1_000, CHANGES]],
      [4_096, 1, 1_000, STEPS, CHANGES],
      grown,
    ],
    // The median of five readings at each end: from 100 to 120.
    [
      'at most the growth between the medians of its ends',
      {},
      [[4_000, 1, 1_000, CHANGES]],
      [8, 1, 1_000, STEPS, CHANGES],
      [0, 0, 100, 100, 100, 120, 120, 120, 900, 900],
    ],
  ];
test.each(days)('a day teaches %s', async (_name, series, list, learnt, readings = []) => {
  const { fill, run, rows } = await openSeries(series);
  const quarterOf = ([powerW, resolution, stepMs, steps = 1, changes = steps]: Quarter, place: number) => [
    1,
    DAY_MS + place * QUARTER_MS,
    powerW,
    resolution,
    steps * stepMs,
    steps,
    changes,
  ];
  await fill('series_quarter', QUARTER, ...list.map(quarterOf));
  // Of other days, and of a series that is not in scope.
  await fill('series_quarter', QUARTER, [1, DAY_MS - 1, 1, 5, 5, 5, 5], [1, 2 * DAY_MS, 1, 5, 5, 5, 5]);
  await fill('series_quarter', QUARTER, [2, DAY_MS, 1, 5, 5, 5, 5]);
  await fill(
    'reading',
    'series_id, event_time_ms, value',
    ...readings.map((wh, place) => [1, DAY_MS + place, wh]),
    [1, DAY_MS - 1, 0],
    [1, 2 * DAY_MS, 9_999],
    [2, DAY_MS, 0],
  );
  const bounds = { low_ms: BigInt(DAY_MS), high_ms: BigInt(2 * DAY_MS - 1) };
  await run('summarize_days', bounds);
  const columns = 'series_id, utc_day, power_w, resolution, step_ms, step_count, change_count';
  expect(await rows('learnt_day', columns)).toEqual([[1, 1, ...learnt]]);
  // A day that is known already is not learnt again.
  await run('store_new_days');
  await run('summarize_days', bounds);
  expect(await rows('learnt_day', columns)).toEqual([]);
});

test('the growth of each day is that of its own readings', async () => {
  const { fill, run, rows } = await openSeries();
  await fill(
    'series_quarter',
    QUARTER,
    ...[1, 2].map((day) => [1, day * DAY_MS, 4_000, 1, 9, CHANGES, CHANGES]),
  );
  const readings = [1, 2].flatMap((day) =>
    grown.map((wh, place) => [1, day * DAY_MS + place, day * 900 + wh]),
  );
  await fill('reading', 'series_id, event_time_ms, value', ...readings);
  await run('summarize_days', { low_ms: BigInt(DAY_MS), high_ms: BigInt(3 * DAY_MS - 1) });
  expect(await rows('learnt_day', 'utc_day, power_w')).toEqual([
    [1, 8],
    [2, 8],
  ]);
});
