import { expect, test } from 'vitest';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';

/** The statements of chapter 54 that give breaks to the judge, each over a few rows. */
const open = chapterTables();
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const STANDSTILL_MS = ruleConstants.standstill_max_ms.value;
const RANGE =
  'series_id INTEGER, method VARCHAR, from_ms BIGINT, after_ms BIGINT, to_ms BIGINT, seen_ms BIGINT, changed_ms BIGINT';
const RULE =
  'series_id INTEGER, method VARCHAR, net BOOLEAN, max_power_w DOUBLE, jitter_wh DOUBLE, reading_interval_ms BIGINT, modulus_wh DOUBLE, first_ms BIGINT, last_ms BIGINT';
const BREAK = 'series_id, from_ms, from_value, to_ms, to_value';
const PAIR =
  'series_id INTEGER, value_before DOUBLE, from_ms BIGINT, from_value DOUBLE, to_ms BIGINT, to_value DOUBLE';
const all = { parts: 1n, part: 0n };

/** Series 1 and 2 are judged from the beginning of their first day on, up to its 20th day. */
async function openBreaks({
  method = 'total_energy',
  firstMs = 0,
  maxPower = 1_000 as number | null,
  after = null as number | null,
} = {}) {
  const tables = await open();
  const { fill, run } = tables;
  await run('create_empty_tables');
  for (const id of [1, 2]) {
    await fill('judging_range', RANGE, [id, method, 100, after, 20 * DAY_MS, 20 * DAY_MS, 0]);
    await fill('series_rule', RULE, [id, method, false, maxPower, null, HOUR_MS, 5, firstMs, 9]);
  }
  await fill(
    'interval_day',
    'interval_index BIGINT, start_ms BIGINT',
    // Those of hours 2, 26, 27 and 28.
    ...[8, 104, 108, 112].map((index) => [index, index < 96 ? 0 : DAY_MS]),
  );
  return tables;
}

test('the breaks after the beginning of judging are judged, up to the last one that is seen, by series and time', async () => {
  const { fill, run } = await openBreaks({ after: 100 });
  const times = [99, 20 * DAY_MS + 1, 20 * DAY_MS, 101, 100];
  for (const id of [2, 1, 3]) await fill('series_break', BREAK, ...times.map((ms) => [id, ms - 1, 7, ms, 5]));
  const judged = await run('list_breaks_to_judge', all);
  expect(judged.map((row) => [row.series_id, row.to_ms, row.is_start])).toEqual(
    [1, 2].flatMap((id) => [
      [id, 100, true],
      [id, 101, false],
      [id, 20 * DAY_MS, false],
    ]),
  );
  expect(await run('count_breaks_to_judge')).toEqual([{ breaks: 4 }]);
  const part = await run('list_breaks_to_judge', { parts: 2n, part: 1n });
  expect(part.map((row) => row.series_id)).toEqual([1, 1, 1]);
});

test('judging does not begin with a break if it begins with the first reading', async () => {
  const { fill, run } = await openBreaks();
  await fill('series_break', BREAK, [1, 99, 7, 100, 5], [1, 100, 5, 101, 4]);
  expect(await run('list_breaks_to_judge', all)).toMatchObject([{ to_ms: 101, is_start: false }]);
});

/** A register shows 10, then rises three days later, on day 12. Each reading is [days, value]. */
const still: Array<
  [
    name: string,
    readings: Array<[days: number, value: number]>,
    sinceDays: number | null,
    firstMs?: number,
    more?: { from?: number; to?: number; method?: string },
  ]
> = [
  [
    'its last other value',
    [
      [6, 5],
      [7, 10],
      [9, 10],
    ],
    7,
  ],
  [
    'the last of its other values',
    [
      [6, 10],
      [7, 15],
      [8, 10],
    ],
    8,
  ],
  ['its first reading', [[7, 10]], 7, 7 * DAY_MS],
  ['its first reading, as long ago as a standstill can last', [[5, 10]], 5, 12 * DAY_MS - STANDSTILL_MS],
  ['longer than a standstill can last', [[5, 10]], null, 12 * DAY_MS - STANDSTILL_MS - 1],
  [
    'another value, as long ago as a standstill can last',
    [
      [5, 5],
      [6, 10],
    ],
    6,
  ],
  [
    'another value that is longer ago',
    [
      [4.99, 5],
      [6, 10],
    ],
    null,
  ],
  ['a rise from zero', [[7, 0]], null, 7 * DAY_MS, { from: 0 }],
  ['a fall', [[7, 10]], null, 7 * DAY_MS, { to: 9 }],
  ['no register', [[7, 10]], null, 7 * DAY_MS, { method: 'power_curve' }],
];
test.each(still)(
  'a register stood still before a rise since %s',
  async (_name, readings, sinceDays, firstMs = 0, { from = 10, to = 20, method } = {}) => {
    const { fill, run } = await openBreaks({ method, firstMs });
    await fill('series_break', BREAK, [1, 12 * DAY_MS, from, 12 * DAY_MS + HOUR_MS, to]);
    // A series with an earlier and a later rise is judged too.
    for (const [days, wh] of [
      [11.9, 50],
      [13, 60],
    ] as const)
      await fill('series_break', BREAK, [2, days * DAY_MS, wh, days * DAY_MS + HOUR_MS, wh + 1]);
    const around: Array<[number, number]> = [...readings, [12, from], [12.04, 99]];
    await fill(
      'reading',
      'series_id, event_time_ms, value',
      ...around.map(([day, wh]) => [1, day * DAY_MS, wh]),
    );
    const others: Array<[number, number]> = [
      [11, 40],
      [11.5, 50],
      [11.9, 50],
      [12.5, 60],
      [13, 60],
    ];
    await fill(
      'reading',
      'series_id, event_time_ms, value',
      ...others.map(([day, wh]) => [2, day * DAY_MS, wh]),
    );
    const judged = await run('list_breaks_to_judge', all);
    expect(judged.slice(1).map((row) => row.standstill_since_ms)).toEqual(
      method === undefined ? [11.5 * DAY_MS, 12.5 * DAY_MS] : [null, null],
    );
    expect(judged[0]!.standstill_since_ms).toBe(sinceDays === null ? null : sinceDays * DAY_MS);
  },
);

test('a break has the limits, the jitter and the step of the UTC day on which it ends', async () => {
  const { fill, run } = await openBreaks({ maxPower: null });
  const LIMIT = 'series_id, utc_day, learnt_power_w, usual_power_w, learnt_resolution, learnt_step_ms';
  await fill('series_day', LIMIT, [1, 0, 1_000, 100, 1, HOUR_MS], [1, 1, 5_000, 500, 10, HOUR_MS]);
  await fill('series_day', LIMIT, [2, 1, 7_000, 700, 7, HOUR_MS]);
  await fill('series_break', BREAK, [1, DAY_MS - 2, 5, DAY_MS - 1, 1_001], [1, DAY_MS - 1, 5, DAY_MS, 5_001]);
  expect(await run('list_breaks_to_judge', all)).toMatchObject([
    { max_power_w: 1_000, max_power_after_reset_w: 400, jitter_wh: 2, is_beyond: true },
    { max_power_w: 5_000, max_power_after_reset_w: 2_000, jitter_wh: 20, is_beyond: true },
  ]);
});

test('the break of a register that restarts every day comes with the two readings around the start of its day', async () => {
  const { fill, run } = await openBreaks({ method: 'daily_energy' });
  const hour = (id: number, from: number, to: number) => [id, null, from * HOUR_MS, from, to * HOUR_MS, to];
  await fill('reading_pair', PAIR, hour(2, 21, 27), hour(1, 1, 2), hour(1, 22, 26), hour(1, 26, 28));
  await fill('series_break', BREAK, [1, 26 * HOUR_MS, 9, 28 * HOUR_MS, 5], [1, HOUR_MS, 9, 2 * HOUR_MS, 5]);
  expect(await run('list_breaks_to_judge', all)).toMatchObject([
    { day_ms: 0, before_ms: null, first_ms: null },
    { day_ms: DAY_MS, before_ms: 22 * HOUR_MS, before_value: 22, first_ms: 26 * HOUR_MS, first_value: 26 },
  ]);
});

test.each([
  [
    'a reading at the start of the day is of that day',
    'daily_energy',
    24,
    { day_ms: DAY_MS, before_ms: null },
  ],
  ['a lifetime register has no day', 'total_energy', 22, { day_ms: null, before_ms: null }],
])('%s', async (_name, method, fromHour, row) => {
  const { fill, run } = await openBreaks({ method });
  await fill('reading_pair', PAIR, [1, null, fromHour * HOUR_MS, 9, 26 * HOUR_MS, 5]);
  await fill('series_break', BREAK, [1, fromHour * HOUR_MS, 9, 26 * HOUR_MS, 5]);
  expect(await run('list_breaks_to_judge', all)).toMatchObject([row]);
});

test.each([
  ['from the beginning', 'total_energy', null, 42],
  ['from a break on', 'total_energy', 100, null],
  ['of power', 'power_curve', null, null],
])(
  'a judged series comes with its rules, and its first value if it is judged %s',
  async (_name, method, after, first) => {
    const { fill, run } = await openBreaks({ method, after, firstMs: 7, maxPower: null });
    await fill('reading', 'series_id, event_time_ms, value', [1, 7, 42], [1, 8, 43], [2, 7, 44]);
    const [row, ...others] = (await run('list_judged_series')).toSorted(
      (a, b) => Number(a.series_id) - Number(b.series_id),
    );
    expect(others.map(({ series_id }) => series_id)).toEqual([2]);
    expect(row).toEqual({
      series_id: 1,
      method,
      judging_to_ms: 20 * DAY_MS,
      changed_ms: 0,
      is_learnt: true,
      modulus_wh: 5,
      first_ms: 7,
      first_value: first,
      last_ms: 9,
    });
  },
);

test('the declared changes of judged registers come by series and time', async () => {
  const { fill, run } = await openBreaks();
  const CHANGE = 'series_id INTEGER, at_ms BIGINT, final_value DOUBLE, initial_value DOUBLE';
  await fill('register_change', CHANGE, [2, 5, 1, 2], [1, 9, 3, 4], [3, 6, 5, 6], [1, 4, 7, 8]);
  expect((await run('list_register_changes')).map((row) => Object.values(row))).toEqual([
    [1, 4, 7, 8],
    [1, 9, 3, 4],
    [2, 5, 1, 2],
  ]);
});
