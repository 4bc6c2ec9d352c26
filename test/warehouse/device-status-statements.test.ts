import { expect, test } from 'vitest';
import { message, messages, other, own, type TableRows, warehouseTables } from './warehouse-tables.ts';

/** The statements of device states, each over a few rows. note-device-status.test.ts has them together. */
const run = warehouseTables();

/** A message with a state of a device. It happened 5 ms before it was stored. */
const told = (
  batch: number,
  offset: number,
  text: string | null,
  { device = own, kind = 1, storeMs = offset } = {},
) =>
  `${batch}, ${offset}, ${kind}, 0, '${device}', NULL, [], [], ${text === null ? 'NULL' : `'${text}'`}, ${storeMs - 5}, ${storeMs}`;
const state = (value: string, reason?: string) => JSON.stringify({ state: value, reason });
const [on, off] = [state('online'), state('offline', 'timeout')];
const known = (...rows: string[]): TableRows => ['device, state, since_ms, reason, last_seen_ms', ...rows];
const transitions = (...rows: string[]): TableRows => [
  'device, state, reason, event_time_ms, store_time_ms, stream_offset, batch_id',
  ...rows,
];
const batches = (...rows: Array<[id: number, origin: string, landedMs: number]>): TableRows => [
  'batch_id, origin, message_count, quarantined_count, landed_at_ms',
  ...rows.map(([id, origin, landedMs]) => `${id}, '${origin}', 1, 0, ${landedMs}`),
];

test('the batches that are due are those after the last one that was noted', async () => {
  expect(await run({}, 'device-status/find_pending')).toEqual([[-1, -1]]);
  const tables = {
    progress: ['stage, batch_id, updated_at_ms', `'publish', 9, 0`, `'device_status', 3, 0`] as TableRows,
    batch: batches([5, 'stream', 0], [4, 'stream', 0]),
  };
  expect(await run(tables, 'device-status/find_pending')).toEqual([[3, 5]]);
});

/** Batches 3 and 4 are due. */
const store = (rows: string[], states?: TableRows) =>
  run(
    { message: messages(...rows), ...(states && { device_state: states }) },
    'device-status/store_transitions',
    { after_batch_id: 2n, through_batch_id: 4n },
    'SELECT batch_id::INTEGER, stream_offset::INTEGER, state, reason FROM device_status',
  );

test('a transition is a state that differs from the one before, in the order of landing', async () => {
  const rows = [
    told(4, 1, off),
    told(3, 12, off),
    told(3, 10, on),
    told(3, 11, on),
    told(4, 2, on),
    told(3, 13, state('offline', 'other')),
  ];
  expect(await store(rows)).toEqual([
    [3, 10, 'online', null],
    [3, 12, 'offline', 'timeout'],
    [4, 2, 'online', null],
  ]);
});

test('the first state of the batches is compared with the known state of its device', async () => {
  const rows = [told(3, 10, on), told(3, 11, on, { device: other }), told(3, 12, off)];
  expect(
    await store(rows, known(`'${own}', 'online', 0, NULL, 0`, `'${other}', 'offline', 0, NULL, 0`)),
  ).toEqual([
    [3, 11, 'online', null],
    [3, 12, 'offline', 'timeout'],
  ]);
  // Of a device that has only sent data, no state is known.
  expect(await store([told(3, 10, on)], known(`'${own}', NULL, NULL, NULL, 0`))).toHaveLength(1);
});

test('only states count: no data, no message without a state, and no other batch', async () => {
  const rows = [
    told(2, 1, on),
    told(5, 2, on),
    told(3, 10, off),
    told(3, 11, on, { kind: 0 }),
    told(3, 12, null),
    told(3, 13, '{"reason":"x"}'),
    told(3, 14, 'no JSON'),
    told(3, 15, off),
  ];
  expect(await store(rows)).toEqual([[3, 10, 'offline', 'timeout']]);
});

test('a transition keeps the times of its message', async () => {
  const rows = await run(
    { message: messages(told(3, 10, off, { storeMs: 77 })) },
    'device-status/store_transitions',
    { after_batch_id: 2n, through_batch_id: 4n },
    'SELECT device::VARCHAR, event_time_ms, store_time_ms FROM device_status',
  );
  expect(rows).toEqual([[own, 72, 77]]);
});

test('the days of new transitions are published again, each once, by their store time', async () => {
  const DAY_MS = 86_400_000;
  const at = (batch: number, eventMs: number, storeMs: number) =>
    `'${own}', 'online', NULL, ${eventMs}, ${storeMs}, 1, ${batch}`;
  const marked = await run(
    {
      device_status: transitions(
        at(2, 9 * DAY_MS, 9 * DAY_MS),
        at(3, 0, DAY_MS),
        at(4, 5 * DAY_MS, 2 * DAY_MS - 1),
        at(4, 5 * DAY_MS, 2 * DAY_MS),
      ),
    },
    'device-status/mark_days',
    { after_batch_id: 2n },
    "SELECT dataset, partition FROM dirty_partition WHERE dataset <> 'quarantine' ORDER BY partition",
  );
  expect(marked).toEqual([
    ['device_status', '1970-01-02'],
    ['device_status', '1970-01-03'],
  ]);
});

const NOW_MS = 1_000_000;
/** Batch 3 is of the stream and landed at the end of minute 9. Batches 3 and 4 are due. */
const update = (tables: Record<string, TableRows>) =>
  run(
    {
      batch: batches(
        [2, 'stream', 599_999],
        [3, 'stream', 599_999],
        [4, 'import:a', 599_999],
        [5, 'stream', 599_999],
      ),
      ...tables,
    },
    'device-status/update_states',
    { after_batch_id: 2n, through_batch_id: 4n, minute_ms: 60_000, now_ms: NOW_MS },
    'SELECT device::VARCHAR, state, since_ms::INTEGER, reason, last_seen_ms::INTEGER FROM device_state ORDER BY device',
  );
/** Data of a device, by the batch and the store time. */
const data = (batch: number, at: number, device: string | null = own) =>
  message(batch, { at, device: device === null ? 'NULL' : `'${device}'` });

test('the state of a device is its last transition, in the order of landing', async () => {
  const rows = [
    `'${own}', 'online', NULL, 99, 0, 20, 3`,
    `'${own}', 'offline', 'timeout', 50, 0, 21, 3`,
    `'${other}', 'offline', 'timeout', 99, 0, 99, 3`,
    `'${other}', 'online', NULL, 60, 0, 1, 4`,
  ];
  expect(await update({ device_status: transitions(...rows) })).toEqual([
    [own, 'offline', 50, 'timeout', null],
    [other, 'online', 60, null, null],
  ]);
});

test('a transition that was noted before does not count again', async () => {
  const rows = transitions(`'${own}', 'online', NULL, 99, 0, 20, 2`);
  expect(
    await update({ device_status: rows, device_state: known(`'${own}', 'offline', 1, 'x', 2`) }),
  ).toEqual([[own, 'offline', 1, 'x', 2]]);
});

test('the newest data of a device are those of the stream, by the minute', async () => {
  const rows = [
    data(3, 240_000),
    data(3, 359_999),
    data(3, 120_000),
    // Imported, noted before, not due, and without a device.
    data(4, 420_000),
    data(2, 420_000),
    data(5, 420_000),
    data(3, 480_000, null),
    // A message of a state is no data.
    message(3, { kind: 1, at: 420_000, other: `'${on}'` }),
  ];
  expect(await update({ message: messages(...rows) })).toEqual([[own, null, null, null, 300_000]]);
});

test('no data are newer than their landing', async () => {
  expect(await update({ message: messages(data(3, 900_000)) })).toEqual([[own, null, null, null, 540_000]]);
});

const SEEN = messages(data(3, 300_000));

test.each<[about: string, seenMs: number | 'NULL', then: number]>([
  ['newer data', 240_000, 300_000],
  ['older data', 360_000, 360_000],
  ['the first data', 'NULL', 300_000],
  ['data of the same minute', 300_000, 300_000],
  ['data until now', NOW_MS, NOW_MS],
  ['data after the clock was set back', NOW_MS + 1, 300_000],
])('with %s, a device keeps its state', async (_about, seenMs, then) => {
  expect(
    await update({ message: SEEN, device_state: known(`'${own}', 'offline', 1, 'x', ${seenMs}`) }),
  ).toEqual([[own, 'offline', 1, 'x', then]]);
});

test('a new state keeps the newest data, and has its own time and reason, or none', async () => {
  const rows = transitions(`'${own}', 'online', NULL, 99, 0, 20, 3`);
  for (const seenMs of [2, NOW_MS + 1])
    expect(
      await update({ device_status: rows, device_state: known(`'${own}', 'offline', 1, 'x', ${seenMs}`) }),
    ).toEqual([[own, 'online', 99, null, seenMs]]);
  expect(
    await update({
      device_status: rows,
      message: SEEN,
      device_state: known(`'${own}', NULL, NULL, NULL, 2`, `'${other}', 'offline', 1, 'x', 2`),
    }),
  ).toEqual([
    [own, 'online', 99, null, 300_000],
    [other, 'offline', 1, 'x', 2],
  ]);
});

test('the progress is stored once, and that of other stages stays', async () => {
  const progress: TableRows = ['stage, batch_id, updated_at_ms', `'publish', 1, 2`];
  const storeProgress = (...rows: string[]) =>
    run(
      { progress: [...progress, ...rows] },
      'device-status/store_progress',
      { batch_id: 7n, now_ms: 8 },
      'FROM progress ORDER BY stage',
    );
  const stored = [
    ['device_status', 7, 8],
    ['publish', 1, 2],
  ];
  expect(await storeProgress()).toEqual(stored);
  expect(await storeProgress(`'device_status', 3, 4`)).toEqual(stored);
});
