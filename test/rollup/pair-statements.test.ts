import { expect, test } from 'vitest';
import { chapterTables } from './chapter-tables.ts';

/** The statement of chapter 40, over a few readings. */
const open = chapterTables();
const MINUTE_MS = 60_000;
const SCOPE = 'series_id INTEGER, method VARCHAR, anchor_ms BIGINT, first_ms BIGINT, last_ms BIGINT';

test('a pair is a reading in scope with the one before it, of the same series and in the order of time', async () => {
  const { fill, run, rows } = await open();
  await fill('register_change', 'series_id INTEGER');
  await fill('scope', SCOPE, [1, 'power_curve', 200, 100, 400], [2, 'power_curve', 100, 100, 900]);
  for (const id of [2, 1, 3])
    await fill(
      'reading',
      'series_id, event_time_ms, value',
      ...[401, 300, 200, 99, 100, 400, 800, 801].map((ms) => [id, ms, ms / 10]),
    );
  await run('collect_pairs', { low_ms: 0n, high_ms: 800n, least_power_w: null, needs_all: false });
  const columns = 'value_before, from_ms, from_value, to_ms, to_value, is_last, is_needed';
  expect(await rows('reading_pair WHERE series_id = 1', columns)).toEqual([
    [10, 200, 20, 300, 30, false, true],
    [20, 300, 30, 400, 40, true, true],
    [null, 100, 10, 200, 20, false, true],
    [null, null, null, 100, 10, false, true],
  ]);
  const others = await rows('reading_pair WHERE series_id <> 1', 'series_id, to_ms, is_last');
  expect(others).toEqual([100, 200, 300, 400, 401, 800].map((ms) => [2, ms, ms === 800]));
  await run('collect_pairs', { low_ms: 101n, high_ms: 800n, least_power_w: null, needs_all: false });
  expect(await rows('reading_pair WHERE series_id = 1', 'to_ms, from_ms')).toEqual([
    [200, null],
    [300, 200],
    [400, 300],
  ]);
});

/** Readings of each minute from the third on. The limit is 60 W, so that 1 Wh is possible. */
const growth = [10, 11, 12, 13, 14, 15];
const all = [3, 4, 5, 6, 7, 8];
test.each<
  [
    name: string,
    values: number[],
    minutes: number[],
    more?: { method?: string; first?: number; anchor?: number; isChanged?: boolean; needsAll?: boolean },
  ]
>([
  ['the first one and the last one', growth, [3, 8]],
  ['over the beginning of an interval', growth, [13, 15, 18], { first: 13 }],
  ['a fall, and the pair after it', [10, 11, 10.5, 11, 12, 13, 14], [3, 5, 6, 9]],
  ['a rise from zero, and the pair after it', [0, 0.5, 1, 2, 3, 4], [3, 4, 5, 8]],
  ['a rise beyond the lowest limit', [10, 11, 12.01, 13, 14, 15], [3, 5, 8]],
  ['the one that ends at the anchor', growth, [3, 6, 8], { anchor: 6 }],
  ['all of a daily register', growth, all, { method: 'daily_energy' }],
  ['all of power', growth, all, { method: 'power_curve' }],
  ['all of a register with a declared change', growth, all, { isChanged: true }],
  ['all, to learn from them', growth, all, { needsAll: true }],
])(
  'pairs of a lifetime register that later chapters need are kept: %s',
  async (_name, values, minutes, more = {}) => {
    const { fill, run, rows } = await open();
    const { method = 'total_energy', first = 3, anchor = 0, isChanged = false, needsAll = false } = more;
    await fill('register_change', 'series_id INTEGER', [isChanged ? 1 : 2]);
    await fill('scope', SCOPE, [1, method, anchor * MINUTE_MS, 0, 60 * MINUTE_MS]);
    await fill(
      'reading',
      'series_id, event_time_ms, value',
      ...values.map((value, place) => [1, (first + place) * MINUTE_MS, value]),
    );
    const bounds = { low_ms: 0n, high_ms: BigInt(60 * MINUTE_MS) };
    await run('collect_pairs', { ...bounds, least_power_w: 60, needs_all: needsAll });
    const found = await rows('reading_pair', `to_ms // ${MINUTE_MS}`);
    expect(found.flat()).toEqual(minutes);
  },
);
