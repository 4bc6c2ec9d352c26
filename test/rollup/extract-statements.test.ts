import { expect, test } from 'vitest';
import { workBounds } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 10 around readings, each over a few rows. Golden cases have values. */
const open = chapterTables();
const [one, two] = [deviceOf(1), deviceOf(2)];
const DAY_MS = 86_400_000;
const EXTRACTED =
  'stream_id INTEGER, device UUID, source_id INTEGER, event_time_ms BIGINT, value DOUBLE, reason VARCHAR, "text" VARCHAR, stream_offset UBIGINT, batch_id BIGINT';

test.each([
  [0n, 11, 10, 1],
  [29n, 11, 10, 1],
  [30n, 12, 30, 2],
  [59n, 12, 30, 2],
  [60n, 13, 60, 3],
])(
  'the next batches of at most %s messages are whole ones, but at least one',
  async (messages_max, batch_id, messages, batches) => {
    const { fill, run } = await open();
    await fill(
      'energy_stream',
      'stream_id, settings, batch_id',
      [1, '{}', 10],
      [2, '{}', 15],
      [3, null, 4],
      [4, null, 20],
    );
    await fill('batch', 'batch_id, message_count', [9, 5], [10, 5], [11, 10], [12, 20], [13, 30]);
    const [next] = await run('find_next_batches', { messages_max });
    expect(next).toMatchObject({
      batch_id,
      messages,
      batches,
      all_taken_id: 10,
      any_taken_id: 20,
      newest_id: 13,
      archived: false,
      has_pending: false,
      set_aside: 0,
      corrections: 0,
    });
  },
);

test('nothing is next without new batches, and everything without streams', async () => {
  const { fill, run } = await open();
  await fill('batch', 'batch_id, message_count', [1, 5], [2, 6]);
  expect(await run('find_next_batches', { messages_max: 100n })).toMatchObject([
    { batch_id: 2, messages: 11, all_taken_id: null },
  ]);
  await fill('energy_stream', 'stream_id, settings, batch_id', [1, '{}', 2]);
  expect(await run('find_next_batches', { messages_max: 100n })).toMatchObject([
    { batch_id: null, messages: null, batches: 0, newest_id: 2 },
  ]);
});

test('the next batches come with what the caller compares: streams, sources, waiting work', async () => {
  const { fill, run } = await open();
  const next = async () => (await run('find_next_batches', { messages_max: 1n }))[0]!;
  const before = await next();
  await fill('energy_stream', 'stream_id, identity, settings', [1, 'a', 'b']);
  const withStream = await next();
  expect(withStream.streams).not.toBe(before.streams);
  await fill('declared_source', 'device, source', [one, 'a']);
  const withSource = await next();
  expect(withSource.sources).not.toBe(before.sources);
  expect(withSource.streams).toBe(withStream.streams);
  await fill('pending_change', 'device', [one]);
  await fill('set_aside', 'device', [one], [two]);
  await fill('correction', 'correction_id', [1], [2], [3]);
  await fill('archived_message', 'batch_id', [7]);
  expect(await next()).toMatchObject({ archived: true, has_pending: true, set_aside: 2, corrections: 3 });
});

test('the configured streams advance to a batch, and never go back', async () => {
  const { fill, run, rows } = await open();
  await fill('stream_setting', 'stream_id INTEGER', [1], [2]);
  await fill('energy_stream', 'stream_id, batch_id', [1, 5], [2, 9], [3, 5]);
  await run('advance_streams', { batch_id: 7n });
  expect(await rows('energy_stream', 'stream_id, batch_id')).toEqual([
    [1, 7],
    [2, 9],
    [3, 5],
  ]);
});

test('messages of the lake are deleted when every configured stream has read them', async () => {
  const { fill, run, rows } = await open();
  await fill('energy_stream', 'stream_id, settings, batch_id', [1, '{}', 5], [2, '{}', 9], [3, null, 1]);
  await fill('archived_message', 'batch_id, event_time_ms', [4, 40], [5, 50], [6, 60]);
  expect(await run('read_archived_range', { upto: 5n })).toEqual([{ low_ms: 40, high_ms: 50 }]);
  expect(await run('read_archived_range', { upto: 3n })).toEqual([{ low_ms: null, high_ms: null }]);
  await run('delete_archived');
  expect((await rows('archived_message', 'batch_id')).flat()).toEqual([6]);
});

test.each(['reading', 'excluded_reading', 'superseded_reading'])(
  'a reading of the lake that is in table %s already is dropped, by its stream, device, offset and time',
  async (table) => {
    const { fill, run, rows } = await open();
    await fill('series', 'series_id, stream_id, device', [5, 1, one]);
    await fill(table, 'series_id, event_time_ms, stream_offset', [5, 20, 7], [5, 51, 7]);
    await fill('archived_message', 'batch_id', [3]);
    const known = [1, one, -1, 20, 1, null, null, 7, 3];
    const others = [
      [2, one, -1, 20, 2, null, null, 7, 3],
      [1, two, -1, 20, 3, null, null, 7, 3],
      [1, one, -1, 21, 4, null, null, 7, 3],
      [1, one, -1, 20, 5, null, null, 8, 3],
      // Not of the lake, rejected, and not in the searched time.
      [1, one, -1, 20, 6, null, null, 7, 4],
      [1, one, -1, 20, 7, 'future', null, 7, 3],
      [1, one, -1, 51, 8, null, null, 7, 3],
    ];
    await fill('extracted', EXTRACTED, known, ...others);
    await run('drop_reread_readings', { low_ms: 10n, high_ms: 50n });
    expect((await rows('extracted', 'value')).flat()).toEqual([2, 3, 4, 5, 6, 7, 8]);
  },
);

test('a rejection of the lake that was counted already is dropped, by its device, source, field, reason and time', async () => {
  const { fill, run, rows } = await open();
  await fill('stream_setting', 'stream_id INTEGER, field VARCHAR', [1, 'wh'], [2, 'w']);
  await fill('name', 'name_id, name', [9, 'roof']);
  await fill(
    'rejected_reading',
    'device, source, field, reason, first_ms, last_ms',
    [one, 'roof', 'wh', 'future', 20, 30],
    [one, 'default', 'wh', 'null', 20, 30],
    [one, 'roof', 'wh', 'not_a_number', 60, 70],
  );
  await fill('archived_message', 'batch_id', [3]);
  const row = (
    value: number,
    more: {
      stream?: number;
      device?: string;
      source?: number;
      ms?: number;
      reason?: string | null;
      batch?: number;
    },
  ) => [
    more.stream ?? 1,
    more.device ?? one,
    more.source ?? 9,
    more.ms ?? 20,
    value,
    more.reason === undefined ? 'future' : more.reason,
    null,
    7,
    more.batch ?? 3,
  ];
  await fill(
    'extracted',
    EXTRACTED,
    row(1, {}),
    row(2, { ms: 30 }),
    row(3, { source: -1, reason: 'null' }),
    row(11, { stream: 2 }),
    row(12, { device: two }),
    row(13, { source: -1 }),
    row(14, { ms: 19 }),
    row(15, { ms: 31 }),
    row(16, { reason: 'null' }),
    row(17, { batch: 4 }),
    row(18, { reason: null }),
    row(19, { ms: 65, reason: 'not_a_number' }),
  );
  await run('drop_reread_rejections', { low_ms: 10n, high_ms: 50n });
  expect((await rows('extracted', 'value')).flat()).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 19]);
});

test('rejected readings are counted by UTC day, import, device, source, field and reason, once for all streams that read them', async () => {
  const { fill, run, rows } = await open();
  await fill('stream_setting', 'stream_id INTEGER, field VARCHAR', [1, 'wh'], [2, 'wh'], [3, 'w']);
  await fill('name', 'name_id, name', [9, 'roof']);
  await fill(
    'batch',
    'batch_id, origin',
    [3, 'stream'],
    [5_000_000_001, 'import:x:5'],
    [5_000_000_002, 'import:x:5'],
  );
  const row = (
    stream: number,
    device: string | null,
    source: number,
    ms: number,
    reason: string | null,
    offset: number,
    batch = 3,
  ) => [stream, device, source, ms, null, reason, `at ${ms}`, offset, batch];
  await fill(
    'extracted',
    EXTRACTED,
    row(1, one, -1, 30, 'future', 8),
    row(2, one, -1, 30, 'future', 8),
    row(1, one, -1, 20, 'future', 9),
    row(1, one, 9, 20, 'future', 10),
    row(1, two, -1, 20, 'future', 11),
    row(1, null, -1, 20, 'no_device', 12),
    row(3, one, -1, 20, 'future', 13),
    row(1, one, -1, 20, 'null', 14),
    row(1, one, -1, 20, 'future', 1, 5_000_000_001),
    row(1, one, -1, 25, 'future', 2, 5_000_000_002),
    row(1, one, -1, 20, null, 15),
  );
  const columns =
    'import_id, device::VARCHAR, source, field, reason, readings, first_ms, last_ms, list_transform(samples, s -> s."text")::VARCHAR';
  const count = async (now_ms: bigint) => {
    await run('collect_rejected', { now_ms });
    await run('add_rejected_counts');
    await run('mark_rejections_dirty');
  };
  await count(BigInt(2 * DAY_MS + 5));
  const first = [
    [0, one, 'default', 'w', 'future', 1, 20, 20, '[at 20]'],
    [0, one, 'default', 'wh', 'future', 2, 20, 30, '[at 30, at 20]'],
    [0, one, 'default', 'wh', 'null', 1, 20, 20, '[]'],
    [0, one, 'roof', 'wh', 'future', 1, 20, 20, '[at 20]'],
    [0, two, 'default', 'wh', 'future', 1, 20, 20, '[at 20]'],
    [0, null, 'default', 'wh', 'no_device', 1, 20, 20, '[at 20]'],
    [5, one, 'default', 'wh', 'future', 2, 20, 25, '[at 20, at 25]'],
  ];
  const all = () => rows('rejected_reading', columns);
  expect(await all()).toEqual(first);
  expect(await rows('rejected_reading', 'DISTINCT day_start_ms')).toEqual([[2 * DAY_MS]]);
  await run('collect_rejected', { now_ms: BigInt(2 * DAY_MS + 6) });
  await run('add_rejected_counts');
  expect((await all()).map(([, , , , , readings]) => readings)).toEqual(
    first.map(([, , , , , readings]) => 2 * Number(readings)),
  );
  // Another day has counts of its own.
  await count(BigInt(3 * DAY_MS));
  expect(await all()).toHaveLength(2 * first.length);
  expect(await rows('dirty_partition', 'dataset, partition')).toEqual([
    ['rejected_reading', '1970-01-03'],
    ['rejected_reading', '1970-01-04'],
  ]);
});

test('counts of one day are added: the first and the last time, and samples up to their number', async () => {
  const { fill, run, rows } = await open();
  await fill('stream_setting', 'stream_id INTEGER, field VARCHAR', [1, 'wh']);
  const add = async (...times: number[]) => {
    await fill(
      'extracted',
      EXTRACTED,
      ...times.map((ms) => [1, one, -1, ms, null, 'future', `at ${ms}`, ms, 3]),
    );
    await run('collect_rejected', { now_ms: 5n });
    await run('add_rejected_counts');
  };
  await add(50, 60);
  expect(await rows('rejected_reading', 'readings, first_ms, last_ms, len(samples)')).toEqual([
    [2, 50, 60, 2],
  ]);
  const many = Array.from({ length: workBounds.samples_max }, (_, place) => 20 + place);
  await add(...many);
  // The readings of the first call are still extracted, so they are counted again.
  expect(
    await rows('rejected_reading', 'readings, first_ms, last_ms, len(samples), samples[1]."text"'),
  ).toEqual([[4 + many.length, 20, 60, workBounds.samples_max, 'at 50']]);
});
