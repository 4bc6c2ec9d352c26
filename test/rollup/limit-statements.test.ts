import { expect, test } from 'vitest';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';

/** The statements of chapter 45 that store limits, each over a few rows. quarters.test.ts learns them. */
const open = chapterTables();
const DAY_MS = 86_400_000;
const RULE =
  'series_id INTEGER, stream_id INTEGER, method VARCHAR, sampling VARCHAR, net BOOLEAN, learns BOOLEAN, max_power_w DOUBLE, jitter_wh DOUBLE, reading_interval_ms BIGINT, reach_ms BIGINT, step_ms BIGINT, resolution DOUBLE, first_ms BIGINT, last_ms BIGINT';
const SCOPE =
  'series_id INTEGER, method VARCHAR, is_new BOOLEAN, compute_from_ms BIGINT, compute_to_ms BIGINT';
const LIMIT =
  'series_id INTEGER, utc_day INTEGER, learnt_power_w DOUBLE, usual_power_w DOUBLE, learnt_resolution DOUBLE, learnt_step_ms BIGINT, from_ms BIGINT, to_ms BIGINT';
interface Rule {
  stream?: number;
  method?: string;
  sampling?: string;
  net?: boolean;
  learns?: boolean;
  maxPower?: number | null;
  jitter?: number | null;
  reachMs?: number;
  firstMs?: number;
  lastMs?: number;
}
const rule = (
  id: number,
  { method = 'total_energy', maxPower = null, jitter = null, ...more }: Rule = {},
) => [
  id,
  more.stream ?? 1,
  method,
  more.sampling ?? '',
  more.net ?? false,
  more.learns ?? true,
  maxPower,
  jitter,
  null,
  more.reachMs ?? 0,
  null,
  null,
  more.firstMs ?? 0,
  more.lastMs ?? 0,
];

test('the quarters in scope of series with new readings are deleted, and the others stay', async () => {
  const { fill, run, rows } = await open();
  await fill('scope', SCOPE, [1, '', true, 100, 200], [2, '', false, 100, 200]);
  await fill(
    'series_quarter',
    'series_id, interval_start_ms',
    ...[99, 100, 199, 200].flatMap((ms) => [
      [1, ms],
      [2, ms],
      [3, ms],
    ]),
  );
  await run('delete_quarters', { low_ms: 100n, high_ms: 200n });
  expect((await rows('series_quarter WHERE series_id = 1', 'interval_start_ms')).flat()).toEqual([99, 200]);
  expect(await rows('series_quarter', 'series_id')).toHaveLength(10);
});

test('a learnt day replaces what is known of the day, and its limits stay until they are compared', async () => {
  const { fill, run, rows } = await open();
  const learnt =
    'series_id INTEGER, utc_day INTEGER, power_w DOUBLE, resolution DOUBLE, step_ms BIGINT, step_count INTEGER, change_count INTEGER';
  await fill('learnt_day', learnt, [1, 5, 10, 20, 30, 40, 50], [1, 6, 11, 21, 31, 41, 51]);
  const columns =
    'series_id, utc_day, power_w, resolution, step_ms, step_count, change_count, learnt_power_w';
  await fill(
    'series_day',
    columns,
    [1, 5, 1, 2, 3, 4, 5, 99],
    [1, 7, 1, 2, 3, 4, 5, 99],
    [2, 5, 1, 2, 3, 4, 5, 99],
  );
  await run('update_known_days');
  await run('store_new_days');
  expect(await rows('series_day', columns)).toEqual([
    [1, 5, 10, 20, 30, 40, 50, 99],
    [1, 6, 11, 21, 31, 41, 51, null],
    [1, 7, 1, 2, 3, 4, 5, 99],
    [2, 5, 1, 2, 3, 4, 5, 99],
  ]);
});

test('changed limits are stored by day, with the longest step and the newest resolution of their series', async () => {
  const { fill, run, rows } = await open();
  await fill('changed_limit', LIMIT, [1, 5, 10, 20, 30, 40, 5 * DAY_MS, 6 * DAY_MS - 1]);
  const columns = 'series_id, utc_day, learnt_power_w, usual_power_w, learnt_resolution, learnt_step_ms';
  await fill('series_day', columns, [1, 4, 1, 2, 100, 50], [1, 5, 1, 2, 3, 4], [2, 5, 1, 2, 3, 4]);
  await fill('series', 'series_id, step_ms, resolution', [1, 7, 8], [2, 7, 8]);
  await run('store_limits');
  expect(await rows('series_day', columns)).toEqual([
    [1, 4, 1, 2, 100, 50],
    [1, 5, 10, 20, 30, 40],
    [2, 5, 1, 2, 3, 4],
  ]);
  await run('store_series_steps');
  expect(await rows('series', 'series_id, step_ms, resolution')).toEqual([
    [1, 50, 30],
    [2, 7, 8],
  ]);
  await run('create_noted_limit_change');
  await run('note_changed_limits');
  expect(await rows('noted_limit_change', 'series_id, from_ms, to_ms')).toEqual([
    [1, 5 * DAY_MS, 6 * DAY_MS - 1],
  ]);
});

test('readings cover their new step, or the longer one from before', async () => {
  const { fill, run, rows } = await open();
  const averages = { method: 'power_curve', sampling: 'interval_average' };
  await fill('changed_limit', LIMIT, ...[1, 2, 3].map((id) => [id, 5, 0, 0, 0, 0, 0, 0]));
  await fill('series', 'series_id, step_ms, resolution', ...[1, 2, 3, 4].map((id) => [id, 1_000_000, 5]));
  await fill(
    'series_rule',
    RULE,
    rule(1, { ...averages, reachMs: 900_000 }),
    rule(2, { ...averages, reachMs: 2_000_000 }),
    rule(3),
    rule(4, { ...averages, reachMs: 1 }),
  );
  await run('apply_series_steps');
  expect(await rows('series_rule', 'series_id, step_ms, resolution, reach_ms')).toEqual([
    [1, 1_000_000, 5, 1_000_000],
    [2, 1_000_000, 5, 2_000_000],
    [3, 1_000_000, 5, 0],
    [4, null, null, 1],
  ]);
});

/** A series with readings from 0 to 9000, whose limits have changed from 1000 to 1999. Each reaches 100. */
test.each<[name: string, scope: [from: number, to: number], count: number, more?: Rule]>([
  ['all of the time in scope', [900, 2_100], 0],
  ['the time before it', [901, 2_100], 1],
  ['the time after it', [900, 2_099], 1],
  ['the time before it, where the series has none', [901, 2_100], 0, { firstMs: 1_001 }],
  ['the time after it, where the series has none', [900, 2_099], 0, { lastMs: 1_998 }],
  ['the time before it, which the first reading covers', [901, 2_100], 1, { firstMs: 950 }],
  ['the time after it, which the last reading covers', [900, 2_099], 1, { lastMs: 2_050 }],
])(
  'a changed day is beyond the scope if readings of it, or the time that they cover, are outside: %s',
  async (_name, [from, to], count, more) => {
    const { fill, run } = await open();
    await fill('changed_limit', LIMIT, [1, 0, 0, 0, 0, 0, 1_000, 1_999]);
    await fill('scope', SCOPE, [1, '', true, from, to], [2, '', true, 0, 1]);
    await fill('series_rule', RULE, rule(1, { reachMs: 100, firstMs: 0, lastMs: 9_000, ...more }), rule(2));
    expect(await run('count_limits_beyond_scope')).toEqual([{ count }]);
  },
);

test.each<[name: string, series: Rule, learnt: Array<number | null>, isDeleted: boolean]>([
  ['learns what it learnt before', {}, [5, 6], false],
  ['learns nothing any more', { learns: false }, [5, 6], true],
  ['learns a limit now', { jitter: null }, [null, 6], true],
  ['learns no limit any more', { maxPower: 9 }, [5, 6], true],
  ['learns a resolution now', {}, [5, null], true],
  ['learns no resolution any more', { jitter: 9 }, [5, 6], true],
  ['is power, which has no resolution', { method: 'power_curve' }, [5, null], false],
  ['is of other rules than those that have changed', { stream: 2, learns: false }, [5, 6], false],
])(
  'the statistics of a series are deleted when its rules change, or kept: it %s',
  async (_name, series, [powerW, resolution], isDeleted) => {
    const { fill, run, rows } = await open();
    await run('create_restated_stream');
    await fill('restated_stream', 'stream_id', [1]);
    await fill('series_rule', RULE, rule(1, series));
    await fill(
      'series_day',
      'series_id, learnt_power_w, learnt_resolution',
      [1, powerW!, resolution!],
      [2, 5, 6],
    );
    await fill('series_quarter', 'series_id', [1], [2]);
    await run('delete_outdated_quarters');
    await run('delete_outdated_days');
    const left = isDeleted ? [[2]] : [[1], [2]];
    expect(await rows('series_quarter', 'series_id')).toEqual(left);
    expect(await rows('series_day', 'series_id')).toEqual(left);
  },
);

test('the days of restated series without quarters are deleted, and the quarters of one stream on demand', async () => {
  const { fill, run, rows } = await open();
  await run('create_restated_stream');
  await fill('restated_stream', 'stream_id', [1]);
  await fill('series_rule', RULE, rule(1), rule(2), rule(3, { stream: 2 }));
  await fill('series', 'series_id, stream_id', [1, 1], [2, 1], [3, 2]);
  await fill('series_day', 'series_id', [1], [2], [3]);
  await fill('series_quarter', 'series_id', [1]);
  await run('delete_outdated_days');
  expect((await rows('series_day', 'series_id')).flat()).toEqual([1, 3]);
  await fill('series_quarter', 'series_id', [3]);
  await run('delete_stream_quarters', { stream_id: 1 });
  expect((await rows('series_quarter', 'series_id')).flat()).toEqual([3]);
});

test('the limits that are loaded are those of the days of the scope, of its series', async () => {
  const { fill, run, rows } = await open();
  await fill('scope', SCOPE, [1, '', true, 0, 0]);
  await fill('series_day', 'series_id, utc_day', [1, 0], [1, 1], [1, 2], [1, 3], [2, 1]);
  await run('load_day_limits', { low_ms: BigInt(DAY_MS), high_ms: BigInt(3 * DAY_MS - 1) });
  expect(await rows('day_limit', 'series_id, utc_day')).toEqual([
    [1, 1],
    [1, 2],
  ]);
});

const times = ruleConstants.after_reset_times.value;
test.each<[name: string, series: Rule[], limits: Array<Array<number | null>>, least: number | null]>([
  ['what is configured', [{ maxPower: 500 }], [[1, 0, 100, 1]], 500],
  [
    'the lowest learnt one of its days',
    [{}],
    [
      [1, 0, 900, null],
      [1, 1, 700, null],
    ],
    700,
  ],
  [
    'the one after a restart, if it is lower',
    [{}],
    [
      [1, 0, 900, 100],
      [1, 1, 700, 50],
    ],
    50 * times,
  ],
  ['the lowest one of all registers', [{ maxPower: 500 }, { maxPower: 400 }], [], 400],
  ['the highest one, where nothing is known', [{}], [], ruleConstants.learnt_power_max_w.value],
  ['none of power', [{ method: 'power_curve', maxPower: 5 }], [], null],
  ['none of a net register', [{ net: true, maxPower: 5 }], [], null],
])('the lowest limit of the registers in scope is %s', async (_name, series, limits, least) => {
  const { fill, run } = await open();
  await fill('scope', SCOPE, ...series.map((_, place) => [place + 1, '', true, 0, 0]));
  await fill(
    'series_rule',
    RULE,
    ...series.map((one, place) => rule(place + 1, one)),
    rule(9, { maxPower: 1 }),
  );
  await run('create_empty_tables');
  await fill(
    'series_day',
    'series_id, utc_day, learnt_power_w, usual_power_w',
    ...limits,
    [1, 2, 1, 1],
    [1, -1, 1, 1],
    [9, 0, 1, 1],
  );
  await run('load_day_limits', { low_ms: 0n, high_ms: BigInt(2 * DAY_MS - 1) });
  expect(await run('read_least_limit')).toEqual([{ least_power_w: least }]);
});
