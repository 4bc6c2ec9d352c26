import { expect, test } from 'vitest';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 22, each over a few rows. correction-golden.test.ts has whole corrections. */
const open = chapterTables();
const [one, two] = [deviceOf(1), deviceOf(2)];
const DAY_MS = 86_400_000;
const LIMIT_DAYS = ruleConstants.limit_days.value;
const READING = 'series_id, event_time_ms, value, message_id, stream_offset, batch_id';
const MOVED =
  'series_id INTEGER, event_time_ms BIGINT, value DOUBLE, message_id BIGINT, stream_offset UBIGINT, batch_id BIGINT, is_excluded BOOLEAN';
const everywhere = [19, 20, 39, 40];

/** Device 1 has sources a and b, device 2 has source a. Their readings are used, or excluded. */
async function openCorrected(table: string) {
  const tables = await open();
  const { fill } = tables;
  await fill(
    'series',
    'series_id, stream_id, device, source',
    [1, 1, one, 'a'],
    [2, 1, one, 'b'],
    [3, 1, two, 'a'],
  );
  await fill('energy_stream', 'stream_id, identity', [1, '{}']);
  await fill(table, READING, ...everywhere.flatMap((ms) => [1, 2, 3].map((id) => [id, ms, 5, 6, 7, 8])));
  return tables;
}
const CORRECTION = 'correction_id, kind, device, source, from_ms, to_ms, undoes';

test('an exclusion moves the readings of its source from its start to before its end, and an undo moves them back', async () => {
  const { fill, run, rows } = await openCorrected('reading');
  await fill(
    'correction',
    CORRECTION,
    [8, 'exclude', one, 'a', 20, 40, null],
    [9, 'set', two, 'a', 20, 40, null],
  );
  await run('choose_corrected_device', { correction_id: 8n });
  expect(await rows('chosen_device', 'device::VARCHAR')).toEqual([[one]]);
  await run('collect_moved_readings', { correction_id: 8n });
  expect(await rows('moved_reading', `${READING}, is_excluded`)).toEqual([
    [1, 20, 5, 6, 7, 8, true],
    [1, 39, 5, 6, 7, 8, true],
  ]);
  await run('store_moved_exclusions');
  await run('delete_moved_readings');
  expect(await rows('excluded_reading', READING)).toEqual([
    [1, 20, 5, 6, 7, 8],
    [1, 39, 5, 6, 7, 8],
  ]);
  expect((await rows('reading WHERE series_id = 1', 'event_time_ms')).flat()).toEqual([19, 40]);
  expect(await rows('reading', 'event_time_ms')).toHaveLength(10);

  await fill('correction', CORRECTION, [10, 'undo', one, 'a', 20, 40, 8]);
  await run('collect_moved_readings', { correction_id: 10n });
  expect(await rows('moved_reading', 'series_id, event_time_ms, is_excluded')).toEqual([
    [1, 20, false],
    [1, 39, false],
  ]);
  await run('restore_readings');
  await run('delete_restored_exclusions');
  expect(await rows('excluded_reading', READING)).toEqual([]);
  expect((await rows('reading WHERE series_id = 1', 'event_time_ms')).flat()).toEqual(everywhere);
});

test('an undone exclusion leaves excluded what another one excludes, and what is outside of it', async () => {
  const { fill, run, rows } = await openCorrected('excluded_reading');
  await fill(
    'correction',
    CORRECTION,
    [8, 'exclude', one, 'a', 20, 41, null],
    [9, 'exclude', one, 'a', 39, 40, null],
    [10, 'undo', one, 'a', 20, 41, 8],
  );
  await run('collect_moved_readings', { correction_id: 10n });
  expect(await rows('moved_reading', 'series_id, event_time_ms, is_excluded')).toEqual([
    [1, 20, false],
    [1, 40, false],
  ]);
});

test('moved readings that are used again leave those that are excluded, and the reverse', async () => {
  const { fill, run, rows } = await open();
  await fill('moved_reading', MOVED, [1, 20, 5, 6, 7, 8, true], [2, 20, 5, 6, 7, 8, false]);
  for (const table of ['reading', 'excluded_reading'])
    await fill(table, READING, [1, 20, 5, 6, 7, 8], [2, 20, 5, 6, 7, 8], [1, 30, 5, 6, 7, 8]);
  await run('delete_moved_readings');
  await run('delete_restored_exclusions');
  expect(await rows('reading', 'series_id, event_time_ms')).toEqual([
    [1, 30],
    [2, 20],
  ]);
  expect(await rows('excluded_reading', 'series_id, event_time_ms')).toEqual([
    [1, 20],
    [1, 30],
  ]);
});

test('the first and the last reading of a series move with its readings, and stay if none is left', async () => {
  const { fill, run, rows } = await open();
  await fill('moved_reading', MOVED, ...[1, 2, 3, 4].map((id) => [id, 20, 5, 6, 7, 8, true]));
  await fill('series', 'series_id, first_ms, last_ms', ...[1, 2, 3, 4, 5].map((id) => [id, 20, 90]));
  await fill(
    'reading',
    READING,
    ...[
      [1, 30],
      [1, 90],
      [2, 20],
      [2, 60],
      [3, 20],
      [3, 90],
      [5, 40],
    ].map(([id, ms]) => [id!, ms!, 5, 6, 7, 8]),
  );
  await run('update_moved_bounds');
  expect(await rows('series', 'series_id, first_ms, last_ms')).toEqual([
    [1, 30, 90],
    [2, 20, 60],
    [3, 20, 90],
    [4, 20, 90],
    [5, 20, 90],
  ]);
});

test('moved readings count as new ones, with the days whose limits can change: some before them, and those until they are forgotten', async () => {
  const { fill, run, rows } = await open();
  const dayOf = (day: number, ms = 0) => 100 * DAY_MS + day * DAY_MS + ms;
  await fill(
    'moved_reading',
    MOVED,
    ...[1, 2].flatMap((id) => [
      [id, dayOf(0, 50), 5, 6, 7, 8, true],
      [id, dayOf(1, 60), 5, 6, 7, 8, true],
    ]),
  );
  await fill('series_rule', 'series_id INTEGER, learns BOOLEAN', [1, true], [2, false], [3, true]);
  const times = [
    dayOf(-2, -1),
    dayOf(-2),
    dayOf(-2, 9),
    dayOf(0, 20),
    dayOf(0, 70),
    dayOf(LIMIT_DAYS, 80),
    dayOf(LIMIT_DAYS + 1),
  ];
  await fill('reading', READING, ...times.flatMap((ms) => [1, 2, 3].map((id) => [id, ms, 5, 6, 7, 8])));
  await fill(
    'series_day',
    'series_id, utc_day',
    ...[97, 98, 99, 100 + LIMIT_DAYS, 101 + LIMIT_DAYS].flatMap((day) => [
      [1, day],
      [3, day],
    ]),
  );
  await run('touch_moved_readings', { look_ahead: 2 });
  expect(await rows('incoming', 'series_id, event_time_ms, batch_id')).toEqual([
    [1, dayOf(-2), -1],
    [1, dayOf(-2, 9), -1],
    [1, dayOf(0, 20), -1],
    [1, dayOf(0, 70), -1],
    [1, dayOf(1, 60), -1],
    [1, dayOf(1, 60), -1],
    [1, dayOf(LIMIT_DAYS, 80), -1],
    [1, dayOf(LIMIT_DAYS, 80), -1],
    // It learns nothing, so only what has moved counts.
    [2, dayOf(0, 50), -1],
    [2, dayOf(0, 50), -1],
    [2, dayOf(1, 60), -1],
    [2, dayOf(1, 60), -1],
  ]);
  await run('delete_moved_limits', { look_ahead: 2 });
  expect((await rows('series_day WHERE series_id = 1', 'utc_day')).flat()).toEqual([97, 101 + LIMIT_DAYS]);
  expect(await rows('series_day WHERE series_id = 3', 'utc_day')).toHaveLength(5);
  await run('create_empty_incoming');
  expect(await rows('incoming', 'series_id')).toEqual([]);
});

test('the step of a series is the longest of the days that are left, and its resolution that of the newest', async () => {
  const { fill, run, rows } = await open();
  await fill('moved_reading', MOVED, [1, 20, 5, 6, 7, 8, true]);
  await fill('series', 'series_id, step_ms, resolution', [1, 1, 1], [2, 1, 1]);
  await fill(
    'series_day',
    'series_id, utc_day, learnt_step_ms, learnt_resolution',
    ...[1, 2].flatMap((id) => [
      [id, 7, 300, 10],
      [id, 8, 200, 100],
      [id, 6, 250, 1_000],
    ]),
  );
  await run('update_steps_after_correction');
  expect(await rows('series', 'series_id, step_ms, resolution')).toEqual([
    [1, 300, 100],
    [2, 1, 1],
  ]);
});
