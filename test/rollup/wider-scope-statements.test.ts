import { expect, test } from 'vitest';
import { workBounds } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 32, each over a few rows. reaching-changes.test.ts has whole roll-ups. */
const open = chapterTables();
const [one, two] = [deviceOf(1), deviceOf(2)];
const DAY_MS = 86_400_000;
const RULE =
  'series_id INTEGER, device UUID, source VARCHAR, method VARCHAR, net BOOLEAN, learns BOOLEAN, reach_ms BIGINT, first_ms BIGINT, last_ms BIGINT';
const SCOPE =
  'series_id, method, from_ms, to_ms, compute_from_ms, compute_to_ms, first_ms, last_ms, is_new, has_later';
const WIDER = 'series_id, from_ms, to_ms';
test('power in scope reshapes the silences of the register beside it, if its own scope is smaller', async () => {
  const { fill, run, rows } = await open();
  await run('create_scope');
  await fill(
    'series_rule',
    RULE,
    [1, one, 'a', 'total_energy', false, true, 0, 100, 1_500],
    [2, one, 'a', 'power_curve', false, true, 0, 0, 9_000],
    [3, one, 'b', 'total_energy', false, true, 0, 100, 1_500],
    [4, two, 'a', 'total_energy', false, true, 0, 100, 1_500],
  );
  const found = async (...scopes: Array<[id: number, method: string, from: number, to: number]>) => {
    await run('create_scope');
    await fill('scope', 'series_id, method, compute_from_ms, compute_to_ms', ...scopes);
    await run('collect_reshaped_silences');
    return rows('wider_time', WIDER);
  };
  expect(await found([2, 'power_curve', 1_000, 2_000])).toEqual([[1, 1_000, 1_500]]);
  expect(await found([2, 'power_curve', 50, 1_000])).toEqual([[1, 100, 999]]);
  expect(await found([2, 'power_curve', 1_501, 2_000])).toEqual([]);
  expect(await found([2, 'power_curve', 50, 100])).toEqual([]);
  expect(await found([2, 'daily_energy', 1_000, 2_000])).toEqual([]);
  expect(await found([2, 'power_curve', 1_000, 2_000], [1, 'total_energy', 1_000, 1_501])).toEqual([]);
  expect(await found([2, 'power_curve', 1_000, 2_000], [1, 'total_energy', 1_001, 1_501])).toEqual([
    [1, 1_000, 1_500],
  ]);
  expect(await found([2, 'power_curve', 1_000, 2_000], [1, 'total_energy', 1_000, 1_500])).toEqual([
    [1, 1_000, 1_500],
  ]);
});

type Event = [id: number, kind: string, from: number, to: number];
test.each<[name: string, event: Event, wider: number[][]]>([
  [
    'a restart of a daily register: also the morning of its day, and the lifetime register beside it',
    [2, 'reset', 1_100, 1_200],
    [
      [1, 1_150, 1_200],
      [2, 1_000, 1_200],
      [2, 1_100, 1_200],
    ],
  ],
  [
    'a spike of a daily register up to for ever',
    [2, 'spike', 1_100, 9_999],
    [
      [1, 1_150, 1_300],
      [2, 1_100, 1_250],
    ],
  ],
  [
    'an event that ends at the first reading of the register beside it',
    [2, 'spike', 1_100, 1_150],
    [
      [1, 1_150, 1_150],
      [2, 1_100, 1_150],
    ],
  ],
  ['an event before the register beside it', [2, 'spike', 1_100, 1_149], [[2, 1_100, 1_149]]],
  [
    'an event that begins at its last reading',
    [2, 'spike', 1_300, 1_310],
    [
      [1, 1_300, 1_300],
      [2, 1_300, 1_250],
    ],
  ],
  ['an event after the register beside it', [2, 'spike', 1_301, 1_310], [[2, 1_301, 1_250]]],
  ['a restart of a lifetime register', [1, 'reset', 1_200, 1_210], [[1, 1_200, 1_210]]],
])('a changed event reaches over its time: %s', async (_name, event, wider) => {
  const { fill, run, rows } = await open();
  await fill(
    'series_rule',
    RULE,
    [1, one, 'a', 'total_energy', false, true, 0, 1_150, 1_300],
    [2, one, 'a', 'daily_energy', false, true, 0, 0, 1_250],
    [3, one, 'b', 'total_energy', false, true, 0, 0, 9_000],
    [4, two, 'a', 'total_energy', false, true, 0, 0, 9_000],
  );
  await fill('local_day', 'start_ms BIGINT, end_ms BIGINT', [0, 1_000], [1_000, 2_000]);
  await fill('changed_event', 'series_id INTEGER, kind VARCHAR, from_ms BIGINT, to_ms BIGINT', event);
  await run('collect_time_of_events');
  expect(await rows('wider_time', WIDER)).toEqual(wider);
});

test('changed limits and moved marks reach over their time, and the scope and that time are requested', async () => {
  const { fill, run, rows } = await open();
  const marked = workBounds.moved_mark_days * DAY_MS;
  await run('create_scope');
  await fill(
    'scope',
    SCOPE,
    [1, '', 100, 200, 50, 300, 0, 0, true, true],
    [2, '', 100, 200, 0, 2 * marked, 0, 0, false, true],
    [3, '', 100, 200, 50, 300, 0, 0, false, true],
  );
  await fill('changed_limit', 'series_id INTEGER, from_ms BIGINT, to_ms BIGINT', [1, 150, 900], [4, 0, 10]);
  await run('collect_time_of_limits');
  expect(await rows('wider_time', WIDER)).toEqual([[1, 150, 900]]);
  await run('request_wider_time');
  expect(await rows('requested_time', `${WIDER}, is_new`)).toEqual([
    [1, 100, 900, true],
    [2, 100, 200, false],
    [3, 100, 200, false],
  ]);
  await fill('moved_mark', 'series_id INTEGER', [1], [2]);
  await run('collect_time_after_moved_marks');
  expect(await rows('wider_time', WIDER)).toEqual([
    [1, 300, 300 + marked],
    [2, 2 * marked, 4 * marked],
  ]);
  await run('request_wider_time');
  expect(await rows('requested_time', `${WIDER}, is_new`)).toEqual([
    [1, 100, 300 + marked, true],
    [2, 100, 4 * marked, false],
    [3, 100, 200, false],
  ]);
});
