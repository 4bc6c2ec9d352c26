import { expect, test } from 'vitest';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 25, each over a few rows. reaching-changes.test.ts has whole roll-ups. */
const openEmpty = chapterTables();
const [one, two, three] = [deviceOf(1), deviceOf(2), deviceOf(3)];
const DAY_MS = 86_400_000;
const GAP_MAX_MS = ruleConstants.gap_max_ms.value;
const SETTING =
  'stream_id INTEGER, position INTEGER, method VARCHAR, net BOOLEAN, within_day BOOLEAN, modulus_wh DOUBLE, sampling VARCHAR, label_end BOOLEAN, direction VARCHAR, max_power_w DOUBLE, jitter_wh DOUBLE, reading_interval_ms BIGINT, max_gap_ms BIGINT';
const RULE =
  'series_id INTEGER, stream_id INTEGER, device UUID, source VARCHAR, method VARCHAR, first_ms BIGINT, last_ms BIGINT';
const SPAN = 'series_id INTEGER, from_ms BIGINT, to_ms BIGINT, is_new BOOLEAN';

interface Setting {
  method?: string;
  sampling?: string;
  net?: boolean;
  maxPower?: number;
  jitter?: number;
  interval?: number;
  maxGap?: number;
}
const rowOf = (stream: number, { method = 'total_energy', net = false, ...more }: Setting) => [
  stream,
  stream,
  method,
  net,
  false,
  null,
  more.sampling ?? 'instantaneous',
  false,
  null,
  more.maxPower ?? null,
  more.jitter ?? null,
  more.interval ?? null,
  more.maxGap ?? null,
];
const power = (more: Setting) => ({ method: 'power_curve', maxPower: 1, ...more });

const learning: Array<[name: string, setting: Setting, learns: boolean, reachMs: number]> = [
  ['a register without a limit', { jitter: 1 }, true, 0],
  ['a register without a jitter', { maxPower: 1 }, true, 0],
  ['a register with both', { maxPower: 1, jitter: 1 }, false, 0],
  ['a net register', { net: true }, false, 0],
  ['a daily register without a limit', { method: 'daily_energy', jitter: 1 }, true, 0],
  ['power that is sent on change', { method: 'power_curve', sampling: 'on_change' }, false, 0],
  ['power without a longest gap', power({}), true, 0],
  ['power without a limit', { method: 'power_curve', maxGap: 5 }, true, 0],
  ['power over gaps of an hour', power({ maxGap: GAP_MAX_MS }), false, 0],
  ['power over longer gaps', power({ maxGap: GAP_MAX_MS + 1 }), true, 0],
  ['averages without an interval', power({ sampling: 'interval_average' }), true, 1_200_000],
  ['averages with an interval', power({ sampling: 'interval_average', interval: 60_000 }), false, 60_000],
  ['averages without a limit', { method: 'power_curve', sampling: 'interval_average', interval: 5 }, true, 5],
  ['interval readings with both', { method: 'interval_energy', interval: 5, maxPower: 1 }, false, 5],
];

test('a series learns what is not configured of its limit, its jitter, its interval or its gaps', async () => {
  const { fill, run, rows } = await open();
  await fill('stream_setting', SETTING, ...learning.map(([, setting], stream) => rowOf(stream, setting)));
  await fill(
    'series',
    'series_id, stream_id, device, step_ms',
    ...learning.map((_, stream) => [stream, stream, one, 1_200_000]),
    [99, 99, one, null],
  );
  await run('collect_rules', { all: true, is_chosen: false });
  const found = await rows('series_rule', 'series_id, learns, reach_ms');
  expect(found.map(([series, ...rest]) => [learning[Number(series)]![0], ...rest])).toEqual(
    learning.map(([name, , learns, reachMs]) => [name, learns, reachMs]),
  );
});

test.each([
  ['of the devices with new readings', { all: false, is_chosen: false }, [1, 2]],
  ['of the chosen devices', { all: false, is_chosen: true }, [3]],
  ['of every device', { all: true, is_chosen: true }, [1, 2, 3, 4]],
])('rules are collected %s', async (_name, which, wanted) => {
  const { fill, run, rows } = await open();
  await fill('stream_setting', SETTING, rowOf(1, {}));
  await fill(
    'series',
    'series_id, stream_id, device, source',
    [1, 1, one, 'a'],
    [2, 1, one, 'b'],
    [3, 1, two, 'a'],
    [4, 1, three, 'a'],
  );
  await fill('incoming_series', 'device UUID', [one]);
  await fill('chosen_device', 'device UUID', [two]);
  await run('collect_rules', which);
  expect((await rows('series_rule', 'series_id')).flat()).toEqual(wanted);
});

test('a declared change is of the stream and device, and of every source if it names none', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'series_rule',
    RULE,
    [1, 1, one, 'a', '', 0, 0],
    [2, 1, one, 'b', '', 0, 0],
    [3, 1, two, 'a', '', 0, 0],
    [4, 2, one, 'a', '', 0, 0],
  );
  await fill(
    'stream_register_change',
    'stream_id INTEGER, device UUID, source VARCHAR, at_ms BIGINT, final_value DOUBLE, initial_value DOUBLE',
    [1, one, null, 10, 1, 2],
    [1, one, 'b', 20, 3, 4],
  );
  await run('collect_register_changes');
  expect(await rows('register_change', 'series_id, at_ms, final_value, initial_value')).toEqual([
    [1, 10, 1, 2],
    [2, 10, 1, 2],
    [2, 20, 3, 4],
  ]);
});

async function open() {
  const tables = await openEmpty();
  for (const table of ['restated_stream', 'incoming_series', 'chosen_device'])
    await tables.run(`create_${table}`);
  return tables;
}

const touchedOf = async (rows: (table: string, columns: string) => Promise<unknown[][]>) =>
  rows('touched', 'series_id, from_ms, to_ms, is_new');

test('new readings touch the time from the first to the last one of each UTC day', async () => {
  const { fill, run, rows } = await open();
  await fill('series_rule', RULE);
  await fill(
    'incoming',
    'series_id INTEGER, event_time_ms BIGINT',
    [1, 10],
    [1, 30],
    [1, 20],
    [1, DAY_MS],
    [2, 15],
  );
  await run('collect_touched', { is_restated: false, beside: false });
  expect(await touchedOf(rows)).toEqual([
    [1, 10, 30, true],
    [1, DAY_MS, DAY_MS, true],
    [2, 15, 15, true],
  ]);
});

test('other rules touch the whole time of their series with the intervals of the old rules, which is new only where nothing was learnt', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'series_rule',
    RULE,
    [1, 1, one, 'a', '', 100, 200],
    [2, 1, one, 'b', '', 100, 200],
    [3, 2, one, 'a', '', 100, 200],
  );
  await fill('restated_stream', 'stream_id INTEGER', [1]);
  await fill('incoming', 'series_id INTEGER, event_time_ms BIGINT');
  await fill('interval_energy', 'series_id, interval_start_ms', [1, 90], [1, 150], [1, 210], [3, 50]);
  await fill('series_day', 'series_id', [1]);
  await run('collect_touched', { is_restated: true, beside: false });
  expect(await touchedOf(rows)).toEqual([
    [1, 90, 210, false],
    [2, 100, 200, true],
  ]);
  await run('collect_touched', { is_restated: false, beside: false });
  expect(await touchedOf(rows)).toEqual([]);
});

test.each([
  ['power', 'power_curve', 150, 160, true],
  ['a daily register', 'daily_energy', 150, 160, true],
  ['interval readings, which say nothing about it', 'interval_energy', 150, 160, false],
  ['power that ends at its first reading', 'power_curve', 50, 100, true],
  ['power that ends before its first reading', 'power_curve', 50, 99, false],
  ['power that begins at its last reading', 'power_curve', 200, 250, true],
  ['power that begins after its last reading', 'power_curve', 201, 250, false],
])('a lifetime register is touched by %s', async (_name, method, fromMs, toMs, isTouched) => {
  const { fill, run, rows } = await open();
  await fill(
    'series_rule',
    RULE,
    [1, 1, one, 'a', 'total_energy', 100, 200],
    [2, 2, one, 'a', method, 0, 900],
    [3, 1, one, 'b', 'total_energy', 100, 200],
    [4, 1, two, 'a', 'total_energy', 100, 200],
  );
  await fill('incoming', 'series_id INTEGER, event_time_ms BIGINT', [2, fromMs], [2, toMs]);
  await run('collect_touched', { is_restated: false, beside: true });
  const own = [2, fromMs, toMs, true];
  expect(await touchedOf(rows)).toEqual(isTouched ? [[1, fromMs, toMs, false], own] : [own]);
  await run('collect_touched', { is_restated: false, beside: false });
  expect(await touchedOf(rows)).toEqual([own]);
});

test('the touched time is told by UTC day, with what is known of its series', async () => {
  const { fill, run } = await open();
  await fill(
    'series_rule',
    RULE,
    [1, 1, one, 'a', 'total_energy', 5, 900],
    [2, 1, one, 'b', 'daily_energy', 3, 700],
    [3, 1, two, 'a', 'total_energy', 1, 999],
  );
  await fill('touched', SPAN, [1, DAY_MS + 10, DAY_MS + 20, true], [1, 10, 20, true], [2, 15, 30, true]);
  expect(await run('list_touched_time')).toEqual([
    { low_ms: 10, high_ms: 30, first_ms: 3, last_ms: 900, by_day: true, several: false },
    { low_ms: DAY_MS + 10, high_ms: DAY_MS + 20, first_ms: 5, last_ms: 900, by_day: false, several: false },
  ]);
  await fill('series_rule', RULE, [4, 2, two, 'a', 'power_curve', 1, 999]);
  expect(await run('list_touched_time')).toMatchObject([{ several: true }, { several: true }]);
});

test('a time is silent without a reading of a touched series inside of it', async () => {
  const { fill, run } = await open();
  await fill('touched', SPAN, [1, 10, 20, true]);
  await fill('reading', 'series_id, event_time_ms', [1, 20], [1, 40], [2, 30]);
  const isSilent = async () => (await run('find_silence', { low_ms: 20n, high_ms: 40n }))[0]!.silent;
  expect(await isSilent()).toBe(true);
  await fill('reading', 'series_id, event_time_ms', [1, 21]);
  expect(await isSilent()).toBe(false);
});
