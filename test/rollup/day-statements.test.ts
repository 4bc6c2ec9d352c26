import { expect, test } from 'vitest';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 80 that choose and compare methods, each over a few rows. */
const open = chapterTables();
const one = deviceOf(1);
const DAY_MS = 86_400_000;
const CANDIDATE =
  'device UUID, source VARCHAR, day DATE, start_ms BIGINT, end_ms BIGINT, series_id INTEGER, energy_wh BIGINT, covered_ms BIGINT, flags INTEGER, estimated BOOLEAN, peak_wh BIGINT, method VARCHAR, stream_id INTEGER, net BOOLEAN, stands_still BOOLEAN, tolerance_wh DOUBLE, limit_wh DOUBLE, coverage DOUBLE, preference BIGINT, substituted BOOLEAN';
const flags = { estimated: 1, reset: 2, rollover: 4, rebase: 8, jitter: 16, spike: 32, glitch: 1_024 };

/** A method of a day. It covers the day, can count 240 kWh, and its highest power explains any energy. */
interface Method {
  method?: 'total_energy' | 'daily_energy' | 'power_curve';
  wh: number;
  share?: number;
  flags?: number;
  peak?: number;
  net?: boolean;
  tolerance?: number;
  limit?: number;
  estimated?: boolean;
}
const total = (wh: number, more: Partial<Method> = {}): Method => ({ wh, ...more });
const daily = (wh: number, more: Partial<Method> = {}): Method => ({ method: 'daily_energy', wh, ...more });
const power = (wh: number, more: Partial<Method> = {}): Method => ({ method: 'power_curve', wh, ...more });

/** Each list of methods is a day of its own, in the order of preference. */
async function openDays(days: readonly Method[][]) {
  const tables = await open();
  const dayOf = (place: number) => `1970-03-${String(place + 1).padStart(2, '0')}`;
  await tables.fill(
    'day_candidate',
    CANDIDATE,
    ...days.flatMap((methods, place) =>
      methods.map(({ method = 'total_energy', wh, share = 1, ...more }, index) => [
        one,
        'a',
        dayOf(place),
        0,
        DAY_MS,
        // Numbers of series and of streams say nothing about the preference.
        9 - index,
        wh,
        share * DAY_MS,
        more.flags ?? 0,
        more.estimated ?? false,
        more.peak ?? 10_000,
        method,
        109 - index,
        more.net ?? false,
        false,
        more.tolerance ?? 1,
        more.limit ?? 240_000,
        share,
        index + 1,
        false,
      ]),
    ),
  );
  const placeOf = (day: unknown) => Number(String(day).slice(8)) - 1;
  return { ...tables, placeOf };
}

const leastWh = ruleConstants.contradiction_min_wh.value + 2;
const share = ruleConstants.contradiction_share.value;
const shareEstimated = ruleConstants.contradiction_share_estimated.value;
/** The lowest energy that does not contradict 100 kWh with this share. */
const nearOf = (part: number) => 100_000 - Math.floor(leastWh + 100_000 * part);

/** Days whose chosen method is a register, and the place of the method from which they are read. */
const substitutions: Array<[name: string, methods: Method[], readFrom: number]> = [
  ['all agree', [total(1_000), daily(1_000), power(1_000)], 0],
  ['the other register agrees with power', [total(20_000), daily(9_900), power(10_000)], 1],
  [
    'the other register agrees with power, and power is impossible',
    [total(20_000), daily(9_900), power(10_000, { limit: 1 })],
    1,
  ],
  [
    'two others agree with power: the preferred one is right',
    [total(20_000), daily(9_900), total(10_100), power(10_000)],
    1,
  ],
  ['the others agree with each other, and not with power', [total(20_000), daily(12_500), power(10_000)], 0],
  ['the other register agrees with both', [total(11_500), daily(10_600), power(9_600)], 0],
  [
    'power agrees with the chosen one, and the other register with power only',
    [total(100_000), daily(nearOf(share) - 5_000), power(nearOf(share))],
    0,
  ],
  [
    'the other register agrees with power within its steps',
    [total(40_000), daily(5_500, { tolerance: 5_000 }), power(10_000)],
    1,
  ],
  ['power agrees with the chosen one', [total(10_000), daily(20_000), power(10_000)], 0],
  [
    'there are two powers: the preferred one is the witness',
    [total(20_000), daily(9_900), power(10_000), power(20_000)],
    1,
  ],
  [
    'the preferred one of two powers agrees with the chosen one',
    [total(20_000), daily(9_900), power(20_000), power(10_000)],
    0,
  ],
  ['the chosen one is a net register', [total(20_000, { net: true }), daily(9_900), power(10_000)], 0],
  ['the chosen one is power', [power(20_000), daily(9_900), power(10_000)], 0],
  ['the other register covers too little', [total(40_000), daily(9_900, { share: 0.8 }), power(10_000)], 0],
  ['power covers too little', [total(40_000), daily(9_900), power(10_000, { share: 0.8 })], 0],
  ['both cover nine tenths', [total(20_000), daily(9_900, { share: 0.9 }), power(10_000, { share: 0.9 })], 1],
  ...(['reset', 'rebase', 'glitch', 'spike'] as const).map((flag): [string, Method[], number] => [
    `a register with a ${flag} is far from power`,
    [total(20_000, { flags: flags[flag] }), power(10_000)],
    1,
  ]),
  ...(['estimated', 'rollover', 'jitter'] as const).map((flag): [string, Method[], number] => [
    `a register with the flag ${flag} is far from power`,
    [total(20_000, { flags: flags[flag] }), power(10_000)],
    0,
  ]),
  ['a repaired register is not far from power', [total(12_000, { flags: flags.reset }), power(10_000)], 0],
  [
    'a repaired register is far from power, and another one agrees with it',
    [total(20_000, { flags: flags.reset }), daily(20_100), power(10_000)],
    0,
  ],
  [
    'one of two others agrees with a repaired register',
    [total(20_000, { flags: flags.reset }), daily(20_100), total(30_000), power(10_000)],
    0,
  ],
  [
    'a repaired register is far from power, and another one agrees with neither',
    [total(20_000, { flags: flags.reset }), daily(30_000), power(10_000)],
    2,
  ],
  [
    'power is beyond the limit of a repaired register',
    [total(5_000, { flags: flags.reset, limit: 9_999 }), power(10_000)],
    0,
  ],
  [
    'power is at the limit of a repaired register',
    [total(5_000, { flags: flags.reset, limit: 10_000 }), power(10_000)],
    1,
  ],
];

test('a day is read from another method if the others prove the chosen register wrong', async () => {
  const { run, rows, placeOf } = await openDays(substitutions.map(([, methods]) => methods));
  await run('substitute_methods');
  const found = await rows('day_candidate WHERE preference = 1', 'day::VARCHAR, series_id, substituted');
  expect(found.map(([day, series, is]) => [substitutions[placeOf(day)]![0], 9 - Number(series), is])).toEqual(
    substitutions.map(([name, , readFrom]) => [name, readFrom, readFrom > 0]),
  );
  // The others keep their order behind it.
  const places = await rows("day_candidate WHERE day = '1970-03-02'", 'preference, series_id, substituted');
  expect(places).toEqual([
    [1, 8, true],
    [2, 9, false],
    [3, 7, false],
  ]);
});

const times = ruleConstants.possible_times.value;
const otherUnit = ruleConstants.other_unit_times.value;

test.each<[name: string, register: Method, beside: Method, isSubstituted: boolean]>([
  // 96 quarters at the highest power of 200 Wh each, and what both may differ by.
  ['more than power can bring', total(96 * 200 * times + leastWh + 1), power(9_600, { peak: 200 }), true],
  ['as much as power can bring', total(96 * 200 * times + leastWh), power(9_600, { peak: 200 }), false],
  [
    'more than power can bring in half a day',
    total(48 * 200 * times + leastWh + 1, { share: 0.5 }),
    power(9_600, { peak: 200 }),
    true,
  ],
  [
    'as much as power can bring in half a day',
    total(48 * 200 * times + leastWh, { share: 0.5 }),
    power(9_600, { peak: 200 }),
    false,
  ],
  [
    'more than impossible power can bring',
    total(96 * 200 * times + leastWh + 1, { limit: 9_599 }),
    power(9_600, { peak: 200 }),
    false,
  ],
  ['nearly the factor of another unit', total(otherUnit * 1_000 - 1), power(1_000, { peak: 11 }), true],
  ['the factor of another unit', total(otherUnit * 1_000), power(1_000, { peak: 11 }), false],
])('a register that counts %s', async (_name, register, beside, isSubstituted) => {
  const { run, rows } = await openDays([[register, beside]]);
  await run('substitute_methods');
  expect(await rows('day_candidate WHERE preference = 1', 'substituted')).toEqual([[isSubstituted]]);
});

/** Days, and the places of the methods that contradict the chosen one. */
const contradictions: Array<[name: string, methods: Method[], places: number[]]> = [
  ['the same', [total(100_000), power(100_000)], []],
  ['as near as allowed', [total(100_000), power(nearOf(share))], []],
  ['a little farther', [total(100_000), power(nearOf(share) - 1)], [1]],
  ['more than the chosen one', [total(nearOf(share) - 1), power(100_000)], [1]],
  [
    'far, but the chosen one is an estimate',
    [total(100_000, { estimated: true }), power(nearOf(shareEstimated))],
    [],
  ],
  ['far, but it is an estimate', [total(100_000), power(nearOf(shareEstimated), { estimated: true })], []],
  ['farther than an estimate', [total(100_000, { estimated: true }), power(nearOf(shareEstimated) - 1)], [1]],
  [
    'within the steps of both',
    [total(100_000, { tolerance: 51 }), power(nearOf(share) - 100, { tolerance: 51 })],
    [],
  ],
  [
    'beyond the steps of both',
    [total(100_000, { tolerance: 51 }), power(nearOf(share) - 101, { tolerance: 51 })],
    [1],
  ],
  ['a net register', [total(100_000), total(50_000, { net: true })], []],
  ['beside a net register', [total(100_000, { net: true }), total(50_000)], []],
  ['two that contradict', [total(100_000), daily(50_000), power(60_000)], [1, 2]],
  ['a register, where power agrees', [total(100_000), daily(50_000), power(100_000)], []],
  [
    'a register, where power of half of the day agrees',
    [total(100_000), daily(50_000), power(100_000, { share: 0.5 })],
    [1],
  ],
  [
    'power, where the other register agrees, which is no other witness',
    [power(100_000), total(50_000), power(100_000)],
    [1],
  ],
  ['power, where a register agrees', [power(100_000), power(50_000), total(100_000)], []],
  [
    'a register, where another register agrees, which can be the same counter',
    [total(100_000), daily(100_000), daily(50_000)],
    [2],
  ],
];

test('a method contradicts the chosen one if it is too far from it and no other witness agrees with that one', async () => {
  const { run, rows, placeOf } = await openDays(contradictions.map(([, methods]) => methods));
  await run('collect_contradictions');
  const found = await rows('day_contradiction', 'day::VARCHAR, stream_id, energy_wh');
  const foundOf = (place: number) =>
    found.filter(([day]) => placeOf(day) === place).map(([, stream, wh]) => [109 - Number(stream), wh]);
  expect(contradictions.map(([name], place) => [name, foundOf(place).toSorted()])).toEqual(
    contradictions.map(([name, methods, places]) => [
      name,
      places.map((index) => [index, methods[index]!.wh]),
    ]),
  );
});

test('touched days are the local days of the scope, each once, and those of other declared sources', async () => {
  const { fill, run, rows } = await open();
  const two = deviceOf(2);
  await fill(
    'series_rule',
    'series_id INTEGER, device UUID, source VARCHAR',
    [1, one, 'a'],
    [2, one, 'a'],
    [3, two, 'x'],
  );
  await fill(
    'scope',
    'series_id INTEGER, compute_from_ms BIGINT, compute_to_ms BIGINT',
    [1, 10, DAY_MS],
    [2, 20, 30],
    [3, DAY_MS - 1, DAY_MS + 1],
  );
  await fill(
    'local_day',
    'day DATE, start_ms BIGINT, end_ms BIGINT',
    ['1970-01-01', 0, DAY_MS],
    ['1970-01-02', DAY_MS, 2 * DAY_MS],
  );
  await run('create_empty_tables');
  await run('touch_days');
  const touched = () => rows('touched_day', 'device::VARCHAR, source, day::VARCHAR, start_ms, end_ms');
  const first = ['1970-01-01', 0, DAY_MS];
  const second = ['1970-01-02', DAY_MS, 2 * DAY_MS];
  expect(await touched()).toEqual([
    [one, 'a', ...first],
    [two, 'x', ...first],
    [two, 'x', ...second],
  ]);
  // Device 2 declares sources, but x is not one of them.
  await fill('declared_source', 'device, source', [one, 'a'], [one, 'b'], [two, 'y']);
  await run('touch_other_sources');
  await run('touch_other_sources');
  expect(await touched()).toEqual([
    [one, 'a', ...first],
    [one, 'b', ...first],
    [two, 'x', ...first],
    [two, 'x', ...second],
  ]);
  expect(await run('list_touched_days')).toEqual([
    { low_ms: 0, high_ms: DAY_MS },
    { low_ms: DAY_MS, high_ms: 2 * DAY_MS },
  ]);
});

test('if settings change, the days of readings, one more on either side and every stored day are touched', async () => {
  const { fill, run, rows } = await open();
  const dayOf = (number: number) => [`1970-01-0${number}`, (number - 1) * DAY_MS, number * DAY_MS];
  await fill('series_rule', 'device UUID, source VARCHAR, first_ms BIGINT, last_ms BIGINT', [
    one,
    'a',
    3 * DAY_MS,
    4 * DAY_MS - 1,
  ]);
  await fill('local_day', 'day DATE, start_ms BIGINT, end_ms BIGINT', ...[1, 2, 3, 4, 5, 6, 7].map(dayOf));
  await fill('daily_energy', 'day, device, source', ['1970-01-07', one, 'b'], ['1980-01-01', one, 'b']);
  await run('create_empty_tables');
  await run('touch_all_days');
  expect(await rows('touched_day', 'source, day::VARCHAR, start_ms, end_ms')).toEqual([
    ...[3, 4, 5].map((number) => ['a', ...dayOf(number)]),
    ['b', ...dayOf(7)],
    // The calendar of this roll-up does not have that day.
    ['b', '1980-01-01', 0, 0],
  ]);
  await fill('interval_energy', 'interval_start_ms', [DAY_MS], [9 * DAY_MS]);
  expect(await run('read_all_days_range')).toEqual([{ first_day: '1970-01-02', last_day: '1980-01-01' }]);
});
