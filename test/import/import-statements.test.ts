import { expect, test } from 'vitest';
import {
  message,
  messages,
  names,
  other,
  own,
  series,
  stream,
  streams,
  type TableRows,
  warehouseTables,
} from '../warehouse/warehouse-tables.ts';

const found = warehouseTables();

/** Imports with their id, state, content, last batch, and when they changed. */
const imports = (
  ...rows: Array<[id: number, state: string, content?: string, last?: number | null, updated?: number]>
): TableRows => [
  'import_id, state, content_hash, last_batch_id, updated_at_ms, mapping_hash, path, table_name, file_bytes, rows_read, rows_landed, rows_rejected, rejected, started_at_ms',
  ...rows.map(
    ([id, state, content = '', last = null, updated = 0]) =>
      `${id}, '${state}', '${content}', ${last}, ${updated}, 'm', 'p${id}', 't', 1, 2, 3, 4, '{}', 5`,
  ),
];
const batches = (...ids: number[]): TableRows => [
  'batch_id, origin, message_count, quarantined_count, landed_at_ms',
  ...ids.map((id) => `${id}, 'import:p', 1, 0, 0`),
];
const readings = (...rows: Array<[series: number, batch: number, at?: number]>): TableRows => [
  'series_id, batch_id, event_time_ms, value',
  ...rows.map(([id, batch, at = 0]) => `${id}, ${batch}, ${at}, 1`),
];
const firsts = (rows: unknown[][]) => rows.map(([first]) => first);

test('an import of a file is the newest one with its content and its mapping that was not dropped', async () => {
  const tables = {
    import_file: imports([1, 'landed', 'a'], [2, 'landing', 'a'], [3, 'dropped', 'a'], [4, 'landed', 'b']),
  };
  const idsOf = async (content_hash: string, mapping_hash = 'm') =>
    firsts(await found(tables, 'import/find_import', { content_hash, mapping_hash })).map(Number);
  expect(await idsOf('a')).toEqual([2]);
  expect(await idsOf('a', 'n')).toEqual([]);
  expect(firsts(await found(tables, 'import/find_unfinished')).map(Number)).toEqual([2]);
});

test('the batches of the next import come after those of all imports and of the ledger', async () => {
  const next = async (tables: Record<string, TableRows>, last_batch_id: number) =>
    firsts(await found(tables, 'import/find_next_import_id', { last_batch_id, batches_max: 100 })).map(
      Number,
    );
  expect(await next({}, 0)).toEqual([1]);
  expect(await next({}, 99)).toEqual([1]);
  expect(await next({}, 100)).toEqual([2]);
  expect(await next({ import_file: imports([7, 'dropped']) }, 250)).toEqual([8]);
});

test('the newest imports are those that have landed since an instant', async () => {
  const tables = {
    import_file: imports(
      [1, 'landed', '', 0, 9],
      [2, 'landed', '', 0, 10],
      [3, 'landing', '', 0, 11],
      [4, 'dropped', '', 0, 11],
      [5, 'landed', '', 0, 11],
    ),
  };
  const newest = async (imports_max: number) =>
    firsts(await found(tables, 'import/find_newest', { since_ms: 10, imports_max }));
  expect(await newest(9)).toEqual([5, 2]);
  expect(await newest(1)).toEqual([5]);
});

test('the batches of an import are those of the ledger up to its last one, if it has landed', async () => {
  const tables = {
    import_file: imports([1, 'landed', '', 103], [2, 'landed', '', 201], [3, 'landing', '', 301]),
    batch: batches(100, 101, 103, 104, 201, 301),
  };
  const batchesOf = async (...ids: number[]) =>
    firsts(await found(tables, 'import/find_batches', { import_ids: ids, batches_max: 100 }));
  expect(await batchesOf(1, 3)).toEqual([101, 103]);
  expect(await batchesOf(2, 1)).toEqual([101, 103, 201]);
});

test('the batches of a file enter the ledger with their messages and those in quarantine', async () => {
  const tables = {
    message: messages(
      message(10, { at: 1 }),
      message(11, { at: 3 }),
      message(11, { at: 2 }).replace('11, 11', '11, 12'),
      message(14, { at: 1 }),
    ),
    quarantine: [
      'batch_id, stage, reason, quarantined_at_ms',
      ...[11, 12, 12, 14].map((id) => `${id}, 'landing', 'bad', 0`),
    ] satisfies TableRows,
  };
  const entered = await found(
    tables,
    'import/enter_batches',
    { first_batch_id: 11, last_batch_id: 13, origin: 'import:p', now_ms: 9 },
    `SELECT batch_id::INTEGER, origin, message_count::INTEGER, quarantined_count::INTEGER,
      first_store_time_ms::INTEGER, last_store_time_ms::INTEGER, landed_at_ms::INTEGER FROM batch`,
  );
  expect(entered).toEqual([
    [11, 'import:p', 2, 1, 2, 3, 9],
    [12, 'import:p', 0, 2, null, null, 9],
  ]);
  const last = async (first_batch_id: number, last_batch_id: number) =>
    firsts(
      await found({ batch: batches(10, 12, 14) }, 'import/find_last_batch', {
        first_batch_id,
        last_batch_id,
      }),
    ).map((id) => (id === null ? null : Number(id)));
  expect(await last(10, 13)).toEqual([12]);
  expect(await last(15, 19)).toEqual([null]);
});

test('an import that ends forgets its own position only', async () => {
  const position = (origin: string) => `'${origin}', 'e', 0, 0, 0`;
  const tables = {
    checkpoint: [
      'origin, log_epoch, next_offset, batch_id, updated_at_ms',
      ...['import:a:2', 'import:a:12', 'import:b:21', 'stream', 'x:2'].map(position),
    ] satisfies TableRows,
  };
  const rest = 'SELECT origin FROM checkpoint ORDER BY origin';
  expect(firsts(await found(tables, 'import/forget_position', { import_id: 2 }, rest))).toEqual([
    'import:a:12',
    'import:b:21',
    'stream',
    'x:2',
  ]);
});

test('the days and devices of batches are those of their telemetry, and of readings if it is deleted', async () => {
  const tables = {
    message: messages(
      message(1, { at: 500 }),
      message(2, { at: 700, device: `'${other}'` }),
      message(3, { at: 100, kind: 1 }),
      message(4, { at: 50 }),
    ),
    series: series(`1, 1, '${own}', 'a', 0, 0, 1`, `2, 1, '${other}', 'b', 0, 0, 1`),
    reading: readings([1, 5, 300], [2, 5, 900], [1, 6, 1]),
  };
  const rangeOf = (...ids: number[]) => found(tables, 'import/find_range', { batches: ids });
  expect(await rangeOf(1, 2, 3)).toEqual([[500, 700, 2]]);
  expect(await rangeOf(1, 5)).toEqual([[300, 900, 2]]);
  expect(await rangeOf(7)).toEqual([[null, null, 0]]);
});

test('the fields of batches are counted: numbers, and other values', async () => {
  const tables = {
    name: names('power', 'energy'),
    message: messages(
      message(1, { fields: '[0, 1]' }),
      message(2, { fields: '[0]', other: `'{"energy":"much","state":null}'` }),
      message(3, { other: `'{"broken'` }),
      message(4, { fields: '[0]', kind: 1 }),
      message(5, { fields: '[0]' }),
    ),
  };
  expect(await found(tables, 'import/count_fields', { batches: [1, 2, 3, 4] })).toEqual([
    ['energy', 2],
    ['power', 2],
    ['state', 1],
  ]);
});

test('the used readings of batches are counted by the streams that are configured', async () => {
  const tables = {
    energy_stream: streams(stream(1, 4, {}), stream(2, null, {}), stream(3, 2, {})),
    series: series(
      `1, 1, '${own}', 'a', 0, 0, 1`,
      `2, 1, '${other}', 'a', 0, 0, 1`,
      `3, 2, '${own}', 'a', 0, 0, 1`,
      `4, 3, '${own}', 'a', 0, 0, 1`,
    ),
    reading: readings([1, 1], [1, 2], [2, 1], [3, 1], [4, 1], [1, 3]),
  };
  expect(await found(tables, 'import/count_readings', { batches: [1, 2] })).toEqual([
    [2, 1],
    [4, 3],
  ]);
});

test('the rejected readings of imports are counted by field and reason', async () => {
  const rows = [
    `1, 'b', 'future', 2`,
    `1, 'b', 'future', 3`,
    `2, 'b', 'future', 4`,
    `1, 'b', 'empty', 5`,
    `1, 'a', 'future', 6`,
    `3, 'a', 'future', 7`,
  ];
  const tables = {
    rejected_reading: [
      'import_id, field, reason, readings, day_start_ms, source, first_ms, last_ms, samples',
      ...rows.map((row) => `${row}, 0, 's', 0, 0, []`),
    ] satisfies TableRows,
  };
  const counted = await found(tables, 'import/count_rejected', {
    batches: [101, 102, 201],
    batches_max: 100,
  });
  expect(counted).toEqual([
    ['a', 'future', 6],
    ['b', 'empty', 5],
    ['b', 'future', 9],
  ]);
});

test('the energy of the devices and sources of batches is added up by month and source', async () => {
  const days = [
    [own, 'a', '2026-10-30', 1],
    [own, 'a', '2026-10-31', 2],
    [own, 'a', '2026-11-01', 4],
    [own, 'a', '2026-11-02', 8],
    [other, 'a', '2026-11-01', 16],
    [other, 'default', '2026-11-01', 32],
    // Other sources, and a source of another device.
    [own, 'c', '2026-11-01', 64],
    [own, 'default', '2026-11-01', 128],
  ] as const;
  const tables = {
    name: names('a', 'c'),
    message: messages(
      message(1, { source: '0' }),
      message(2, { device: `'${other}'` }),
      message(3, { source: '1' }),
      message(1, { source: '1', kind: 1 }).replace('1, 1', '1, 9'),
    ),
    series: series(`1, 1, '${other}', 'a', 0, 0, 1`, `2, 1, '${own}', 'c', 0, 0, 1`),
    reading: readings([1, 2], [2, 3]),
    daily_energy: [
      'device, source, day, energy_wh, stream_id, flags, method, coverage, status, version, computed_at_ms, batch_id',
      ...days.map(
        ([device, source, day, wh]) => `'${device}', '${source}', '${day}', ${wh}, 1, 0, '', 1, '', 1, 0, 0`,
      ),
    ] satisfies TableRows,
  };
  const range = { first_day: '2026-10-31', last_day: '2026-11-01' };
  expect(await found(tables, 'import/sum_energy', { batches: [1, 2], ...range })).toEqual([
    ['2026-10', 'a', 2, 1, 1],
    ['2026-11', 'a', 20, 2, 1],
    ['2026-11', 'default', 32, 1, 1],
  ]);
});
