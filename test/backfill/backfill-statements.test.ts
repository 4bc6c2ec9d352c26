import { blobValue } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { type TableRows, warehouseTables } from '../warehouse/warehouse-tables.ts';

/** The statements of backfills, each over a few rows. from-archive.test.ts has those that read the lake. */
const run = warehouseTables();

const backfills = (...rows: string[]): TableRows => [
  'backfill_id, source, request, state, note, started_at_ms, updated_at_ms',
  ...rows,
];
/** A backfill with its request and its state, that began at 5. */
const backfill = (id: number, state = 'running', request = 'r') =>
  `${id}, 'stream', '${request}', '${state}', 'note ${id}', 5, 5`;
const pieces = (...rows: string[]): TableRows => [
  'backfill_id, chunk_no, gap_id, from_ms, to_ms, messages_expected, messages_landed, state, is_whole, updated_at_ms',
  ...rows,
];
const piece = (
  backfillId: number,
  number: number,
  { gap = 'NULL', expected = 'NULL', landed = 0, state = 'pending' } = {},
) => `${backfillId}, ${number}, ${gap}, ${number}0, ${number}9, ${expected}, ${landed}, '${state}', true, 5`;
const batches = (...rows: string[]): TableRows => [
  'batch_id, origin, message_count, quarantined_count, first_store_time_ms, last_store_time_ms, landed_at_ms',
  ...rows,
];
const batch = (id: number, origin: string, messages = 1, [first, last] = [id * 10, id * 10 + 9]) =>
  `${id}, '${origin}', ${messages}, 0, ${first}, ${last}, 1`;
const messages = (...batchIds: number[]): TableRows => [
  'batch_id, table_id, kind, event_time_ms, store_time_ms, field_ids, numbers',
  ...batchIds.map((id) => `${id}, 0, 0, 0, 0, [], []`),
];
const quarantine = (...rows: string[]): TableRows => [
  'batch_id, stream_offset, stage, reason, bytes, quarantined_at_ms',
  ...rows.map((row) => `${row}, 1`),
];
/** The state of pieces, as text. */
const statesOf = (columns: string) => `SELECT ${columns} FROM backfill_chunk ORDER BY backfill_id, chunk_no`;

test('the backfill that continues is the newest that runs with the same request', async () => {
  const find = (...rows: string[]) =>
    run({ backfill: backfills(...rows) }, 'backfill/find_unfinished', { request: 'r' });
  expect(await find(backfill(1), backfill(3), backfill(2))).toEqual([[3, 'note 3']]);
  expect(await find(backfill(1, 'done'), backfill(2, 'cancelled'), backfill(3, 'running', 'other'))).toEqual(
    [],
  );
});

test('backfills are numbered from 1 on', async () => {
  expect(await run({}, 'backfill/find_next_backfill_id')).toEqual([[1]]);
  expect(
    await run({ backfill: backfills(backfill(4), backfill(2)) }, 'backfill/find_next_backfill_id'),
  ).toEqual([[5]]);
});

test('a new backfill runs, and began when it was asked for', async () => {
  const begun = await run(
    {},
    'backfill/begin_backfill',
    {
      backfill_id: 2,
      source: 's',
      request: 'r',
      from_ms: 3,
      to_ms: 4,
      table_name: 't',
      note: 'n',
      now_ms: 5,
    },
    'FROM backfill',
  );
  expect(begun).toEqual([[2, 's', 'r', 3, 4, 't', 'running', 'n', 5, 5]]);
});

test('a new piece waits, and is thought to be whole', async () => {
  const added = await run(
    {},
    'backfill/add_piece',
    { backfill_id: 2, chunk_no: 1, gap_id: 7, from_ms: 3, to_ms: 4, messages_expected: 9, now_ms: 5 },
    'FROM backfill_chunk',
  );
  expect(added).toEqual([[2, 1, 7, 3, 4, 9, 0, 'pending', true, 5]]);
});

test('the state and the pieces are those of one backfill, in the order of the pieces', async () => {
  const tables = {
    backfill: backfills(backfill(1, 'done'), backfill(2, 'cancelled')),
    backfill_chunk: pieces(
      piece(1, 1),
      piece(2, 3),
      piece(2, 1, { gap: '7', expected: '8', landed: 9, state: 'done' }),
      piece(2, 2),
    ),
  };
  expect(await run(tables, 'backfill/find_state', { backfill_id: 2 })).toEqual([['cancelled', 'note 2']]);
  expect(await run(tables, 'backfill/find_pieces', { backfill_id: 2 })).toEqual([
    [1, 7, 10, 19, 8, 9, 'done', true],
    [2, null, 20, 29, null, 0, 'pending', true],
    [3, null, 30, 39, null, 0, 'pending', true],
  ]);
});

test('a backfill that makes progress is touched, and no other one', async () => {
  const touched = await run(
    { backfill: backfills(backfill(1), backfill(2)) },
    'backfill/touch_backfill',
    { backfill_id: 2, now_ms: 8 },
    'SELECT backfill_id, updated_at_ms, started_at_ms FROM backfill ORDER BY 1',
  );
  expect(touched).toEqual([
    [1, 5, 5],
    [2, 8, 5],
  ]);
});

test('a backfill ends once, and no other one ends with it', async () => {
  const tables = { backfill: backfills(backfill(1), backfill(2), backfill(3, 'done')) };
  const finish = (id: number, then?: string) =>
    run(tables, 'backfill/finish_backfill', { backfill_id: id, state: 'cancelled', now_ms: 8 }, then);
  expect([await finish(2), await finish(3), await finish(4)]).toEqual([[[2]], [], []]);
  expect(await finish(2, 'SELECT state, updated_at_ms FROM backfill ORDER BY backfill_id')).toEqual([
    ['running', 5],
    ['cancelled', 8],
    ['done', 5],
  ]);
  expect(await finish(3, 'SELECT state FROM backfill WHERE backfill_id = 3')).toEqual([['done']]);
});

test('the list of backfills has the newest first, with the messages of their pieces and of their quarantine', async () => {
  const listed = await run(
    {
      backfill: [
        'backfill_id, source, request, from_ms, to_ms, table_name, state, note, started_at_ms, updated_at_ms',
        `1, 'stream', 'r', 3, 4, 't', 'running', 'n', 5, 6`,
        `12, 'quarantine', 'r', NULL, NULL, NULL, 'done', NULL, 7, 8`,
      ],
      backfill_chunk: pieces(
        piece(1, 0, { gap: '7', expected: '40', landed: 20, state: 'done' }),
        piece(1, 1, { gap: '7', expected: '50', landed: 1000 }),
        piece(1, 2, { gap: '8' }),
      ),
      batch: batches(
        // The batches of a piece that is done are counted already.
        batch(1, 'backfill:1:0', 20),
        batch(2, 'backfill:1:1', 3),
        batch(3, 'backfill:1:1', 4),
        batch(4, 'backfill:1:quarantine:9', 100),
        batch(5, 'backfill:12:quarantine:9', 200),
        batch(6, 'backfill:12:quarantine:8', 300),
        batch(7, 'backfill:12:1', 5_000),
        batch(8, 'stream', 5_000),
      ),
    },
    'backfill/list_backfills',
  );
  expect(listed).toEqual([
    [12, 'quarantine', null, null, null, 'done', null, 7, 8, 0, 0, null, 500, 0],
    [1, 'stream', 3, 4, 't', 'running', 'n', 5, 6, 3, 1, 90, 127, 2],
  ]);
});

test('open gaps are listed in their order, with what is known of them', async () => {
  const listed = await run(
    {
      gap: [
        'gap_id, origin, reason, from_time_ms, to_time_ms, detected_at_ms, closed_at_ms, note',
        `3, 'stream', 'expired', NULL, NULL, 4, NULL, NULL`,
        `1, 'stream', 'lost_tail', 2, 3, 5, NULL, 'gone'`,
        `2, 'stream', 'expired', 2, 3, 6, 7, NULL`,
        `4, 'import:a', 'expired', 2, 3, 6, NULL, NULL`,
      ],
    },
    'backfill/find_gaps',
  );
  expect(listed).toEqual([
    [1, 'lost_tail', 2, 3, 5, 'gone'],
    [3, 'expired', null, null, 4, null],
  ]);
});

test('the reason why a gap stays is stored with this gap', async () => {
  const noted = await run(
    {
      gap: [
        'gap_id, origin, reason, detected_at_ms, note',
        `1, 'stream', 'expired', 0, 'old'`,
        `2, 'stream', 'expired', 0, 'old'`,
      ],
    },
    'backfill/note_gap',
    { gap_id: 2, note: 'new' },
    'SELECT note FROM gap ORDER BY gap_id',
  );
  expect(noted).toEqual([['old'], ['new']]);
});

/** Batch 2 has the store times 20 to 29, and so on. */
test.each<[kept: number[], range: [first: number, last: number], isTrimmed: boolean]>([
  [[3], [15, 19], false],
  [[3], [15, 20], true],
  [[3], [29, 35], true],
  [[3], [30, 35], false],
  [[2, 3], [20, 29], false],
  [[], [30, 39], true],
  [[], [40, 49], false],
])(
  'if the warehouse has the messages of batches %j, messages of %j have left it: %j',
  async (kept, [first_ms, last_ms], isTrimmed) => {
    const found = await run(
      {
        batch: batches(batch(1, 'stream', 0, [0, 100]), batch(2, 'stream'), batch(3, 'stream')),
        ...(kept.length > 0 && { message: messages(...kept) }),
      },
      'backfill/find_trimmed',
      { first_ms, last_ms },
    );
    expect(found).toEqual([[isTrimmed]]);
  },
);

test('a message is in quarantine by its offset, or without an offset by its bytes, if it could not land', async () => {
  const tables = {
    quarantine: quarantine(
      `1, 5, 'land', 'malformed', 'a'::BLOB`,
      `1, 6, 'rollup', 'malformed', 'b'::BLOB`,
      `1, NULL, 'land', 'malformed', 'c'::BLOB`,
      `1, NULL, 'rollup', 'malformed', 'd'::BLOB`,
    ),
  };
  expect(await run(tables, 'backfill/find_quarantined_offsets', { offsets: [5n, 6n, 7n] })).toEqual([[5]]);
  const known = async (text: string) =>
    (await run(tables, 'backfill/find_quarantined_bytes', { bytes: blobValue(Buffer.from(text)) }))[0]![0];
  expect([await known('a'), await known('c'), await known('d'), await known('e')]).toEqual([
    false,
    true,
    false,
    false,
  ]);
});

test('a piece is marked alone, and ends with the messages of its own batches', async () => {
  const tables = {
    backfill_chunk: pieces(piece(1, 1), piece(2, 1), piece(2, 2, { landed: 9 })),
    batch: batches(batch(1, 'backfill:2:1', 3), batch(2, 'backfill:2:1', 4), batch(3, 'backfill:2:11', 50)),
  };
  expect(
    await run(tables, 'backfill/mark_not_whole', { backfill_id: 2, chunk_no: 1 }, statesOf('is_whole')),
  ).toEqual([[true], [false], [true]]);
  const states = statesOf('state, messages_landed, updated_at_ms');
  const finish = (chunk_no: number) =>
    run(
      tables,
      'backfill/finish_piece',
      { backfill_id: 2, chunk_no, origin: `backfill:2:${chunk_no}`, now_ms: 8 },
      states,
    );
  const [before, other, last] = [
    ['pending', 0, 5],
    ['pending', 0, 5],
    ['pending', 9, 5],
  ];
  expect(await finish(1)).toEqual([before, ['done', 7, 8], last]);
  expect(await finish(2)).toEqual([before, other, ['done', 0, 8]]);
  expect(
    await run(
      tables,
      'backfill/finish_archived',
      { backfill_id: 2, chunk_no: 1, messages: 6, now_ms: 8 },
      states,
    ),
  ).toEqual([before, ['done', 6, 8], last]);
});

test('the position of a piece is forgotten when it ends, and those of a backfill when it is cancelled', async () => {
  const tables = {
    checkpoint: [
      'origin, next_offset, batch_id, updated_at_ms',
      ...['stream', 'backfill:1:1', 'backfill:1:2', 'backfill:12:1'].map((origin) => `'${origin}', 0, 0, 0`),
    ] as TableRows,
  };
  const left = 'SELECT origin FROM checkpoint ORDER BY origin';
  expect(await run(tables, 'backfill/forget_position', { origin: 'backfill:1:1' }, left)).toEqual([
    ['backfill:12:1'],
    ['backfill:1:2'],
    ['stream'],
  ]);
  expect(await run(tables, 'backfill/forget_positions', { backfill_id: 1 }, left)).toEqual([
    ['backfill:12:1'],
    ['stream'],
  ]);
});

test('the warehouse keeps messages from a batch on, or from the next one', async () => {
  const keptFrom = async (ids: number[], kept: number[]) => {
    const rows = ids.map((id) => batch(id, 'stream'));
    const tables = {
      ...(ids.length > 0 && { batch: batches(...rows) }),
      ...(kept.length > 0 && { message: messages(...kept) }),
    };
    return (await run(tables, 'backfill/find_kept_batch'))[0]![0];
  };
  expect([await keptFrom([1, 2, 3], [3, 2]), await keptFrom([1, 2, 3], []), await keptFrom([], [])]).toEqual([
    2, 4, 0,
  ]);
});

const archived: TableRows = [
  'batch_id, table_id, kind, event_time_ms, store_time_ms, field_ids, numbers',
  '4, 0, 0, 0, 30, [], []',
  '4, 0, 0, 0, 10, [], []',
  '5, 0, 0, 0, 99, [], []',
];

test('messages of the lake enter the ledger as one batch, with their store times', async () => {
  const entered = await run(
    { archived_message: archived },
    'backfill/enter_archived',
    { batch_id: 4, origin: 'archive:1', now_ms: 8 },
    'SELECT batch_id, origin, log_epoch, message_count, quarantined_count, first_store_time_ms, last_store_time_ms, landed_at_ms FROM batch',
  );
  expect(entered).toEqual([[4, 'archive:1', null, 2, 0, 10, 30, 8]]);
});

test('all messages of the lake that wait are counted', async () => {
  expect(await run({ archived_message: archived }, 'backfill/count_archived')).toEqual([[3]]);
});

test('the messages in quarantine that are read again are those of the stream that could not be decoded', async () => {
  const tables = {
    batch: batches(batch(1, 'stream'), batch(2, 'backfill:1:1'), batch(3, 'import:a'), batch(4, 'stream')),
    quarantine: quarantine(
      `1, 1, 'land', 'malformed', 'a'::BLOB`,
      `1, 2, 'land', 'malformed', 'b'::BLOB`,
      `1, 3, 'land', 'cannot_land', 'c'::BLOB`,
      `1, 4, 'rollup', 'malformed', 'd'::BLOB`,
      `2, 5, 'land', 'malformed', 'e'::BLOB`,
      `3, 6, 'land', 'malformed', 'f'::BLOB`,
      `4, 7, 'land', 'malformed', 'a'::BLOB`,
    ),
  };
  const find = async (after_batch_id: number, after_key: string, rows_max = 9) =>
    (await run(tables, 'backfill/find_quarantined_messages', { after_batch_id, after_key, rows_max })).map(
      ([id, key]) => [id, key],
    );
  // By the MD5 sums of a, b and e, b comes before a.
  const [a, b, e] = [
    '0cc175b9c0f1b6a831c399e269772661',
    '92eb5ffee6ae2fec3ad71c777531578f',
    'e1671797c52e15f763380b45e841ec32',
  ];
  expect(await find(-1, '')).toEqual([
    [1, a],
    [1, b],
    [2, e],
    [4, a],
  ]);
  expect(await find(1, a)).toEqual([
    [1, b],
    [2, e],
    [4, a],
  ]);
  expect(await find(2, e, 1)).toEqual([[4, a]]);
  const left = 'SELECT batch_id, stream_offset FROM quarantine ORDER BY 2';
  expect(await run(tables, 'backfill/release_quarantined', { batch_id: 1, keys: [a!, 'x'] }, left)).toEqual([
    [1, 2],
    [1, 3],
    [1, 4],
    [2, 5],
    [3, 6],
    [4, 7],
  ]);
});
