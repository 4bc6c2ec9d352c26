import { expect, test } from 'vitest';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 36, each over a few rows. changed-limits.test.ts has whole roll-ups. */
const open = chapterTables();
const [one, two, three] = [deviceOf(1), deviceOf(2), deviceOf(3)];
const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;
const LIMIT = 'series_id INTEGER, utc_day INTEGER, from_ms BIGINT, to_ms BIGINT';
const RULE = 'series_id INTEGER, device UUID, reach_ms BIGINT';
const SCOPE = 'series_id INTEGER, from_ms BIGINT, to_ms BIGINT, is_new BOOLEAN';
const WAITING =
  'device, series_id, kind, from_ms, to_ms, is_new, readings, reach_ms, batch_id, complete_batch_id';

/** The quarters of series 1 and 2: 10 readings on day 0, 20 and 30 on day 1, 40 of another series. */
const quarters = [
  [1, 0, 10],
  [1, DAY_MS, 20],
  [1, 2 * DAY_MS - QUARTER_MS, 30],
  [2, DAY_MS, 40],
];

test('the readings of changed limits are those of their series and days', async () => {
  const { fill, run } = await open();
  await fill('series_quarter', 'series_id, interval_start_ms, step_count', ...quarters);
  await fill('changed_limit', LIMIT);
  expect(await run('count_readings_of_changed_limits')).toEqual([{ readings: 0 }]);
  await fill('changed_limit', LIMIT, [1, 1, DAY_MS, 2 * DAY_MS - 1]);
  expect(await run('count_readings_of_changed_limits')).toEqual([{ readings: 50 }]);
  await fill('changed_limit', LIMIT, [1, 0, 0, DAY_MS - 1], [2, 0, 0, DAY_MS - 1]);
  expect(await run('count_readings_of_changed_limits')).toEqual([{ readings: 60 }]);
});

/** Devices 1 and 2 are in scope. The limits of device 1 have changed. Device 3 waits already. */
async function openScope() {
  const tables = await open();
  const { fill } = tables;
  await fill('series_rule', RULE, [1, one, 7], [2, two, 8], [3, three, 9]);
  await fill('series_quarter', 'series_id, interval_start_ms, step_count', ...quarters);
  await fill('scope', SCOPE, [1, 100, 200, true], [2, 300, 400, false], [3, 500, 600, true]);
  await fill(
    'changed_limit',
    LIMIT,
    [1, 1, DAY_MS, 2 * DAY_MS - 1],
    [1, 2, 2 * DAY_MS, 3 * DAY_MS - 1],
    [3, 1, DAY_MS, 2 * DAY_MS - 1],
  );
  await fill('pending_change', WAITING, [three, 3, 'touched', 1, 2, false, 0, 5, 2, 1]);
  return tables;
}
const defer = { batch_id: 6n, complete_id: 4n };
const touchedRow = [three, 3, 'touched', 1, 2, false, 0, 5, 2, 1];
const ofThree = [
  [three, 3, 'learnt', DAY_MS, 2 * DAY_MS - 1, false, 0, 9, 6, 4],
  touchedRow,
  [three, 3, 'touched', 500, 600, true, 0, 9, 6, 4],
];
const ofOne = [
  [one, 1, 'learnt', DAY_MS, 2 * DAY_MS - 1, false, 50, 7, 6, 4],
  [one, 1, 'learnt', 2 * DAY_MS, 3 * DAY_MS - 1, false, 0, 7, 6, 4],
  [one, 1, 'touched', 100, 200, true, 0, 7, 6, 4],
];
const ofTwo = [[two, 2, 'touched', 300, 400, false, 0, 8, 6, 4]];

test.each([
  ['devices that wait already wait on', { is_too_much: false, all: false }, ofThree, [1, 2], [1]],
  [
    'devices with too many changed limits wait',
    { is_too_much: true, all: false },
    [...ofOne, ...ofThree],
    [2],
    [],
  ],
  ['all devices in scope wait', { is_too_much: false, all: true }, [...ofOne, ...ofTwo, ...ofThree], [], []],
])('%s, with their scope and their changed limits', async (_name, which, waiting, inScope, limited) => {
  const { run, rows } = await openScope();
  await run('defer_devices', { ...defer, ...which });
  expect(await rows('pending_change', WAITING.replace('device', 'device::VARCHAR'))).toEqual(waiting);
  await run('drop_deferred_scope');
  await run('drop_deferred_limits');
  expect(await rows('scope', 'series_id')).toEqual(inScope.map((series) => [series]));
  expect(await rows('(SELECT DISTINCT series_id FROM changed_limit)', 'series_id')).toEqual(
    limited.map((series) => [series]),
  );
  expect(await run('count_scope')).toEqual([{ series: inScope.length }]);
  expect(await run('count_pending')).toEqual([{ waiting: waiting.length }]);
});

test('the new readings of waiting series are stored by batch and quarter, without those of batches that were taken', async () => {
  const { fill, run, rows } = await open();
  await fill('series', 'series_id, device', [1, one], [2, two]);
  await fill('pending_change', WAITING, [one, 1, 'touched', 1, 2, true, 0, 5, 2, 1]);
  await fill(
    'incoming',
    'series_id INTEGER, event_time_ms BIGINT, batch_id BIGINT',
    [1, 10, 5],
    [1, 30, 5],
    [1, 20, 5],
    [1, QUARTER_MS, 5],
    [1, 40, 6],
    [1, 50, 4],
    [2, 60, 5],
  );
  await run('store_deferred_arrivals', { complete_id: 3n, taken_id: 4n });
  expect(
    await rows("pending_change WHERE kind = 'arrived'", WAITING.replace('device', 'device::VARCHAR')),
  ).toEqual([
    [one, 1, 'arrived', 10, 30, true, 0, 0, 5, 3],
    [one, 1, 'arrived', 40, 40, true, 0, 0, 6, 3],
    [one, 1, 'arrived', QUARTER_MS, QUARTER_MS, true, 0, 0, 5, 3],
  ]);
});

test.each([
  [0n, [one]],
  [69n, [one]],
  [70n, [one, two]],
  [99n, [one, two]],
  [100n, [one, two, three]],
])(
  'of devices with 50, 20 and 30 readings, a call of at most %s readings takes the first ones, but at least one',
  async (readings_max, chosen) => {
    const { fill, run, rows } = await open();
    await fill('pending_change', 'device, readings', [two, 20], [one, 30], [three, 30], [one, 20]);
    await run('choose_pending_devices', { readings_max });
    expect(await rows('chosen_device', 'device::VARCHAR')).toEqual(chosen.map((device) => [device]));
  },
);

/** Device 1 is chosen. Series 9 of it is no longer configured. */
async function openChosen() {
  const tables = await open();
  const { fill } = tables;
  await fill('chosen_device', 'device UUID', [one]);
  await fill('series_rule', RULE, [1, one, 7], [2, two, 8]);
  await fill(
    'pending_change',
    WAITING,
    [one, 1, 'touched', 10, 20, true, 0, 5, 2, 1],
    [one, 1, 'learnt', DAY_MS, 2 * DAY_MS - 1, false, 50, 6, 2, 1],
    [one, 1, 'arrived', 12, 13, true, 0, 0, 3, 1],
    [one, 9, 'learnt', 0, DAY_MS - 1, false, 50, 99, 2, 1],
    [two, 2, 'touched', 30, 40, false, 0, 9, 2, 1],
    [two, 2, 'learnt', 0, DAY_MS - 1, false, 50, 9, 2, 1],
    [two, 2, 'arrived', 33, 34, true, 0, 0, 3, 1],
  );
  await fill('touched', SCOPE);
  await fill('changed_limit', LIMIT);
  return tables;
}

test('the waiting work of a device is loaded as if it had just arrived', async () => {
  const { run, rows } = await openChosen();
  await run('load_pending_arrivals');
  expect(await rows('incoming', 'series_id, event_time_ms, batch_id')).toEqual([[1, 12, 3]]);
  await run('load_pending_touched');
  expect(await rows('touched', 'series_id, from_ms, to_ms, is_new')).toEqual([
    [1, 10, 20, true],
    [1, DAY_MS, 2 * DAY_MS - 1, false],
    [9, 0, DAY_MS - 1, false],
  ]);
  await run('load_pending_limits');
  expect(await rows('changed_limit', 'series_id, utc_day, from_ms, to_ms')).toEqual([
    [1, 1, DAY_MS, 2 * DAY_MS - 1],
  ]);
});

test('if everything is computed, the time of all waiting devices is touched, as far as they are configured', async () => {
  const { run, rows } = await openChosen();
  await run('add_pending_touched');
  expect(await rows('touched', 'series_id, from_ms, is_new')).toEqual([
    [1, 10, true],
    [1, DAY_MS, false],
    [2, 0, false],
    [2, 30, false],
  ]);
});

test('a reading covers the longer time of the rules and of the time when its device began to wait', async () => {
  const { run, rows } = await openChosen();
  await run('apply_pending_reach');
  expect(await rows('series_rule', 'series_id, reach_ms')).toEqual([
    [1, 7],
    [2, 9],
  ]);
});

test('the work that is done is deleted: of the chosen devices without series that are left, or all', async () => {
  const { fill, run, rows } = await openChosen();
  await fill('left_series', 'series_id INTEGER');
  await fill('scope', 'series_id INTEGER', [9]);
  await run('leave_scope');
  await run('delete_pending', { all: false });
  expect(await rows('pending_change', 'series_id, kind')).toEqual([
    [2, 'arrived'],
    [2, 'learnt'],
    [2, 'touched'],
    [9, 'learnt'],
  ]);
  await run('delete_pending', { all: true });
  expect(await run('count_pending')).toEqual([{ waiting: 0 }]);
});
