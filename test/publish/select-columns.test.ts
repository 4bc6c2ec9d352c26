import { expect, test } from 'vitest';
import { analyticsViews } from '../../src/publish/analytics-views.ts';
import { type DatasetName, selectOf } from '../../src/publish/datasets.ts';
import { queryText, type SqlParameters } from '../../src/warehouse/query.ts';
import { deviceId } from '../support/messages.ts';
import { shared } from '../support/shared.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

const device = deviceId(1);
const warehouse = shared(() => openTestShard());
const ofAll = { start_ms: 0n, end_ms: 1_000_000n };
const ofAllDays = { start_day: '2026-01-01', end_day: '2027-01-01' };

/** A time that is so many seconds after 1970, as a file has it. */
const at = (seconds: number) => `1970-01-01 00:00:${String(seconds).padStart(2, '0')}+00`;

// Each value of a row is different, so a column with the value of another one is found.
test.each<[dataset: DatasetName, inserted: string, parameters: SqlParameters, row: Record<string, unknown>]>([
  [
    'daily_energy',
    `INSERT INTO daily_energy BY NAME SELECT DATE '2026-11-01' AS day, UUID '${device}' AS device, 's' AS source,
      1 AS energy_wh, 'total_energy' AS method, 2 AS stream_id, 1 | 2 | 128 AS flags, 0.5 AS coverage,
      'final' AS status, 3 AS version, 4_000 AS computed_at_ms, 5 AS batch_id;
     INSERT INTO energy_stream BY NAME SELECT 2 AS stream_id, '{"table":"t","field":"f"}' AS identity, 0 AS batch_id`,
    ofAllDays,
    {
      ...{
        day: '2026-11-01',
        device,
        source: 's',
        energy_wh: 1,
        method: 'total_energy',
        table: 't',
        field: 'f',
      },
      ...{
        stream_id: 2,
        flags: ['estimated', 'reset', 'partial'],
        coverage: 0.5,
        status: 'final',
        version: 3,
      },
      computed_at: at(4),
    },
  ],
  [
    'daily_energy_version',
    `INSERT INTO daily_energy_history BY NAME SELECT DATE '2026-11-01' AS day, UUID '${device}' AS device,
      's' AS source, 1 AS energy_wh, 'power_curve' AS method, 1 | 2 | 128 AS flags, 0.5 AS coverage, 'restated' AS status,
      3 AS version, 4_000 AS computed_at_ms, ['import'] AS causes, 5 AS batch_id`,
    ofAllDays,
    {
      ...{ day: '2026-11-01', device, source: 's', version: 3, energy_wh: 1, method: 'power_curve' },
      ...{ flags: ['estimated', 'reset', 'partial'], coverage: 0.5, status: 'restated', computed_at: at(4) },
      ...{ causes: ['import'], batch_id: 5 },
    },
  ],
  [
    'interval_energy',
    `INSERT INTO interval_energy BY NAME SELECT 1 AS series_id, 9_000 AS interval_start_ms, 6 AS energy_wh,
      7 AS covered_ms, 1 | 2 | 128 AS flags;
     INSERT INTO series BY NAME SELECT 1 AS series_id, 3 AS stream_id, UUID '${device}' AS device, 's' AS source,
      0 AS first_ms, 0 AS last_ms;
     INSERT INTO energy_stream BY NAME SELECT 3 AS stream_id, 0 AS batch_id,
      '{"table":"t","field":"f","method":"total_energy"}' AS identity`,
    ofAll,
    {
      ...{ device, source: 's', table: 't', field: 'f', method: 'total_energy', stream_id: 3 },
      ...{ interval_start: at(9), energy_wh: 6, covered_ms: 7, flags: ['estimated', 'reset', 'partial'] },
    },
  ],
  [
    'correction',
    `INSERT INTO correction BY NAME SELECT 1 AS correction_id, 'exclude' AS kind, UUID '${device}' AS device,
      's' AS source, 't' AS table_name, 'f' AS field, DATE '2026-11-01' AS day, 2_000 AS from_ms, 3_000 AS to_ms,
      4 AS energy_wh, 'neighbours' AS basis, 5 AS undoes, 'why' AS reason, 'who' AS author, '{}' AS request,
      6_000 AS created_at_ms`,
    {},
    {
      ...{
        correction_id: 1,
        kind: 'exclude',
        device,
        source: 's',
        table: 't',
        field: 'f',
        day: '2026-11-01',
      },
      ...{
        from_time: at(2),
        to_time: at(3),
        energy_wh: 4,
        basis: 'neighbours',
        reason: 'why',
        author: 'who',
      },
      ...{ created_at: at(6), undoes: 5, undone_by: null, days: null, before_wh: null, after_wh: null },
    },
  ],
  [
    'device_status',
    `INSERT INTO device_status BY NAME SELECT UUID '${device}' AS device, 'offline' AS state, 'timeout' AS reason,
      1_000 AS event_time_ms, 2_000 AS store_time_ms, 3 AS stream_offset, 4 AS batch_id`,
    ofAll,
    {
      ...{ device, state: 'offline', reason: 'timeout', event_time: at(1), store_time: at(2) },
      stream_offset: 3,
    },
  ],
  [
    'device_state',
    `INSERT INTO device_state BY NAME SELECT UUID '${device}' AS device, 'offline' AS state, 1_000 AS since_ms,
      'timeout' AS reason, 2_000 AS last_seen_ms`,
    {},
    { device, state: 'offline', since: at(1), reason: 'timeout', last_seen: at(2) },
  ],
  [
    'meter_reading',
    `INSERT INTO meter_reading BY NAME SELECT 'A' AS meter_code, 1_000 AS start_ms, 2_000 AS end_ms, 3 AS energy_wh,
      'import' AS direction, 'estimated' AS quality, false AS from_register, 4 AS revision, 5_000 AS received_at_ms,
      6 AS upload_id`,
    ofAll,
    {
      ...{ meter_code: 'A', interval_start: at(1), interval_end: at(2), energy_wh: 3, direction: 'import' },
      ...{ quality: 'estimated', revision: 4, received_at: at(5), is_current: true },
    },
  ],
  [
    'budget',
    `INSERT INTO budget BY NAME SELECT 'A' AS meter_code, DATE '2026-11-01' AS period_start,
      DATE '2026-11-30' AS period_end, 1 AS energy_wh, 'P50' AS scenario, 2 AS revision, 3_000 AS uploaded_at_ms,
      4 AS replaced_by, 5 AS upload_id`,
    {},
    {
      ...{ meter_code: 'A', period_start: '2026-11-01', period_end: '2026-11-30', energy_wh: 1 },
      ...{ scenario: 'P50', revision: 2, uploaded_at: at(3), is_current: false },
    },
  ],
  [
    'quarantine',
    `INSERT INTO quarantine BY NAME SELECT 1 AS batch_id, 2 AS stream_offset, 'landing' AS stage, 'r' AS reason,
      'd' AS detail, UUID '${device}' AS device, 's' AS source, 'f' AS field, 3_000 AS event_time_ms,
      4_000 AS quarantined_at_ms`,
    { ...ofAll, after_batch_id: 0n, through_batch_id: 1n },
    {
      ...{
        quarantined_at: at(4),
        stage: 'landing',
        reason: 'r',
        detail: 'd',
        device,
        source: 's',
        field: 'f',
      },
      ...{ event_time: at(3), stream_offset: 2, bytes: null, batch_id: 1 },
    },
  ],
  [
    'rejected_reading',
    `INSERT INTO rejected_reading BY NAME SELECT 0 AS day_start_ms, 7 AS import_id, UUID '${device}' AS device,
      's' AS source, 'f' AS field, 'r' AS reason, 1 AS readings, 2_000 AS first_ms, 3_000 AS last_ms,
      [{ event_time_ms: 4_000, stream_offset: 5, text: 'x', batch_id: 6 }] AS samples`,
    ofAll,
    {
      ...{ day: '1970-01-01', device, source: 's', field: 'f', reason: 'r', readings: 1 },
      ...{ first_event_time: at(2), last_event_time: at(3), import_id: 7 },
      samples: [{ event_time: at(4), stream_offset: 5, value: 'x', batch_id: 6 }],
    },
  ],
])(
  'each column of %s has its own value, and the type that its views say',
  async (dataset, inserted, parameters, row) => {
    await warehouse().transaction(async (connection) => {
      await connection.run("SET TimeZone = 'UTC'");
      await connection.run(inserted);
      const found = await queryText<{ row: string }>(
        connection,
        `SELECT to_json(found)::VARCHAR AS row FROM (${selectOf(dataset)}) AS found`,
        parameters,
      );
      expect(found.map((one) => JSON.parse(one.row) as unknown)).toEqual([row]);
      const typesOf = (sql: string, of?: SqlParameters) =>
        queryText<{ name: string; type: string }>(
          connection,
          `SELECT column_name AS name, column_type AS type FROM (DESCRIBE ${sql})`,
          of,
        );
      const types = await typesOf(selectOf(dataset), parameters);
      // An empty view has these types.
      for (const view of analyticsViews.filter((one) => one.dataset === dataset)) {
        const read = view.columns.filter(
          ({ name, select }) => select === undefined && types.some((one) => one.name === name),
        );
        const nulls = read.map(({ name, type }) => `NULL::${type} AS "${name}"`);
        expect(types).toEqual(expect.arrayContaining(await typesOf(`SELECT ${nulls.join(', ')}`)));
      }
    });
  },
);
