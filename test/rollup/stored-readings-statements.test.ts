import { expect, test } from 'vitest';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 15, each over a few rows. stored-poison.test.ts has whole roll-ups. */
const open = chapterTables();
const one = deviceOf(1);
const NOW_MS = Date.UTC(2026, 10, 30);
const POWER_MAX = ruleConstants.power_max_w.value;
const REGISTER_MAX = ruleConstants.register_max_wh.value;
const CLOCK_SET_MS = ruleConstants.clock_set_ms.value;
/** The last time that a message can have. */
const LATEST_MS = NOW_MS + 86_400_000 + ruleConstants.future_ms.value;
const READING = 'series_id, event_time_ms, value, message_id, stream_offset, batch_id';
const INVALID =
  'series_id INTEGER, event_time_ms BIGINT, value DOUBLE, reason VARCHAR, stream_offset UBIGINT, batch_id BIGINT, is_superseded BOOLEAN';

test('a stored reading is invalid if its value is beyond the range of its method, or its time is impossible', async () => {
  const { fill, run, rows } = await open();
  await fill('series', 'series_id, stream_id', [1, 1], [2, 2], [3, 3]);
  await fill('stream_setting', 'stream_id INTEGER, method VARCHAR', [1, 'power_curve'], [2, 'total_energy']);
  await fill(
    'reading',
    'series_id, event_time_ms, value, stream_offset, batch_id',
    [1, NOW_MS, POWER_MAX, 1, 7],
    [1, NOW_MS + 1, 2 * POWER_MAX, 2, 7],
    [1, NOW_MS + 2, -2 * POWER_MAX, 3, 7],
    [2, NOW_MS, 2 * POWER_MAX, 4, 7],
    [2, NOW_MS + 1, REGISTER_MAX, 5, 7],
    [2, NOW_MS + 2, 2 * REGISTER_MAX, 6, 7],
    [2, NOW_MS + 3, 'nan', 7, 7],
    [2, NOW_MS + 4, '-inf', 8, 7],
    [2, LATEST_MS, 0, 9, 7],
    [2, LATEST_MS + 1, 0, 10, 7],
    [2, CLOCK_SET_MS, 0, 11, 7],
    [2, CLOCK_SET_MS - 1, 0, 12, 7],
    // Its stream is no longer configured.
    [3, NOW_MS, 'nan', 13, 7],
  );
  await fill('superseded_reading', READING, [1, NOW_MS, 1, 1, 14, 8], [1, NOW_MS, 3 * POWER_MAX, 1, 15, 8]);
  await run('collect_invalid_stored', { now_ms: BigInt(NOW_MS) });
  expect(await rows('invalid_stored', 'stream_offset, series_id, reason, batch_id, is_superseded')).toEqual([
    [2, 1, 'out_of_range', 7, false],
    [3, 1, 'out_of_range', 7, false],
    [6, 2, 'out_of_range', 7, false],
    [7, 2, 'not_finite', 7, false],
    [8, 2, 'not_finite', 7, false],
    [10, 2, 'future', 7, false],
    [12, 2, 'clock_not_set', 7, false],
    [15, 1, 'out_of_range', 8, true],
  ]);
});

test('an invalid reading is rejected like a new one, under the first name of its source', async () => {
  const { fill, run, rows } = await open();
  await fill('series', 'series_id, stream_id, device, source', [1, 4, one, 'roof'], [2, 5, one, 'default']);
  await fill('name', 'name_id, name', [8, 'roof'], [9, 'cellar']);
  await fill(
    'invalid_stored',
    INVALID,
    [1, 10, 5e16, 'out_of_range', 3, 7, false],
    [2, 20, 1, 'future', 4, 8, true],
  );
  await fill(
    'extracted',
    'stream_id INTEGER, device UUID, source_id INTEGER, event_time_ms BIGINT, value DOUBLE, reason VARCHAR, "text" VARCHAR, stream_offset UBIGINT, batch_id BIGINT',
  );
  await run('reject_invalid_stored');
  expect(await rows('extracted', '* EXCLUDE (device), device::VARCHAR')).toEqual([
    [4, 8, 10, null, 'out_of_range', '5e+16', 3, 7, one],
    [5, -1, 20, null, 'future', '1.0', 4, 8, one],
  ]);
});

test('an invalid reading is deleted where it is: the used one, or the one that was not used', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'invalid_stored',
    INVALID,
    [1, 10, 5, 'future', 3, 7, false],
    [1, 20, 'nan', 'not_finite', 4, 8, true],
    [1, 30, 7, 'out_of_range', 4, 8, true],
  );
  await fill('reading', READING, [1, 10, 5, null, 3, 7], [2, 10, 5, null, 3, 7], [1, 20, 6, null, 5, 7]);
  await fill(
    'superseded_reading',
    READING,
    [1, 10, 5, null, 3, 7],
    [1, 20, 'nan', null, 4, 8],
    [1, 20, 6, null, 4, 8],
    [2, 20, 'nan', null, 4, 8],
    [1, 30, 7, null, 4, 8],
  );
  await run('delete_invalid_readings');
  expect(await rows('reading', 'series_id, event_time_ms')).toEqual([
    [1, 20],
    [2, 10],
  ]);
  await run('delete_invalid_superseded');
  expect(await rows('superseded_reading', 'series_id, event_time_ms, value::VARCHAR')).toEqual([
    [1, 10, '5.0'],
    [1, 20, '6.0'],
    [2, 20, 'nan'],
  ]);
});

test('the best reading that was not used takes the place of a deleted one', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'invalid_stored',
    INVALID,
    [1, 10, 5, 'future', 3, 7, false],
    // These readings were not used, so nothing is missing.
    [1, 20, 5, 'future', 3, 7, true],
  );
  await fill(
    'superseded_reading',
    READING,
    [1, 10, 1, 2, 6, 7],
    [1, 10, 2, 3, 4, 7],
    [1, 10, 3, 3, 5, 7],
    [1, 10, 4, 1, 9, 7],
    [1, 20, 5, 1, 9, 7],
    [2, 10, 6, 9, 9, 7],
  );
  await run('collect_successors');
  await run('store_successors');
  await run('delete_used_successors');
  expect(await rows('reading', READING)).toEqual([[1, 10, 3, 3, 5, 7]]);
  expect(await rows('superseded_reading', 'value')).toEqual([[1], [2], [4], [5], [6]]);
});

test.each([
  ['delete_invalid_quarters', 'series_quarter'],
  ['delete_invalid_days', 'series_day'],
  ['delete_invalid_intervals', 'interval_energy'],
])('%s deletes everything that follows from the readings of the series', async (statement, table) => {
  const { fill, run, rows } = await open();
  await fill('invalid_stored', INVALID, [1, 10, 5, 'future', 3, 7, false]);
  await fill(table, 'series_id', [1], [2], [1]);
  await run(statement);
  expect(await rows(table, 'series_id')).toEqual([[2]]);
});

test('the first and the last reading of a series move to what is left, or to now if nothing is left', async () => {
  const { fill, run, rows } = await open();
  await fill('invalid_stored', INVALID, [1, 10, 5, 'future', 3, 7, false], [2, 10, 5, 'future', 3, 7, false]);
  await fill('series', 'series_id, first_ms, last_ms', [1, 5, 900], [2, 40, 900], [3, 5, 900], [4, 600, 900]);
  await fill('reading', READING, [1, 20, 5, null, 3, 7], [1, 30, 5, null, 3, 7], [3, 20, 5, null, 3, 7]);
  await fill('invalid_stored', INVALID, [4, 900, 5, 'future', 3, 7, false]);
  await run('update_invalid_bounds', { now_ms: 500n });
  expect(await rows('series', 'series_id, first_ms, last_ms')).toEqual([
    [1, 20, 30],
    [2, 40, 500],
    [3, 5, 900],
    [4, 500, 500],
  ]);
});
