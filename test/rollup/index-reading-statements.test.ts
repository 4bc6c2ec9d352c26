import { expect, test } from 'vitest';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { chapterTables } from './chapter-tables.ts';

/** The statements of chapter 60 that select readings for the index, each over a few rows. */
const open = chapterTables();
const SCOPE = 'series_id INTEGER, method VARCHAR, anchor_ms BIGINT, first_ms BIGINT, last_ms BIGINT';
const RULE = 'series_id INTEGER, net BOOLEAN, jitter_wh DOUBLE';
const INDEX =
  'series_id INTEGER, method VARCHAR, event_time_ms BIGINT, value DOUBLE, mark DOUBLE, kind VARCHAR, energy_wh DOUBLE, index_segment BIGINT';
const bounds = { low_ms: 100n, high_ms: 900n };
const { glitch, spike } = flagBits;
const MARK = 'series_id, interval_start_ms, last_ms, last_value';
const EVENT = 'series_id, kind, from_ms, to_ms, energy_wh';

test('index readings are those from the anchor on that are not left out, with the stored mark and the events', async () => {
  const { fill, run, rows } = await open();
  await fill('scope', SCOPE, ...[1, 2, 3].map((id) => [id, 'total_energy', 100, 100, 900]));
  await fill('needs_full_index', 'series_id INTEGER', [1], [3]);
  const times = [99, 100, 200, 300, 400, 500, 900, 901];
  for (const id of [1, 2, 3])
    await fill('reading', 'series_id, event_time_ms, value', ...times.map((ms) => [id, ms, ms / 10]));
  // The stored mark of another reading than that of the anchor is old.
  await fill('interval_energy', MARK, [1, 0, 100, 45], [1, 1, 200, 99], [2, 0, 100, 99], [3, 0, 100, 5]);
  await fill(
    'energy_event',
    EVENT,
    [1, 'glitch', 300, 400, 0],
    [1, 'reset', 200, 500, 7],
    [1, 'rebase', 500, 900, 0],
    [2, 'spike', 200, 200, 0],
    [3, 'spike', 200, 500, 0],
    [3, 'rollover', 500, 900, 3],
  );
  await run('collect_index_readings', bounds);
  const columns = 'series_id, event_time_ms, value, mark, kind, energy_wh, index_segment';
  expect(await rows('index_reading', columns)).toEqual([
    [1, 100, 10, 45, null, null, 0],
    [1, 200, 20, 20, null, null, 0],
    [1, 500, 50, 50, 'reset', 7, 1],
    [1, 900, 90, 90, 'rebase', 0, 2],
    [3, 100, 10, 10, null, null, 0],
    [3, 900, 90, 90, 'rollover', 3, 1],
  ]);
});

test('readings at the bounds of the scope are left out too, and a daily register has no stored mark', async () => {
  const { fill, run, rows } = await open();
  await fill('scope', SCOPE, ...[1, 2].map((id) => [id, 'daily_energy', 100, 100, 900]));
  await fill('needs_full_index', 'series_id INTEGER', [1], [2]);
  const times = [100, 500, 900];
  for (const id of [1, 2])
    await fill('reading', 'series_id, event_time_ms, value', ...times.map((ms) => [id, ms, ms / 10]));
  await fill('interval_energy', MARK, [2, 0, 100, 99]);
  await fill('energy_event', EVENT, [1, 'glitch', 50, 100, 0], [1, 'spike', 900, 950, 0]);
  await run('collect_index_readings', bounds);
  expect(await rows('index_reading', 'series_id, event_time_ms, mark')).toEqual([
    [1, 500, 50],
    [2, 100, 10],
    [2, 500, 50],
    [2, 900, 90],
  ]);
});

test('a line that passes over readings that are left out has the flags of all of them', async () => {
  const { fill, run, rows } = await open();
  const at = (id: number, ms: number) => [id, '', ms, 0, 0, null, null, 0];
  await fill('index_reading', INDEX, at(1, 100), at(1, 200), at(1, 300), at(2, 150));
  await fill(
    'energy_event',
    'series_id, kind, from_ms, to_ms',
    [1, 'glitch', 101, 150],
    [1, 'spike', 160, 199],
    [1, 'reset', 100, 200],
    [1, 'spike', 200, 250],
    [2, 'spike', 210, 250],
    [1, 'spike', 250, 300],
  );
  await run('collect_skipped_readings', bounds);
  expect(await rows('skipped_reading', 'series_id, to_ms, flags::INTEGER')).toEqual([
    [1, 200, glitch | spike],
  ]);
});

test.each<
  [
    name: string,
    value: number,
    drifts: boolean,
    more?: { net?: boolean; method?: string; jitter?: number | null },
  ]
>([
  ['below the mark by the jitter', 98, false],
  ['below the mark by more', 97.5, true],
  ['of a net register', 97.5, false, { net: true }],
  ['of a daily register', 97.5, false, { method: 'daily_energy' }],
  // The learnt resolution is 3 Wh, so the jitter is 6 Wh.
  ['within the learnt jitter', 94, false, { jitter: null }],
  ['beyond the learnt jitter', 93, true, { jitter: null }],
])(
  'a segment drifts, or not: a reading %s',
  async (_name, value, drifts, { net = false, method = 'total_energy', ...more } = {}) => {
    const { fill, run } = await open();
    await run('create_empty_tables');
    await fill('series_rule', RULE, [1, net, more.jitter === undefined ? 2 : more.jitter]);
    await fill('day_limit', 'series_id, utc_day, learnt_resolution', [1, 0, 3], [1, 1, 90]);
    const at = (ms: number, wh: number, segment: number) => [1, method, ms, wh, wh, null, null, segment];
    await fill('index_reading', INDEX, at(4, 50, 1), at(3, value, 0), at(2, 99, 0), at(1, 100, 0));
    const found = await run('list_drift');
    expect(found.map((row) => row.event_time_ms)).toEqual(drifts ? [1, 2, 3] : []);
  },
);

test('drift is that of a series and below its stored mark, and is returned by series and time', async () => {
  const { fill, run } = await open();
  await run('create_empty_tables');
  for (const id of [1, 2, 3, 4]) await fill('series_rule', RULE, [id, false, null]);
  await fill(
    'day_limit',
    'series_id, utc_day, learnt_resolution',
    [1, 0, 1],
    [2, 0, 1],
    [3, 0, 1],
    [4, 0, 9],
  );
  const at = (id: number, ms: number, wh: number, mark = wh) => [
    id,
    'total_energy',
    ms,
    wh,
    mark,
    null,
    null,
    0,
  ];
  await fill(
    'index_reading',
    INDEX,
    at(2, 9, 97),
    at(2, 1, 100),
    // The stored mark of series 1 was higher than the reading at its anchor.
    at(1, 8, 96),
    at(1, 2, 96, 99),
    at(3, 3, 50),
    at(4, 3, 60),
    at(4, 5, 50),
  );
  const found = await run('list_drift');
  expect(found.map(({ series_id, event_time_ms }) => [series_id, event_time_ms])).toEqual([
    [1, 2],
    [1, 8],
    [2, 1],
    [2, 9],
  ]);
});

test('a rebase gives a reading its mark, and begins a new segment', async () => {
  const { fill, run, rows } = await open();
  const at = (id: number, ms: number, kind: string | null) => [id, '', ms, 5, 9, kind, null, 0];
  await fill(
    'index_reading',
    INDEX,
    at(1, 1, null),
    at(1, 2, 'reset'),
    at(1, 3, null),
    at(1, 4, null),
    at(2, 3, null),
  );
  await run('apply_drift_rebases', {
    drifted: JSON.stringify([{ series_id: 1, event_time_ms: 3, mark: 7 }]),
  });
  expect(await rows('index_reading', 'series_id, event_time_ms, mark, kind, index_segment')).toEqual([
    [1, 1, 9, null, 0],
    [1, 2, 9, 'reset', 1],
    [1, 3, 7, 'rebase', 2],
    [1, 4, 9, null, 2],
    [2, 3, 9, null, 0],
  ]);
});
