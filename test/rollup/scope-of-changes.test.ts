import { expect, test } from 'vitest';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 30, each over a few rows. reaching-changes.test.ts has whole roll-ups. */
const open = chapterTables();
const [one, two] = [deviceOf(1), deviceOf(2)];
const DAY_MS = 86_400_000;
const MIN_MS = 60_000;
const RULE =
  'series_id INTEGER, device UUID, source VARCHAR, method VARCHAR, net BOOLEAN, learns BOOLEAN, reach_ms BIGINT, first_ms BIGINT, last_ms BIGINT';
const SPAN = 'series_id INTEGER, from_ms BIGINT, to_ms BIGINT, is_new BOOLEAN';
const SCOPE =
  'series_id, method, from_ms, to_ms, compute_from_ms, compute_to_ms, first_ms, last_ms, is_new, has_later';

test('the touched time of a stretch is requested, one range for each series', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'touched',
    SPAN,
    [1, 10, 20, false],
    [1, 30, 40, true],
    [2, 15, 20, false],
    [1, 9, 20, true],
    [1, 30, 41, true],
  );
  await run('request_stretch', { low_ms: 10n, high_ms: 40n });
  expect(await rows('requested_time', 'series_id, from_ms, to_ms, is_new')).toEqual([
    [1, 10, 40, true],
    [2, 15, 20, false],
  ]);
  await fill(
    'series_rule',
    RULE,
    [1, one, 'a', 'total_energy', false, true, 0, 5, 50],
    [2, one, 'b', 'daily_energy', false, true, 0, 4, 45],
  );
  expect(await run('describe_request')).toEqual([
    { series: 2, low_ms: 10, high_ms: 40, first_ms: 4, last_ms: 50, by_day: true },
  ]);
});

/** The scope of new readings from minute `from` to minute `to`, beside readings at these minutes. */
async function scopeOf(
  minutes: readonly number[],
  {
    method = 'total_energy',
    from = 100,
    to = 100,
    reach = 0,
    nearMs = DAY_MS,
    isLast = false,
    leftOut = [] as number[],
    event = 'glitch',
  } = {},
) {
  const { fill, run, rows } = await open();
  await run('create_scope');
  const all = [...minutes, from, to];
  await fill('requested_time', SPAN, [1, from * MIN_MS, to * MIN_MS, true]);
  await fill('series_rule', RULE, [
    1,
    one,
    'a',
    method,
    false,
    true,
    reach * MIN_MS,
    Math.min(...all) * MIN_MS,
    Math.max(...all) * MIN_MS,
  ]);
  await fill(
    'reading',
    'series_id, event_time_ms',
    ...[...new Set(all)].map((minute) => [1, minute * MIN_MS]),
    [2, 99 * MIN_MS],
  );
  await fill(
    'energy_event',
    'series_id, kind, from_ms, to_ms',
    ...leftOut.map((minute) => [1, event, minute * MIN_MS, minute * MIN_MS]),
  );
  await fill('local_day', 'start_ms BIGINT, end_ms BIGINT', [-DAY_MS, 0], [0, DAY_MS], [DAY_MS, 2 * DAY_MS]);
  await run('collect_scope', {
    near_ms: BigInt(nearMs),
    low_ms: -BigInt(DAY_MS),
    high_ms: BigInt(2 * DAY_MS),
    by_day: method === 'daily_energy',
    is_last: isLast,
  });
  const [row] = await rows(
    'scope',
    'compute_from_ms, compute_to_ms, first_ms, anchor_ms, last_ms, has_later',
  );
  return row?.map((cell) => (typeof cell === 'number' ? cell / MIN_MS : cell));
}
/** Minutes of readings every ten minutes, from 0 to 200. */
const tens = Array.from({ length: 21 }, (_, place) => place * 10);

test.each<[name: string, Parameters<typeof scopeOf>, scope: Array<number | boolean>]>([
  // From the reading before (90) to the second one after (120); two readings before that, and one after it.
  ['a register', [tens], [90, 135, 70, 80, 140, true]],
  [
    'power, of which one reading after it counts',
    [tens, { method: 'power_curve' }],
    [90, 120, 70, 80, 120, true],
  ],
  [
    'averages, which reach beyond their time',
    [tens, { method: 'power_curve', reach: 15 }],
    [75, 120, 40, 50, 140, true],
  ],
  [
    'averages that reach further than the next reading',
    [tens, { method: 'power_curve', reach: 30 }],
    [60, 135, 10, 20, 170, true],
  ],
  ['a register that restarts every day', [tens, { method: 'daily_energy' }], [0, 1_440, 0, 0, 1_440, false]],
  ['the first reading', [[100, 110, 120, 130, 140]], [90, 135, 90, 90, 140, true]],
  ['the second reading', [[90, 110, 120, 130, 140]], [90, 135, 90, 90, 140, true]],
  ['the last reading', [[70, 80, 90]], [90, 105, 70, 80, 105, false]],
  ['the reading before the last one', [[70, 80, 90, 110]], [90, 120, 70, 80, 120, false]],
  ['a reading after one that is left out', [tens, { leftOut: [90] }], [75, 135, 60, 70, 140, true]],
  ['a reading before one that is left out', [tens, { leftOut: [110] }], [90, 135, 70, 80, 140, true]],
  [
    'a reading after a reset, which counts',
    [tens, { leftOut: [90], event: 'reset' }],
    [90, 135, 70, 80, 140, true],
  ],
])('the scope of %s', async (_name, parameters, scope) => {
  expect(await scopeOf(...parameters)).toEqual(scope);
});

test.each<[name: string, Parameters<typeof scopeOf>, isFound: boolean]>([
  ['all are near', [tens, { nearMs: 60 * MIN_MS }], true],
  ['the reading before is not', [[10, 110, 120, 140], { nearMs: 60 * MIN_MS }], false],
  [
    'the second reading before the scope is not',
    [[20, 80, 90, 110, 120, 140], { nearMs: 60 * MIN_MS }],
    false,
  ],
  [
    'the first reading before the scope is the first of the series',
    [[80, 90, 110, 120, 140], { nearMs: 60 * MIN_MS }],
    true,
  ],
  ['the second reading after is not', [[70, 80, 90, 110, 190], { nearMs: 60 * MIN_MS }], false],
  [
    'the second reading after power is not needed',
    [[70, 80, 90, 110, 190], { nearMs: 89 * MIN_MS, method: 'power_curve' }],
    false,
  ],
  ['the reading after the scope is not', [[70, 80, 90, 110, 120, 170], { nearMs: 60 * MIN_MS }], false],
  ['nothing more is searched', [[10, 110, 120, 140], { nearMs: 60 * MIN_MS, isLast: true }], true],
])('a series is in scope when its neighbours are found: %s', async (_name, parameters, isFound) => {
  expect((await scopeOf(...parameters)) !== undefined).toBe(isFound);
});

/** Two series of source a of device 1 with the given methods. The first one is in scope from 1000 to 2000. */
async function openDescribed({
  methods = ['total_energy', 'other'],
  isNew = true,
  hasLater = true,
  net = false,
  firstMs = 0,
} = {}) {
  const tables = await open();
  const { fill, run } = tables;
  await run('create_scope');
  await fill('scope', SCOPE, [1, methods[0]!, 1_000, 1_500, 1_000, 2_000, 900, 1_900, isNew, hasLater]);
  const rule = (id: number, device: string, method: string) => [
    id,
    device,
    'a',
    method,
    net,
    true,
    0,
    firstMs,
    9_000,
  ];
  await fill(
    'series_rule',
    RULE,
    ...methods.map((method, place) => rule(place + 1, one, method)),
    rule(9, two, 'daily_energy'),
  );
  const describe = async () => (await run('describe_scope'))[0]!;
  return { ...tables, describe };
}

test('a scope is described by its bounds, methods and what lies beside it', async () => {
  const { describe, fill } = await openDescribed();
  const plain = {
    series: 1,
    low_ms: 900,
    high_ms: 2_000,
    methods: 'total_energy',
    learns: true,
    has_later: true,
    beside_daily: false,
    beside_power: false,
    may_rejudge: false,
    intervals: 0,
  };
  expect(await describe()).toEqual(plain);
  await fill('series_rule', RULE, [3, one, 'a', 'daily_energy', false, true, 0, 0, 0]);
  expect(await describe()).toEqual({ ...plain, beside_daily: true });
  await fill('series_rule', RULE, [4, one, 'a', 'power_curve', false, true, 0, 0, 0]);
  expect(await describe()).toEqual({ ...plain, beside_daily: true, beside_power: true });
});

test.each([
  [
    'power beside a daily register',
    { methods: ['power_curve', 'daily_energy'] },
    { beside_daily: false, has_later: false },
  ],
  ['a register without new readings', { isNew: false }, { learns: false }],
  ['a net register', { net: true }, { has_later: false }],
  ['no later readings', { hasLater: false }, { has_later: false }],
])('of %s less is said', async (_name, options, wanted) => {
  const { describe } = await openDescribed(options);
  expect(await describe()).toMatchObject(wanted);
});

const STANDSTILL_MS = ruleConstants.standstill_max_ms.value;
test.each<[name: string, options: Parameters<typeof openDescribed>[0], breaks: number[][], may: boolean]>([
  ['no break is near', {}, [], false],
  ['a series begins in scope', { firstMs: 1_000 }, [], true],
  ['a series begins in scope, but nothing is new', { firstMs: 1_000, isNew: false }, [], false],
  ['a fall is in scope', { isNew: false }, [[1, 9, 2_000, 5]], true],
  ['a fall is after the scope', {}, [[1, 9, 2_001, 5]], false],
  ['a fall is before the scope', {}, [[1, 9, 999, 5]], false],
  ['a rise is the next break after the scope', {}, [[1, 5, 2_000 + STANDSTILL_MS, 9]], true],
  ['a rise is too far after the scope', {}, [[1, 5, 2_001 + STANDSTILL_MS, 9]], false],
  [
    'a rise comes after a fall',
    {},
    [
      [1, 9, 2_001, 5],
      [1, 5, 2_002, 9],
    ],
    false,
  ],
  ['a rise from zero is next', {}, [[1, 0, 2_001, 9]], false],
  ['a rise is next, but nothing is new', { isNew: false }, [[1, 5, 2_001, 9]], false],
  ['a rise of power is next', { methods: ['power_curve'] }, [[1, 5, 2_001, 9]], false],
])('breaks may have to be judged again if %s', async (_name, options, breaks, may) => {
  const { describe, fill } = await openDescribed(options);
  await fill('series_break', 'series_id, from_value, to_ms, to_value', ...breaks);
  expect((await describe()).may_rejudge).toBe(may);
});

test('a large scope is divided into whole sources, the smallest first, and each part can be loaded', async () => {
  const { fill, run, rows } = await open();
  await run('create_scope');
  const QUARTER_MS = 15 * MIN_MS;
  const sizes: Array<[id: number, device: string, source: string, intervals: number]> = [
    [1, one, 'a', 3],
    [2, one, 'a', 3],
    [3, one, 'b', 4],
    [4, two, 'a', 5],
  ];
  await fill(
    'scope',
    'series_id, compute_from_ms, compute_to_ms',
    ...sizes.map(([id, , , count]) => [id, QUARTER_MS, (count + 1) * QUARTER_MS]),
  );
  await fill(
    'series_rule',
    'series_id INTEGER, device UUID, source VARCHAR',
    ...sizes.map(([id, device, source]) => [id, device, source]),
  );
  await run('divide_scope', { intervals_max: 5n });
  // Up to each source: 4, 9 and 15 intervals.
  expect(await rows('divided_scope', 'series_id, part')).toEqual([
    [1, 3],
    [2, 3],
    [3, 0],
    [4, 1],
  ]);
  expect(await run('list_scope_parts')).toEqual([{ part: 0 }, { part: 1 }, { part: 3 }]);
  await run('load_scope_parts', { first: 1, last: 3 });
  expect((await rows('scope', 'series_id')).flat()).toEqual([1, 2, 4]);
});
