import { expect, test } from 'vitest';
import { chapterTables } from './chapter-tables.ts';

/** The statements of chapters 50 and 54 that find and store breaks and events, each over a few rows. */
const open = chapterTables();
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const PAIR =
  'series_id INTEGER, value_before DOUBLE, from_ms BIGINT, from_value DOUBLE, to_ms BIGINT, to_value DOUBLE';
const SCOPE =
  'series_id INTEGER, method VARCHAR, compute_from_ms BIGINT, compute_to_ms BIGINT, last_ms BIGINT';
const RULE =
  'series_id INTEGER, method VARCHAR, net BOOLEAN, max_power_w DOUBLE, jitter_wh DOUBLE, reading_interval_ms BIGINT, first_ms BIGINT';
const LIMIT =
  'series_id INTEGER, utc_day INTEGER, learnt_power_w DOUBLE, usual_power_w DOUBLE, learnt_resolution DOUBLE, learnt_step_ms BIGINT';
const BREAK = 'series_id, from_ms, from_value, to_ms, to_value';

/** One series in scope on its first two days, with a limit of 1000 W and a jitter of 2 Wh. */
async function openPairs({
  method = 'total_energy',
  net = false,
  maxPower = 1_000 as number | null,
  jitter = 2 as number | null,
  firstMs = 0,
} = {}) {
  const tables = await open();
  const { fill } = tables;
  await fill('scope', SCOPE, [1, method, HOUR_MS, 2 * DAY_MS, 2 * DAY_MS + HOUR_MS]);
  await fill('series_rule', RULE, [1, method, net, maxPower, jitter, HOUR_MS, firstMs]);
  await fill(
    'interval_day',
    'interval_index BIGINT, end_ms BIGINT',
    ...Array.from({ length: 192 }, (_, index) => [index, index < 96 ? DAY_MS : 2 * DAY_MS]),
  );
  await fill('reading_pair', PAIR);
  await fill('day_limit', LIMIT);
  return tables;
}

/** A pair of readings an hour apart, with the reading before it. */
type Pair = [before: number | null, from: number, to: number, toMs?: number];
const pairCases: Array<
  [name: string, pair: Pair, isBreak: boolean, options?: Parameters<typeof openPairs>[0]]
> = [
  ['growth', [100, 110, 120], false],
  ['a fall within the jitter', [100, 110, 108], false],
  ['a fall beyond the jitter', [100, 110, 107], true],
  ['a rise within the limit and the jitter', [100, 110, 1_112], false],
  ['a rise beyond the limit', [100, 110, 1_113], true],
  ['a rise from zero', [0, 0, 5], true],
  ['a rise from a first zero', [null, 0, 5], true],
  ['the pair after a rise from zero', [0, 5, 6], true],
  ['zeros', [0, 0, 0], false],
  ['a value that stays after a rise from zero', [0, 5, 5], false],
  ['the way back after a fall', [110, 100, 110], true],
  ['the way back but for the jitter', [110, 100, 108], true],
  ['not the way back', [110, 100, 107], false],
  ['growth after a fall within the jitter', [110, 108, 111], false],
  ['a fall of a net register', [100, 110, 7], false, { net: true }],
  ['a fall at the beginning of the scope', [100, 110, 7, HOUR_MS], true],
  ['a fall before the scope', [100, 110, 7, HOUR_MS - 1], false],
  ['a fall at the reading after the scope', [100, 110, 7, 2 * DAY_MS + HOUR_MS], true],
  ['a fall behind it', [100, 110, 7, 2 * DAY_MS + HOUR_MS + 1], false],
  ['a restart at midnight, of a lifetime register', [100, 110, 7, DAY_MS], true],
  [
    'a restart at midnight, of a register that restarts every day',
    [100, 110, 7, DAY_MS],
    false,
    { method: 'daily_energy' },
  ],
  [
    'a restart before midnight, of such a register',
    [100, 110, 7, DAY_MS - 1],
    true,
    { method: 'daily_energy' },
  ],
  ['a fall of power', [100, 110, 7], false, { method: 'power_curve' }],
];
test.each(pairCases)(
  'a break of a register, or none: %s',
  async (_name, [before, from, to, toMs = 5 * HOUR_MS], isBreak, options) => {
    const { fill, run, rows } = await openPairs(options);
    await fill('reading_pair', PAIR, [1, before, toMs - HOUR_MS, from, toMs, to]);
    await run('collect_breaks', { least_power_w: 1_000 });
    expect(await rows('break_now', BREAK)).toEqual(isBreak ? [[1, toMs - HOUR_MS, from, toMs, to]] : []);
  },
);

test('the limits and the jitter of a pair are those of the UTC day on which it ends, and the lower limit is the one after a restart', async () => {
  const { fill, run, rows } = await openPairs({ maxPower: null, jitter: null });
  await fill('day_limit', LIMIT, [1, 0, 1_000, null, 1, null], [1, 1, 5_000, 500, 10, null]);
  await fill('day_limit', LIMIT, [2, 0, 9_000, null, 900, null], [2, 1, 9_000, null, 900, null]);
  const at = (hour: number, from: number, to: number) => [
    1,
    90,
    (hour - 1) * HOUR_MS,
    from,
    hour * HOUR_MS,
    to,
  ];
  await fill(
    'reading_pair',
    PAIR,
    at(23, 100, 1_103),
    at(24, 100, 2_050),
    at(25, 100, 2_200),
    at(26, 100, 94),
    at(22, 100, 94),
    // Two hours have twice the energy.
    [1, 90, 18 * HOUR_MS, 100, 20 * HOUR_MS, 2_102],
    [1, 90, 19 * HOUR_MS, 100, 21 * HOUR_MS, 2_103],
  );
  await run('collect_breaks', { least_power_w: 500 });
  expect((await rows('break_now', 'to_ms')).map(([ms]) => Number(ms) / HOUR_MS)).toEqual([21, 22, 23, 25]);
});

test.each([
  ['at the first reading', HOUR_MS, 'total_energy', false],
  ['after the first reading', HOUR_MS + 1, 'total_energy', true],
  ['at the second reading', 2 * HOUR_MS, 'total_energy', true],
  ['after the second reading', 2 * HOUR_MS + 1, 'total_energy', false],
  ['before the scope', HOUR_MS - 1, 'total_energy', false],
  ['of a register that restarts every day', 2 * HOUR_MS, 'daily_energy', true],
  ['of power', 2 * HOUR_MS, 'power_curve', false],
])('a declared change is a break, once: %s', async (_name, atMs, method, isBreak) => {
  const { fill, run, rows } = await openPairs({ method });
  await fill('register_change', 'series_id INTEGER, at_ms BIGINT', [1, atMs], [1, atMs], [2, 1.5 * HOUR_MS]);
  await fill(
    'reading_pair',
    PAIR,
    [1, null, 0, 100, HOUR_MS - 1, 110],
    [1, null, HOUR_MS, 100, 2 * HOUR_MS, 110],
    [1, null, DAY_MS - HOUR_MS, 100, DAY_MS, 110],
  );
  await run('collect_breaks', { least_power_w: 1_000 });
  await run('add_declared_breaks');
  await run('add_declared_breaks');
  expect(await rows('break_now', BREAK)).toEqual(isBreak ? [[1, HOUR_MS, 100, 2 * HOUR_MS, 110]] : []);
});

test.each([
  ['daily_energy', 0],
  ['total_energy', 1],
])('a declared change from one day to the next is a break or not, of %s: %i', async (method, breaks) => {
  const { fill, run, rows } = await openPairs({ method });
  await fill('register_change', 'series_id INTEGER, at_ms BIGINT', [1, DAY_MS]);
  await fill('reading_pair', PAIR, [1, null, DAY_MS - HOUR_MS, 100, DAY_MS, 110]);
  await run('collect_breaks', { least_power_w: 1_000 });
  await run('add_declared_breaks');
  expect(await rows('break_now', 'to_ms')).toHaveLength(breaks);
});

const powerCases: Array<
  [
    name: string,
    pair: [fromMs: number | null, from: number | null, toMs: number, to: number],
    isBreak: boolean,
    options?: Parameters<typeof openPairs>[0],
  ]
> = [
  ['power at the limit', [HOUR_MS, 5, 2 * HOUR_MS, 1_000], false],
  ['power beyond the limit', [HOUR_MS, 5, 2 * HOUR_MS, 1_001], true],
  ['power beyond the limit in the other direction', [HOUR_MS, 5, 2 * HOUR_MS, -1_001], true],
  ['the way back', [HOUR_MS, 1_001, 2 * HOUR_MS, 5], true],
  ['power that stays beyond', [HOUR_MS, 1_001, 2 * HOUR_MS, 1_002], false],
  ['a first reading beyond', [null, null, 2 * HOUR_MS, 1_001], true, { firstMs: 2 * HOUR_MS }],
  ['a first reading within', [null, null, 2 * HOUR_MS, 1_000], false, { firstMs: 2 * HOUR_MS }],
  ['a reading beyond, whose reading before is not in scope', [null, null, 2 * HOUR_MS, 1_001], false],
  ['power beyond before the scope', [5, 5, HOUR_MS - 1, 1_001], false],
  // The interval is an hour, so 1001 Wh are 1001 W.
  [
    'energy of an interval beyond the limit',
    [HOUR_MS, 5, 2 * HOUR_MS, 1_001],
    true,
    { method: 'interval_energy' },
  ],
  ['a register', [HOUR_MS, 5, 2 * HOUR_MS, 1_001], false, { method: 'total_energy' }],
];
test.each(powerCases)(
  'a break of power or of interval readings, or none: %s',
  async (_name, [fromMs, from, toMs, to], isBreak, options) => {
    const { fill, run, rows } = await openPairs({ method: 'power_curve', ...options });
    await fill('reading_pair', PAIR, [1, null, fromMs, from, toMs, to]);
    await run('collect_breaks', { least_power_w: null });
    await run('add_power_breaks');
    expect(await rows('break_now', BREAK)).toEqual(
      isBreak ? [[1, fromMs ?? toMs, from ?? to, toMs, to]] : [],
    );
  },
);

test('each reading of power is compared with the limit of its own day, and with the step of its own day', async () => {
  const { fill, run, rows } = await openPairs({ method: 'interval_energy', maxPower: null });
  await run('create_empty_tables');
  await fill('scope', SCOPE, [2, 'interval_energy', HOUR_MS, 2 * DAY_MS, 2 * DAY_MS]);
  await fill('series_rule', RULE, [2, 'interval_energy', false, 1_000, null, null, 0]);
  await fill('day_limit', LIMIT, [1, 0, 1_000, null, null, null], [1, 1, 2_000, null, null, null]);
  // 600 Wh are 1200 W in half an hour, and 600 W in an hour.
  await fill('day_limit', LIMIT, [2, 0, null, null, null, HOUR_MS / 2], [2, 1, null, null, null, HOUR_MS]);
  const over = (series: number, from: number, to: number) => [series, null, DAY_MS - 1, from, DAY_MS, to];
  await fill('reading_pair', PAIR, over(1, 1_500, 1_500), over(2, 600, 600));
  const onDayOne = (series: number, from: number, to: number) => [series, null, DAY_MS, from, DAY_MS + 1, to];
  await fill('reading_pair', PAIR, onDayOne(1, 1_500, 2_500), onDayOne(2, 600, 600));
  await run('collect_breaks', { least_power_w: null });
  await run('add_power_breaks');
  expect(await rows('break_now', BREAK)).toEqual([
    [1, DAY_MS - 1, 1_500, DAY_MS, 1_500],
    [1, DAY_MS, 1_500, DAY_MS + 1, 2_500],
    [2, DAY_MS - 1, 600, DAY_MS, 600],
  ]);
});

test('the breaks in scope replace the stored ones, and the other stored ones stay', async () => {
  const { fill, run, rows } = await open();
  await fill('scope', SCOPE, [1, '', 10, 20, 30]);
  await fill(
    'break_now',
    'series_id INTEGER, from_ms BIGINT, from_value DOUBLE, to_ms BIGINT, to_value DOUBLE',
    [1, 11, 5, 12, 1],
    [1, 13, 5, 14, 2],
  );
  const stored = [
    [1, 8, 5, 9, 0],
    [1, 9, 5, 10, 0],
    [1, 11, 5, 12, 1],
    [1, 12, 5, 14, 2],
    [1, 29, 5, 30, 0],
    [1, 29, 5, 31, 0],
    [1, 30, 5, 32, 0],
    [2, 11, 5, 12, 1],
    [2, 29, 5, 30, 0],
  ];
  await fill('series_break', BREAK, ...stored);
  await run('collect_changed_breaks', { low_ms: 0n, high_ms: 100n });
  expect(await rows('changed_break', `${BREAK}, is_new`)).toEqual([
    [1, 9, 5, 10, 0, false],
    [1, 12, 5, 14, 2, false],
    [1, 13, 5, 14, 2, true],
    [1, 29, 5, 30, 0, false],
  ]);
  await run('delete_breaks');
  await run('store_breaks');
  expect(await rows('series_break', BREAK)).toEqual([
    [1, 8, 5, 9, 0],
    [1, 11, 5, 12, 1],
    [1, 13, 5, 14, 2],
    [1, 29, 5, 31, 0],
    [1, 30, 5, 32, 0],
    [2, 11, 5, 12, 1],
    [2, 29, 5, 30, 0],
  ]);
});

test('the judged events replace the stored ones of the judged time, up to where nothing is different', async () => {
  const { fill, run, rows } = await open();
  const EVENT = 'series_id, kind, from_ms, to_ms, value_before, value_after, energy_wh';
  await fill('judging_range', 'series_id INTEGER, from_ms BIGINT, to_ms BIGINT', [1, 10, 50], [2, 10, 50]);
  await fill(
    'energy_event',
    EVENT,
    [1, 'reset', 5, 10, 1, 2, 3],
    [1, 'reset', 5, 11, 1, 2, 3],
    [1, 'spike', 20, 30, 1, 2, 0],
    [1, 'glitch', 20, 30, 1, 2, 0],
    [1, 'spike', 25, 30, 1, 2, 0],
    [1, 'reset', 45, 50, 1, 2, 3],
    [1, 'reset', 45, 51, 1, 2, 3],
    [2, 'reset', 25, 30, 1, 2, 3],
    [2, 'reset', 35, 40, 1, 2, 3],
    [3, 'reset', 25, 30, 1, 2, 3],
  );
  const event = (series_id: number, kind: string, from_ms: number, to_ms: number, energy_wh: number) => ({
    series_id,
    kind,
    from_ms,
    to_ms,
    value_before: 1,
    value_after: 2,
    energy_wh,
  });
  const events = [event(1, 'spike', 20, 30, 0), event(1, 'reset', 45, 50, 4)];
  await run('collect_changed_events', {
    events: JSON.stringify(events),
    ends: JSON.stringify([{ series_id: 2, to_ms: 30 }]),
  });
  await run('delete_events');
  await run('store_events');
  expect(await rows('energy_event', EVENT)).toEqual([
    [1, 'reset', 5, 10, 1, 2, 3],
    [1, 'reset', 45, 50, 1, 2, 4],
    [1, 'reset', 45, 51, 1, 2, 3],
    [1, 'spike', 20, 30, 1, 2, 0],
    // The judging of series 2 ended at 30, so this event was not judged.
    [2, 'reset', 35, 40, 1, 2, 3],
    [3, 'reset', 25, 30, 1, 2, 3],
  ]);
});

test('a break keeps when it was decided, or that it is not believed, by series and time', async () => {
  const { fill, run, rows } = await open();
  await fill('series_break', 'series_id, to_ms, decided_ms', [1, 10, 5], [1, 20, 5], [2, 10, 5], [2, 20, 5]);
  await run('store_decided_times', {
    decided: JSON.stringify([
      { series_id: 1, to_ms: 10, decided_ms: 12 },
      { series_id: 2, to_ms: 20, decided_ms: null },
    ]),
  });
  expect(await rows('series_break', 'series_id, to_ms, decided_ms')).toEqual([
    [1, 10, 12],
    [1, 20, 5],
    [2, 10, 5],
    [2, 20, null],
  ]);
});
