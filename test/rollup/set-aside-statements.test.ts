import { expect, test } from 'vitest';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 35, each over a few rows. set-aside.test.ts has whole roll-ups. */
const open = chapterTables();
const [one, two] = [deviceOf(1), deviceOf(2)];
const DAY_MS = 86_400_000;
const UNAVAILABLE = 65_536;

test('a series is tried again if the program, its rules or its configuration have changed, and only that one', async () => {
  const { fill, run, rows } = await open();
  await fill('stream_setting', 'stream_id INTEGER', [1], [2]);
  await fill('restated_stream', 'stream_id INTEGER', [2]);
  await fill(
    'series',
    'series_id, stream_id, device, source',
    [11, 1, one, 'a'],
    [12, 1, two, 'a'],
    [13, 1, two, 'b'],
  );
  await fill(
    'set_aside',
    'stream_id, device, source, program_version',
    [1, one, 'a', '2.0'],
    [1, two, 'a', '1.0'],
    [1, two, 'b', '2.0'],
    [2, one, 'a', '2.0'],
    [3, one, 'a', '2.0'],
  );
  await run('collect_retried_series', { version: '2.0' });
  expect(await rows('retried_series', 'stream_id, device::VARCHAR, source, series_id')).toEqual([
    [1, two, 'a', 12],
    [2, one, 'a', null],
    [3, one, 'a', null],
  ]);
  await run('release_retried_series');
  expect(await rows('set_aside', 'stream_id, device::VARCHAR, source')).toEqual([
    [1, one, 'a'],
    [1, two, 'b'],
  ]);
});

test.each([
  ['delete_retried_intervals', 'interval_energy'],
  ['delete_retried_quarters', 'series_quarter'],
  ['delete_retried_days', 'series_day'],
  ['delete_retried_breaks', 'series_break'],
  ['delete_retried_events', 'energy_event'],
])(
  '%s deletes what follows from the readings of the series that are tried again',
  async (statement, table) => {
    const { fill, run, rows } = await open();
    await fill('retried_series', 'series_id INTEGER', [12], [null]);
    await fill(table, 'series_id', [11], [12], [12]);
    await run(statement);
    expect(await rows(table, 'series_id')).toEqual([[11]]);
  },
);

test('a series that is tried again is touched from its first to its last reading, and learns again', async () => {
  const { fill, run, rows } = await open();
  await fill('retried_series', 'series_id INTEGER', [12], [13], [null]);
  await fill('series', 'series_id, first_ms, last_ms', [11, 1, 2], [12, 3, 4], [13, 5, 6]);
  await fill('series_rule', 'series_id INTEGER', [11], [12]);
  await fill('touched', 'series_id INTEGER, from_ms BIGINT, to_ms BIGINT, is_new BOOLEAN');
  await run('touch_retried_series');
  expect(await rows('touched', 'series_id, from_ms, to_ms, is_new')).toEqual([[12, 3, 4, true]]);
});

test('a roll-up omits the series that are set aside and those of a trial, by stream, device and source', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'series_rule',
    'series_id INTEGER, stream_id INTEGER, position INTEGER, device UUID, source VARCHAR',
    [1, 1, 0, one, 'a'],
    [2, 1, 0, one, 'b'],
    [3, 1, 0, two, 'a'],
    [4, 2, 1, one, 'a'],
    [5, 2, 1, one, 'b'],
    [6, 2, 1, two, 'a'],
  );
  await fill('touched', 'series_id INTEGER, from_ms BIGINT', [1, 0], [2, 0], [3, 0], [4, 0]);
  await fill('set_aside', 'stream_id, device, source', [1, one, 'b']);
  await run('collect_omitted_series');
  expect(await rows('omitted_series', 'series_id, stream_id, position, source')).toEqual([[2, 1, 0, 'b']]);
  await run('omit_trial_series', { streams: [2], devices: [one], sources: ['a'] });
  expect(await run('list_omitted_series')).toEqual([{ series_id: 2 }, { series_id: 4 }]);
  await run('drop_omitted_rules');
  await run('drop_omitted_touched');
  expect(await rows('series_rule', 'series_id')).toEqual([[1], [3], [5], [6]]);
  expect(await rows('touched', 'series_id')).toEqual([[1], [3]]);
});

test('the days of the new readings of omitted series are touched, each once, and at midnight the day that begins', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'omitted_series',
    'series_id INTEGER, device UUID, source VARCHAR',
    [1, one, 'a'],
    [2, one, 'a'],
  );
  await fill(
    'incoming',
    'series_id INTEGER, event_time_ms BIGINT',
    [1, 10],
    [1, 20],
    [2, DAY_MS - 1],
    [1, DAY_MS],
    [3, 2 * DAY_MS],
    [2, 4 * DAY_MS],
  );
  await fill(
    'local_day',
    'day DATE, start_ms BIGINT, end_ms BIGINT',
    ['1970-01-01', 0, DAY_MS],
    ['1970-01-02', DAY_MS, 2 * DAY_MS],
    ['1970-01-03', 2 * DAY_MS, 3 * DAY_MS],
    ['1970-01-04', 3 * DAY_MS, 4 * DAY_MS],
    ['1970-01-05', 4 * DAY_MS, 5 * DAY_MS],
  );
  await fill('touched_day', 'device UUID, source VARCHAR, day DATE, start_ms BIGINT, end_ms BIGINT', [
    one,
    'a',
    '1970-01-01',
    0,
    DAY_MS,
  ]);
  expect(await run('list_omitted_ranges')).toEqual([
    { low_ms: 10, high_ms: DAY_MS - 1 },
    { low_ms: DAY_MS, high_ms: DAY_MS },
    { low_ms: 4 * DAY_MS, high_ms: 4 * DAY_MS },
  ]);
  await run('touch_omitted_days');
  expect(await rows('touched_day', 'day::VARCHAR')).toEqual([['1970-01-01'], ['1970-01-02'], ['1970-01-05']]);
});

/** A day as it is stored or as the other fields say it. */
interface DayState {
  wh: number;
  stream: number;
  flags?: number;
  coverage?: number;
  status?: string;
  version?: number;
}

/** A day of source a, whose second field is set aside: as stored, as the others say it, what it becomes. */
interface DayCase {
  stored?: DayState;
  others?: DayState;
  history?: number;
  becomes?: { wh: number; stream: number; flags: number; version?: number; status?: string };
}

const days: Record<string, DayCase> = {
  'was read from the omitted field: it keeps its energy': {
    stored: { wh: 100, stream: 2 },
    others: { wh: 300, stream: 3 },
    becomes: { wh: 100, stream: 2, flags: UNAVAILABLE },
  },
  'was read from the omitted field, and is flagged already: nothing changes': {
    stored: { wh: 100, stream: 2, flags: UNAVAILABLE },
    others: { wh: 300, stream: 3 },
  },
  'is read from a field before the omitted one: nothing is missing': {
    stored: { wh: 100, stream: 1 },
    others: { wh: 150, stream: 1 },
    becomes: { wh: 150, stream: 1, flags: 0 },
  },
  'is read from a field after the omitted one': {
    stored: { wh: 90, stream: 3 },
    others: { wh: 95, stream: 3, flags: 1 },
    becomes: { wh: 95, stream: 3, flags: UNAVAILABLE | 1 },
  },
  'is new, and is read from a field after the omitted one': {
    others: { wh: 95, stream: 3 },
    becomes: { wh: 95, stream: 3, flags: UNAVAILABLE, version: 1, status: 'final' },
  },
  'is new, but has versions in the history': {
    others: { wh: 95, stream: 3, status: 'restated' },
    history: 3,
    becomes: { wh: 95, stream: 3, flags: UNAVAILABLE, version: 4, status: 'restated' },
  },
  'was read from a later field, and the others change nothing': {
    stored: { wh: 90, stream: 3 },
    becomes: { wh: 90, stream: 3, flags: UNAVAILABLE },
  },
  'was read from an earlier field, and the others change nothing': { stored: { wh: 90, stream: 1 } },
  'was flagged, and is read from an earlier field': {
    stored: { wh: 90, stream: 1, flags: UNAVAILABLE | 1 },
    becomes: { wh: 90, stream: 1, flags: 1 },
  },
  'was read from a field that is no longer configured': {
    stored: { wh: 90, stream: 9 },
    becomes: { wh: 90, stream: 9, flags: UNAVAILABLE },
  },
  'has another coverage only': {
    stored: { wh: 90, stream: 1, coverage: 0.5 },
    others: { wh: 90, stream: 1 },
    becomes: { wh: 90, stream: 1, flags: 0 },
  },
  'has no energy and never had any': {},
};

test('a day with an omitted field keeps what was read from it, else it is read from another field and flagged', async () => {
  const { fill, run, rows } = await open();
  const list = Object.values(days);
  const dayOf = (place: number) => `1970-01-${String(place + 1).padStart(2, '0')}`;
  const boundsOf = (place: number) => [place * DAY_MS, (place + 1) * DAY_MS];
  const stateColumns = 'day, device, source, energy_wh, stream_id, flags, coverage, status, version';
  const stateOf = (state: DayState | undefined, place: number, source = 'a') =>
    state
      ? [
          [
            dayOf(place),
            one,
            source,
            state.wh,
            state.stream,
            state.flags ?? 0,
            state.coverage ?? 1,
            state.status ?? 'final',
            state.version ?? 1,
          ],
        ]
      : [];
  await fill('stream_setting', 'stream_id INTEGER, position INTEGER', [1, 0], [2, 1], [3, 2]);
  await fill('omitted_series', 'stream_id INTEGER, position INTEGER, device UUID, source VARCHAR', [
    2,
    1,
    one,
    'a',
  ]);
  const touched = list.map((_, place) => [one, 'a', dayOf(place), ...boundsOf(place)]);
  await fill(
    'touched_day',
    'device UUID, source VARCHAR, day DATE, start_ms BIGINT, end_ms BIGINT',
    ...touched,
    [one, 'b', dayOf(0), ...boundsOf(0)],
    // Beyond the days that are asked for.
    [one, 'a', dayOf(list.length), ...boundsOf(list.length)],
  );
  await fill('daily_energy', stateColumns, ...list.flatMap(({ stored }, place) => stateOf(stored, place)));
  await fill(
    'day_change',
    'day DATE, device UUID, source VARCHAR, energy_wh BIGINT, stream_id INTEGER, flags UINTEGER, coverage DOUBLE, status VARCHAR, version INTEGER, method VARCHAR, end_ms BIGINT, history_version INTEGER',
  );
  await fill(
    'day_change',
    stateColumns,
    ...list.flatMap(({ others }, place) => stateOf(others, place)),
    ...stateOf({ wh: 7, stream: 3 }, 0, 'b'),
    ...stateOf({ wh: 8, stream: 3 }, list.length),
  );
  await fill(
    'daily_energy_history',
    'day, device, source, version',
    ...list.flatMap(({ history }, place) => (history ? [[dayOf(place), one, 'a', history]] : [])),
  );
  await run('collect_unavailable_days', {
    low_ms: 0n,
    high_ms: BigInt(list.length * DAY_MS),
    now_ms: BigInt(400 * DAY_MS),
    close_after_ms: BigInt(DAY_MS),
  });
  const found = await rows(
    'unavailable_day',
    'day::VARCHAR, source, energy_wh, stream_id, flags, version, status',
  );
  const wanted = list.flatMap(({ becomes, stored }, place) =>
    becomes
      ? [
          [
            dayOf(place),
            'a',
            becomes.wh,
            becomes.stream,
            becomes.flags,
            becomes.version ?? (stored?.version ?? 1) + 1,
            becomes.status ?? 'restated',
          ],
        ]
      : [],
  );
  expect(found).toEqual(wanted);
  // What the other fields say of these days is dropped, and this is what becomes of them.
  await run('drop_unavailable_changes');
  expect(await rows('day_change', 'source, energy_wh')).toEqual([['b', 7]]);
  await run('add_unavailable_changes');
  expect(await run('count_day_changes')).toEqual([{ count: wanted.length + 1 }]);
});

test('a series is set aside once, with its last error, until somebody asks to try its device or all again', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'energy_stream',
    'stream_id, identity, settings',
    [1, '{"field":"wh"}', '{"position":4}'],
    [2, '{"field":"w"}', null],
  );
  const setAside = async (
    stream_id: number,
    device: string,
    source: string,
    now_ms: bigint,
    error: string,
  ) => {
    const key = { stream_id, device, source, error, version: '2.0' };
    await run('update_set_aside', key);
    await run('store_set_aside', { ...key, now_ms });
  };
  await setAside(1, one, 'a', 5n, 'first');
  await setAside(1, one, 'b', 6n, 'of b');
  await setAside(1, two, 'a', 7n, 'of two');
  await setAside(2, one, 'a', 8n, 'of power');
  await setAside(1, one, 'a', 9n, 'second');
  expect(await run('list_set_aside')).toEqual([
    { position: 4, device: one, source: 'a', field: 'wh', since_ms: 5, error: 'second', version: '2.0' },
    { position: 4, device: one, source: 'b', field: 'wh', since_ms: 6, error: 'of b', version: '2.0' },
    { position: 4, device: two, source: 'a', field: 'wh', since_ms: 7, error: 'of two', version: '2.0' },
    { position: null, device: one, source: 'a', field: 'w', since_ms: 8, error: 'of power', version: '2.0' },
  ]);
  await run('request_retry', { device: two });
  const asked = () => rows("set_aside WHERE program_version = ''", 'device::VARCHAR');
  expect(await asked()).toEqual([[two]]);
  await run('request_retry', { device: null });
  expect(await asked()).toHaveLength(4);
});
