import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { readStageProgress } from '../../src/warehouse/stage-progress.ts';
import { deviceId } from '../support/messages.ts';
import { shared } from '../support/shared.ts';
import { NOW_MS } from './batches.ts';
import { openTestShard } from './warehouse-fixture.ts';

/** Today is 2026-11-20. */
const ROWS = [
  ...['stream', 'stream', 'import:a.csv'].map(
    (origin, index) =>
      `INSERT INTO batch BY NAME SELECT ${index + 1} AS batch_id, '${origin}' AS origin, 10 AS message_count,
       1 AS quarantined_count, ${NOW_MS - HOUR_MS + Math.min(index, 1)} AS landed_at_ms`,
  ),
  `INSERT INTO gap BY NAME SELECT range AS gap_id, 'stream' AS origin, 'expired' AS reason, 100 AS from_time_ms,
     CASE range WHEN 1 THEN 130 WHEN 2 THEN 105 ELSE NULL END AS to_time_ms, 1 AS detected_at_ms FROM range(1, 4)`,
  `INSERT INTO gap BY NAME SELECT 4 AS gap_id, 'stream' AS origin, 'expired' AS reason, 0 AS from_time_ms,
     1000 AS to_time_ms, 1 AS detected_at_ms, 2 AS closed_at_ms, 1 AS closed_by`,
  ...['provisional', 'final', 'restated', 'restated'].map(
    (status, index) =>
      `INSERT INTO daily_energy_history BY NAME SELECT DATE '2026-11-01' AS day, UUID '${deviceId(1)}' AS device,
       'roof' AS source, '${status}' AS status, ${index + 1} AS version, 0 AS computed_at_ms, 1 AS batch_id`,
  ),
  ...[
    ['2026-10-19', 64],
    ['2026-10-20', 65],
    ['2026-11-20', 64],
    ['2026-11-20', 0],
  ].map(
    ([day, flags], index) =>
      `INSERT INTO daily_energy BY NAME SELECT DATE '${day}' AS day, UUID '${deviceId(index)}' AS device,
       'roof' AS source, 1 AS energy_wh, 'total_energy' AS method, 1 AS stream_id, ${flags} AS flags, 1 AS coverage,
       'final' AS status, 1 AS version, 0 AS computed_at_ms, 1 AS batch_id`,
  ),
  ...[-1, 0, 1].map(
    (ms, index) =>
      `INSERT INTO series BY NAME SELECT ${index} AS series_id, 1 AS stream_id, UUID '${deviceId(index)}' AS device,
       'roof' AS source, 0 AS first_ms, ${NOW_MS + ms} AS last_ms`,
  ),
  ...['malformed', 'x', 'x'].map(
    (reason) =>
      `INSERT INTO quarantine BY NAME SELECT 1 AS batch_id, 'land' AS stage, '${reason}' AS reason, 0 AS quarantined_at_ms`,
  ),
  `INSERT INTO rejected_reading BY NAME SELECT 0 AS day_start_ms, 0 AS import_id, 'roof' AS source, 'f' AS field,
     'spike' AS reason, 5 AS readings, 0 AS first_ms, 0 AS last_ms, [] AS samples`,
  ...(
    [
      ['online', null, null],
      ['offline', 'timeout', NOW_MS],
      ['offline', 'asleep', NOW_MS - DAY_MS],
      ['offline', 'asleep', NOW_MS - DAY_MS - 1],
      [null, null, NOW_MS],
    ] as const
  ).map(
    ([state, reason, seenMs], index) =>
      `INSERT INTO device_state BY NAME SELECT UUID '${deviceId(index)}' AS device, ${state && `'${state}'`} AS state,
       0 AS since_ms, ${reason && `'${reason}'`} AS reason, ${seenMs} AS last_seen_ms`,
  ),
  // Fell asleep a moment ago, and has sent no data.
  `INSERT INTO device_state BY NAME SELECT UUID '${deviceId(9)}' AS device, 'offline' AS state, 'asleep' AS reason,
     ${NOW_MS} AS since_ms`,
  ...[
    ['a', 'landing', 'h1'],
    ['b', 'dropped', 'h2'],
    // Given up, and then begun again.
    ['c', 'dropped', 'h3'],
    ['c', 'landed', 'h6'],
    // Given up, and its content landed later from another path.
    ['d', 'dropped', 'h4'],
    ['e', 'landed', 'h4'],
    // Landed, and then given up.
    ['f', 'landed', 'h5'],
    ['f', 'dropped', 'h5'],
  ].map(
    ([path, state, hash], index) =>
      `INSERT INTO import_file BY NAME SELECT ${index} AS import_id, '${path}' AS path, 't' AS table_name, 1 AS file_bytes,
       '${hash}' AS content_hash, 'm' AS mapping_hash, '${state}' AS state, 7 AS rows_read, 0 AS rows_landed,
       0 AS rows_rejected, '{}' AS rejected, 0 AS started_at_ms, 8 AS updated_at_ms`,
  ),
];

const opened = shared(async () => {
  const shard = await openTestShard();
  await shard.transaction(async (connection) => {
    for (const sql of ROWS) await connection.run(sql);
  });
  return { shard, status: await shard.status() };
});
const status = () => opened().status;

test('the last hour has the messages of the stream that landed after its beginning', () => {
  expect(status().lastHour).toEqual({ messages: 10, quarantined: 1 });
});

test('open gaps are counted, with the time that is known to be missing', () => {
  expect(status()).toMatchObject({ gaps: 3, gapOpenMs: 35 });
});

test('the days with a flag are those of the last 31 days', () => {
  expect(status().daysFlagged).toEqual({ estimated: 1, gap: 2 });
});

test('the versions that differ from a final version are counted', () => {
  expect(status().daysRestated).toBe(2);
});

test('the newest reading is not in the future', () => {
  expect(status().newestReadingAtMs).toBe(NOW_MS);
});

test('quarantined messages and rejected readings are counted together, the most frequent reason first', () => {
  expect(status().quarantined).toBe(8);
  expect(Object.entries(status().quarantinedByReason)).toEqual([
    ['spike', 5],
    ['x', 2],
    ['malformed', 1],
  ]);
});

test('a device is asleep for a day after its last data, or else after its message', () => {
  expect(status().devices).toEqual({ online: 1, offline: 2, asleep: 2, unknown: 1 });
});

test('an import is open while it lands, or if it was given up and nothing has replaced it', () => {
  expect(status().imports).toEqual([
    { path: 'a', state: 'landing', rowsRead: 7, updatedAtMs: 8 },
    { path: 'b', state: 'dropped', rowsRead: 7, updatedAtMs: 8 },
    { path: 'f', state: 'dropped', rowsRead: 7, updatedAtMs: 8 },
  ]);
});

test('the energy is complete up to the batch that all configured streams have, without changes that wait', async () => {
  const { shard } = opened();
  const progressWith = (streams: number, ...statements: string[]) =>
    shard.transaction(async (connection) => {
      for (const sql of statements) await connection.run(sql);
      const energyStreams = new Array(streams).fill({});
      return readStageProgress(connection, { energyStreams });
    });
  expect(await progressWith(1)).toEqual({ rolledUpBatchId: -1, publishedBatchId: -1 });
  expect(await progressWith(0)).toMatchObject({ rolledUpBatchId: 3 });
  const stream = (id: number, settings: string, batchId: number) =>
    `INSERT INTO energy_stream BY NAME SELECT ${id} AS stream_id, '${id}' AS identity, ${settings} AS settings, ${batchId} AS batch_id`;
  // The third stream is not configured any more.
  const streams = [stream(1, "'{}'", 7), stream(2, "'{}'", 5), stream(3, 'NULL', 2)];
  expect(await progressWith(2, ...streams)).toMatchObject({ rolledUpBatchId: 5 });
  const change = (completeBatchId: number) =>
    `INSERT INTO pending_change BY NAME SELECT UUID '${deviceId(1)}' AS device, 1 AS series_id, 'learnt' AS kind,
     0 AS from_ms, 0 AS to_ms, false AS is_new, 0 AS readings, 0 AS reach_ms, 0 AS batch_id, ${completeBatchId} AS complete_batch_id`;
  expect(await progressWith(2, change(6), change(4))).toMatchObject({ rolledUpBatchId: 4 });
  const published = (stage: string, batchId: number) =>
    `INSERT INTO progress VALUES ('${stage}', ${batchId}, 0)`;
  const progress = await progressWith(2, published('publish', 3), published('device_status', 8));
  expect(progress.publishedBatchId).toBe(3);
});
