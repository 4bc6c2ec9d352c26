import { expect, test } from 'vitest';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 20, each over a few rows. superseded.test.ts has whole roll-ups. */
const open = chapterTables();
const [one, two] = [deviceOf(1), deviceOf(2)];
const EXTRACTED =
  'stream_id INTEGER, device UUID, source_id INTEGER, event_time_ms BIGINT, value DOUBLE, reason VARCHAR, message_id BIGINT, stream_offset UBIGINT, batch_id BIGINT';
const INCOMING =
  'series_id INTEGER, event_time_ms BIGINT, value DOUBLE, message_id BIGINT, stream_offset UBIGINT, batch_id BIGINT';
const READING = 'series_id, event_time_ms, value, message_id, stream_offset, batch_id';
const bounds = { low_ms: 10n, high_ms: 50n };

test('new readings are grouped by stream, device and source; a series widens if they begin before it or end after it', async () => {
  const { fill, run, rows } = await open();
  await fill('stream_setting', 'stream_id INTEGER, as_source VARCHAR', [1, null], [2, 'grid']);
  await fill('name', 'name_id, name', [7, 'roof']);
  const add = (stream: number, device: string, source: number, ...times: number[]) =>
    fill('extracted', EXTRACTED, ...times.map((ms) => [stream, device, source, ms, 1, null, null, null, 3]));
  await add(1, one, -1, 20, 30);
  await add(1, one, 7, 19, 30);
  await add(1, two, 7, 20, 31);
  await add(2, one, 7, 5);
  await fill('extracted', EXTRACTED, [1, one, -1, 99, null, 'future', null, null, 3]);
  await fill(
    'series',
    'series_id, stream_id, device, source, first_ms, last_ms',
    [4, 1, one, 'default', 20, 30],
    [5, 1, one, 'roof', 20, 30],
    [6, 1, two, 'roof', 20, 30],
    // Of another source and of another stream.
    [7, 2, one, 'roof', 20, 30],
    [8, 3, one, 'grid', 20, 30],
  );
  await run('collect_series');
  const columns = 'stream_id, source, series_id, readings, first_ms, last_ms, widens, device::VARCHAR';
  expect(await rows('incoming_series', columns)).toEqual([
    [1, 'default', 4, 2, 20, 30, false, one],
    [1, 'roof', 5, 2, 19, 30, true, one],
    [1, 'roof', 6, 2, 20, 31, true, two],
    [2, 'grid', null, 1, 5, 5, false, one],
  ]);
  expect(await run('describe_incoming')).toEqual([
    { readings: 7, low_ms: 5, high_ms: 31, has_new_series: true, widens_series: true },
  ]);
  await run('update_series_bounds');
  const found = await rows('series', 'series_id, first_ms, last_ms');
  expect(found.slice(0, 3)).toEqual([
    [4, 20, 30],
    [5, 19, 30],
    [6, 20, 31],
  ]);
  await run('add_series');
  expect(await rows('series WHERE series_id > 8', 'series_id, stream_id, source, first_ms, last_ms')).toEqual(
    [[9, 2, 'grid', 5, 5]],
  );
});

test('new series are numbered after the stored ones by stream, device and source, one for all names of a source', async () => {
  const { fill, run, rows } = await open();
  await fill('series', 'series_id', [41]);
  await fill(
    'incoming_series',
    'stream_id INTEGER, device UUID, source_id INTEGER, source VARCHAR, series_id INTEGER, first_ms BIGINT, last_ms BIGINT, readings BIGINT, widens BOOLEAN',
    [2, one, 1, 'a', null, 7, 8, 1, false],
    [1, two, 1, 'a', null, 5, 6, 1, false],
    [1, one, 1, 'grid', null, 3, 4, 1, false],
    [1, one, 2, 'grid', null, 2, 3, 1, false],
  );
  await run('add_series');
  expect(
    await rows('series WHERE series_id > 41', 'series_id, stream_id, device::VARCHAR, first_ms, last_ms'),
  ).toEqual([
    [42, 1, one, 2, 4],
    [43, 1, two, 5, 6],
    [44, 2, one, 7, 8],
  ]);
});

test('a stored series widens to both sides, by all names of its source', async () => {
  const { fill, run, rows } = await open();
  await fill('series', 'series_id, first_ms, last_ms', [1, 20, 30], [2, 20, 30]);
  await fill(
    'incoming_series',
    'series_id INTEGER, first_ms BIGINT, last_ms BIGINT, widens BOOLEAN',
    [1, 10, 25, true],
    [1, 25, 40, true],
    [2, 25, 35, true],
  );
  await run('update_series_bounds');
  expect(await rows('series', 'series_id, first_ms, last_ms')).toEqual([
    [1, 10, 40],
    [2, 20, 35],
  ]);
});

test('valid new readings get the series of their stream, device and source', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'incoming_series',
    'stream_id INTEGER, device UUID, source_id INTEGER, series_id INTEGER',
    [1, one, -1, 1],
    [1, one, 7, 2],
    [1, two, -1, 3],
    [2, one, -1, 4],
  );
  await fill(
    'extracted',
    EXTRACTED,
    [1, one, -1, 20, 5, null, 8, 9, 3],
    [1, one, 7, 20, 6, null, 8, 9, 3],
    [1, two, -1, 20, 7, null, 8, 9, 3],
    [2, one, -1, 20, 8, null, 8, 9, 3],
    [1, one, -1, 30, null, 'future', 8, 9, 3],
  );
  await run('collect_incoming');
  expect(await rows('incoming', READING)).toEqual([
    [1, 20, 5, 8, 9, 3],
    [2, 20, 6, 8, 9, 3],
    [3, 20, 7, 8, 9, 3],
    [4, 20, 8, 8, 9, 3],
  ]);
});

test('of new readings of one time the one of the highest message is used, then of the highest offset, batch and value', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'incoming',
    INCOMING,
    [1, 10, 1, 5, 9, 1],
    [1, 10, 2, 6, 8, 1],
    [1, 20, 3, null, 9, 1],
    [1, 20, 4, 0, 8, 1],
    [1, 30, 5, 5, 8, 9],
    [1, 30, 6, 5, 9, 1],
    [1, 40, 7, 5, null, 2],
    [1, 40, 8, 5, null, 1],
    [1, 50, 9, 5, 9, 1],
    [1, 50, 10, 5, 9, 1],
    [1, 60, 11, 5, 9, 1],
    [2, 60, 12, 4, 9, 1],
  );
  await run('collect_repetitions');
  await run('store_repetitions');
  await run('drop_repetitions');
  expect((await rows('incoming', 'value')).flat()).toEqual([2, 4, 6, 7, 10, 11, 12]);
  expect((await rows('superseded_reading', 'value')).flat()).toEqual([1, 3, 5, 8, 9]);
});

type Reading = [value: number, messageId: number | null, offset: number | null, batch: number];
/**
 * A stored and a new reading of one time: which one is not used, and the offset and batch that the stored one
 * gets.
 */
const pairs: Array<
  [
    name: string,
    stored: Reading,
    arrived: Reading,
    wins: 'stored' | 'new',
    loser: Reading,
    moved?: [number, number],
  ]
> = [
  ['a higher message id', [100, 5, 10, 1], [101, 6, 9, 2], 'new', [100, 5, 10, 1]],
  ['a lower message id', [100, 5, 10, 1], [101, 4, 11, 2], 'stored', [101, 4, 11, 2]],
  ['a message id, where there was none', [100, null, 10, 1], [101, 0, 9, 2], 'new', [100, null, 10, 1]],
  ['another value, higher offset', [100, 5, 10, 1], [99, 5, 11, 2], 'new', [100, 5, 10, 1]],
  ['another value, lower offset', [100, 5, 10, 1], [101, 5, 9, 2], 'stored', [101, 5, 9, 2]],
  ['a repetition, higher offset', [100, 5, 10, 1], [100, 5, 11, 2], 'stored', [100, 5, 10, 1], [11, 2]],
  ['a repetition, the same offset', [100, 5, 10, 1], [100, 5, 10, 2], 'stored', [100, 5, 10, 2]],
  ['a repetition, lower offset', [100, 5, 10, 1], [100, 5, 9, 2], 'stored', [100, 5, 9, 2]],
  ['a repetition without ids', [100, null, 10, 1], [100, null, 11, 2], 'stored', [100, null, 10, 1], [11, 2]],
  [
    'a repetition without offsets',
    [100, null, null, 1],
    [100, null, null, 2],
    'stored',
    [100, null, null, 2],
  ],
];

test.each(['reading', 'excluded_reading'])(
  'a new reading and one of table %s: the one of the higher rank is used, and the other one is kept for explain',
  async (table) => {
    const { fill, run, rows } = await open();
    const timeOf = (place: number) => 10 + place;
    const at = (place: number, [value, ...rest]: Reading) => [1, timeOf(place), value, ...rest];
    await fill(table, READING, ...pairs.map(([, stored], place) => at(place, stored)));
    await fill('incoming', INCOMING, ...pairs.map(([, , arrived], place) => at(place, arrived)));
    // Stored, but of another time or series; and new, but without a stored one.
    await fill(table, READING, [1, 9, 1, 1, 1, 1], [2, 10, 1, 1, 1, 1]);
    await fill('incoming', INCOMING, [1, 9, 2, 2, 2, 2], [3, 10, 2, 2, 2, 2]);
    await run('collect_superseded', bounds);
    const found = await rows(
      'superseded_now',
      'event_time_ms, stored_wins, value, message_id, stream_offset, batch_id, new_offset, new_batch_id',
    );
    expect(found).toEqual(
      pairs.map(([, , , wins, loser, moved = [null, null]], place) => [
        timeOf(place),
        wins === 'stored',
        ...loser,
        ...moved,
      ]),
    );
    await run('store_superseded');
    expect(await rows('superseded_reading', 'event_time_ms, value')).toEqual(
      pairs.map(([, , , , [value]], place) => [timeOf(place), value]),
    );
    await run(table === 'reading' ? 'update_repeated_reading' : 'update_repeated_exclusion', bounds);
    await run('drop_losing_incoming');
    const wonBy = (winner: string) =>
      pairs.flatMap(([, , , wins], place) => (wins === winner ? [timeOf(place)] : []));
    expect((await rows('incoming WHERE series_id = 1', 'event_time_ms')).flat()).toEqual([
      9,
      ...wonBy('new'),
    ]);
    await run(table === 'reading' ? 'delete_replaced_readings' : 'delete_replaced_exclusions', bounds);
    expect(await rows(`${table} WHERE series_id = 1`, 'event_time_ms, stream_offset, batch_id')).toEqual([
      [9, 1, 1],
      ...pairs.flatMap(([, [, , offset, batch], , wins, , moved], place) =>
        wins === 'stored' ? [[timeOf(place), ...(moved ?? [offset, batch])]] : [],
      ),
    ]);
    expect(await rows('incoming WHERE series_id = 3', 'value')).toEqual([[2]]);
    expect(await rows(`${table} WHERE series_id = 2`, 'value')).toEqual([[1]]);
  },
);

/** The readings of source a of device 1 from 20 to before 40 are excluded. */
async function openExcluded() {
  const tables = await open();
  const { fill } = tables;
  const columns = 'correction_id, kind, device, source, from_ms, to_ms, undoes';
  await fill(
    'correction',
    columns,
    [1, 'exclude', one, 'a', 20, 40, null],
    [2, 'exclude', one, 'a', 0, 100, null],
    [3, 'undo', one, 'a', 0, 100, 2],
    [4, 'set', one, 'a', 0, 100, null],
  );
  await fill(
    'series',
    'series_id, stream_id, device, source, first_ms, last_ms',
    [1, 1, one, 'a', 5, 90],
    [2, 1, one, 'b', 5, 90],
    [3, 1, two, 'a', 5, 90],
  );
  await fill('energy_stream', 'stream_id, identity', [1, '{}']);
  return tables;
}

test('new readings of an excluded time are stored as excluded, and no later chapter sees them', async () => {
  const { fill, run, rows } = await openExcluded();
  expect(await run('count_exclusions')).toEqual([{ count: 1 }]);
  await fill(
    'incoming',
    INCOMING,
    ...[19, 20, 39, 40].flatMap((ms) => [1, 2, 3].map((id) => [id, ms, 5, 6, 7, 8])),
  );
  await run('store_incoming_exclusions');
  await run('drop_incoming_exclusions');
  expect(await rows('excluded_reading', READING)).toEqual([
    [1, 20, 5, 6, 7, 8],
    [1, 39, 5, 6, 7, 8],
  ]);
  expect((await rows('incoming WHERE series_id = 1', 'event_time_ms')).flat()).toEqual([19, 40]);
  expect(await rows('incoming', 'event_time_ms')).toHaveLength(10);
});

test.each([
  [
    'first',
    [
      [1, 10, 5, 6, 7, 8],
      [1, 90, 5, 6, 7, 8],
    ],
    [10, 90],
  ],
  [
    'last',
    [
      [1, 5, 5, 6, 7, 8],
      [1, 60, 5, 6, 7, 8],
    ],
    [5, 60],
  ],
])('the %s used reading of a series is found again if some are excluded', async (_end, readings, wanted) => {
  const { fill, run, rows } = await openExcluded();
  await fill('incoming_series', 'stream_id INTEGER, device UUID', [1, one]);
  await fill('reading', READING, ...readings, [2, 30, 5, 6, 7, 8], [3, 30, 5, 6, 7, 8]);
  await run('update_excluded_bounds');
  expect(await rows('series', 'series_id, first_ms, last_ms')).toEqual([
    [1, ...wanted],
    // Nothing of them is excluded.
    [2, 5, 90],
    [3, 5, 90],
  ]);
});

test('new readings are stored in the order of time, then of their series', async () => {
  const { fill, run, rows } = await open();
  await fill('incoming', INCOMING, [2, 20, 1, 2, 3, 4], [1, 20, 5, 6, 7, 8], [3, 10, 9, 10, 11, 12]);
  await run('store_readings');
  expect(await rows('(SELECT row_number() OVER () AS place, * FROM reading)', `place, ${READING}`)).toEqual([
    [1, 3, 10, 9, 10, 11, 12],
    [2, 1, 20, 5, 6, 7, 8],
    [3, 2, 20, 1, 2, 3, 4],
  ]);
});
