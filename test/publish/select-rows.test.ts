import { expect, test } from 'vitest';
import { type datasets, selectOf } from '../../src/publish/datasets.ts';
import { declareDays } from '../../src/publish/declared-days.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../../src/warehouse/query.ts';
import { deviceId } from '../support/messages.ts';
import { shared } from '../support/shared.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

const HOUR_MS = 3_600_000;
const [november, december] = [Date.UTC(2026, 10), Date.UTC(2026, 11)];

const stream = (id: number, method: string, settings: object | null) =>
  `(${id}, '{"table":"solar","field":"f${id}","method":"${method}"}', ${settings === null ? 'NULL' : `'${JSON.stringify(settings)}'`}, -1)`;

/** A warehouse with a few rows. Nothing has landed. */
const warehouse = shared(async () => {
  const shard = await openTestShard();
  await shard.transaction(async (connection) => {
    for (const statement of [
      `INSERT INTO energy_stream (stream_id, identity, settings, batch_id) VALUES
        ${stream(1, 'total_energy', { jitter: 100 })}, ${stream(2, 'total_energy', {})}, ${stream(3, 'power_curve', {})},
        ${stream(4, 'interval_energy', { interval: 900_000 })}, ${stream(5, 'power_curve', null)}`,
      `INSERT INTO series (series_id, stream_id, device, source, first_ms, last_ms, resolution, step_ms)
        SELECT id, id, UUID '${deviceId(1)}', 's' || id, 0, 0, 10, 60_000 FROM range(1, 6) AS row (id)`,
      `INSERT INTO device_state (device, state, since_ms, reason, last_seen_ms) VALUES
        ('${deviceId(1)}', 'offline', ${november}, 'timeout', ${november}), ('${deviceId(2)}', NULL, NULL, NULL, ${november})`,
      `INSERT INTO meter_reading VALUES ('A', ${november}, ${november + HOUR_MS}, 1, NULL, 'measured', false, 1, 0, 2, 1),
        ('A', ${november}, ${november + HOUR_MS}, 2, NULL, 'measured', false, 2, 0, NULL, 2),
        ('A', ${november + HOUR_MS}, ${november + 2 * HOUR_MS}, 4, NULL, 'measured', false, 1, 0, NULL, 1),
        ('A', ${december}, ${december + HOUR_MS}, 3, NULL, 'measured', false, 1, 0, NULL, 1)`,
      `INSERT INTO budget VALUES ('A', DATE '2026-11-01', DATE '2026-11-30', 10, 'P50', 1, 0, 2, 1),
        ('A', DATE '2026-11-01', DATE '2026-11-30', 20, 'P50', 2, 0, NULL, 2)`,
      `INSERT INTO quarantine (batch_id, stage, reason, quarantined_at_ms) VALUES
        (1, 'landing', 'of batch 1', ${november}), (2, 'landing', 'before', ${november - 1}),
        (2, 'landing', 'first', ${november}), (3, 'landing', 'last', ${december - 1}),
        (3, 'landing', 'after', ${december}), (4, 'landing', 'of batch 4', ${november})`,
      `INSERT INTO rejected_reading VALUES
        (${november}, 0, '${deviceId(1)}', 's', 'f', 'text', 1, ${november + 1}, ${november + 2}, []),
        (${november}, 7, '${deviceId(1)}', 's', 'f', 'text', 1, ${november}, ${november}, []),
        (${december}, 0, '${deviceId(1)}', 's', 'f', 'text', 1, ${december}, ${december}, [])`,
      "INSERT INTO dirty_partition VALUES ('daily_energy', '2026-11'), ('daily_energy', '2026-11'), ('daily_energy', '2026-10')",
    ])
      await connection.run(statement);
  });
  return shard;
});

async function run(sql: string, parameters: SqlParameters = {}) {
  return warehouse().read((connection) => queryText(connection, sql, parameters));
}
const select = (dataset: keyof typeof datasets, parameters: SqlParameters = {}) =>
  run(`SELECT * FROM (${selectOf(dataset)})`, parameters);
const ofNovember = { start_ms: BigInt(november), end_ms: BigInt(december) };

test('a register has a resolution, and another method has a step; what is configured counts first', async () => {
  const rows = await select('series');
  expect(rows.map((row) => [row.field, row.active, row.step_ms, row.resolution_wh])).toEqual([
    // The jitter is two resolutions.
    ['f1', true, null, 50],
    ['f2', true, null, 10],
    ['f3', true, 60_000n, null],
    ['f4', true, 900_000n, null],
    ['f5', false, 60_000n, null],
  ]);
});

test('a device that has never said its state is unknown', async () => {
  const rows = await select('device_state');
  expect(rows.map(({ state, reason }) => [state, reason])).toEqual([
    ['offline', 'timeout'],
    ['unknown', null],
  ]);
});

test('readings are in the order of their times, and those that are replaced are not current, as budgets', async () => {
  const readings = await select('meter_reading', ofNovember);
  expect(readings.map((row) => [row.energy_wh, row.revision, row.is_current])).toEqual([
    [1, 1, false],
    [2, 2, true],
    [4, 1, true],
  ]);
  const budgets = await select('budget');
  expect(budgets.map((row) => [row.energy_wh, row.is_current])).toEqual([
    [10n, false],
    [20n, true],
  ]);
});

test('a file of the quarantine has the messages of its month and of its batches, as many as are counted', async () => {
  const batches = { after_batch_id: 1n, through_batch_id: 3n };
  const rows = await select('quarantine', { ...ofNovember, ...batches });
  expect(rows.map(({ reason }) => reason).sort()).toEqual(['first', 'last']);
  expect(await run(loadSql('publish/count_quarantine'), batches)).toEqual([
    { month: '2026-10', row_count: 1 },
    { month: '2026-11', row_count: 2 },
    { month: '2026-12', row_count: 1 },
  ]);
});

test('rejected readings are those of the days of the file, with their times, and name their import', async () => {
  const rows = await run(
    `SELECT import_id, epoch_ms(first_event_time)::DOUBLE AS first_ms, epoch_ms(last_event_time)::DOUBLE AS last_ms
     FROM (${selectOf('rejected_reading')}) ORDER BY import_id NULLS FIRST`,
    ofNovember,
  );
  expect(rows).toEqual([
    { import_id: null, first_ms: november + 1, last_ms: november + 2 },
    { import_id: 7n, first_ms: november, last_ms: november },
  ]);
  expect(await run(loadSql('publish/count_rejected'), ofNovember)).toEqual([{ row_count: 2 }]);
});

test('a partition that has changed twice is written once', async () => {
  expect(await run(loadSql('publish/find_dirty'))).toEqual([
    { dataset: 'daily_energy', partition: '2026-10' },
    { dataset: 'daily_energy', partition: '2026-11' },
    // An empty warehouse marks it.
    { dataset: 'quarantine', partition: 'schema' },
  ]);
});

test('a day that the zone skipped is no local day', async () => {
  const rows = await warehouse().transaction(async (connection) => {
    const days = ['2011-12-29', '2011-12-31'].map(
      (day) => `('${day}', '${deviceId(1)}', 'pv', 5, 'total_energy', 1, 0, 1, 'final', 1, 0, 1)`,
    );
    await connection.run(`INSERT INTO daily_energy VALUES ${days.join(', ')}`);
    await declareDays(connection, { timezone: 'Pacific/Apia' });
    return queryText(
      connection,
      `SELECT day::VARCHAR AS day, epoch_ms(day_start)::DOUBLE AS start_ms, epoch_ms(day_end)::DOUBLE AS end_ms FROM (${selectOf('local_day')})`,
    );
  });
  const skippedMs = Date.UTC(2011, 11, 30, 10);
  expect(rows).toEqual([
    { day: '2011-12-29', start_ms: skippedMs - 24 * HOUR_MS, end_ms: skippedMs },
    { day: '2011-12-31', start_ms: skippedMs, end_ms: skippedMs + 24 * HOUR_MS },
  ]);
});

test('devices are those of the configuration, with messages and with energy, each once', async () => {
  const rows = await warehouse().transaction(async (connection) => {
    await connection.run(
      `CREATE TEMP TABLE declared_device AS FROM (VALUES (UUID '${deviceId(3)}', 'roof'), (UUID '${deviceId(1)}', 'yard'), (NULL, NULL)) AS row (device, name)`,
    );
    await connection.run(
      `INSERT INTO series (series_id, stream_id, device, source, first_ms, last_ms) VALUES (9, 1, '${deviceId(4)}', 's', 0, 0)`,
    );
    const found = await queryText(connection, selectOf('device'));
    await connection.run('DELETE FROM series WHERE series_id = 9');
    return found;
  });
  expect(rows.map(({ device_id, name }) => [device_id, name])).toEqual([
    [deviceId(1), 'yard'],
    [deviceId(2), null],
    [deviceId(3), 'roof'],
    [deviceId(4), null],
  ]);
});

test('declared data depend on the sources with energy, and not on the fields that they are read from', async () => {
  const sources = await warehouse().transaction(async (connection) => {
    const found: unknown[] = [];
    for (const [series, stream, source] of [
      [9, 2, 's1'],
      [10, 2, 'another'],
    ] as const) {
      found.push((await queryText(connection, loadSql('publish/find_declared_inputs')))[0]!.sources);
      await connection.run(
        `INSERT INTO series (series_id, stream_id, device, source, first_ms, last_ms) VALUES (${series}, ${stream}, '${deviceId(1)}', '${source}', 0, 0)`,
      );
    }
    found.push((await queryText(connection, loadSql('publish/find_declared_inputs')))[0]!.sources);
    await connection.run('DELETE FROM series WHERE series_id >= 9');
    return found;
  });
  expect(sources[1]).toBe(sources[0]);
  expect(sources[2]).not.toBe(sources[0]);
});

test('versions are in the order of their numbers, even if the clock was set back between them', async () => {
  const rows = await warehouse().transaction(async (connection) => {
    const versions = [1, 2, 3].map(
      (version) =>
        `(DATE '2026-11-01', '${deviceId(1)}', 'roof', ${version}, ${version === 2 ? 5 : 10 + version}, 1)`,
    );
    await connection.run(
      `INSERT INTO daily_energy_history (day, device, source, version, computed_at_ms, batch_id) VALUES ${versions.join(', ')}`,
    );
    const range = { start_day: '2026-11-01', end_day: '2026-12-01' };
    return queryText(connection, selectOf('daily_energy_version'), range);
  });
  expect(rows.map(({ version }) => version)).toEqual([1, 2, 3]);
});

test('a correction names the one that has undone it, and the sums of the days that it changed', async () => {
  const rows = await warehouse().transaction(async (connection) => {
    const row = (id: number, kind: string, undoes: number | null) =>
      `(${id}, '${kind}', '${deviceId(1)}', 'roof', 0, 1, ${undoes}, 'why', 'who', '{}', 0)`;
    await connection.run(
      `INSERT INTO correction (correction_id, kind, device, source, from_ms, to_ms, undoes, reason, author, request, created_at_ms)
        VALUES ${[row(1, 'exclude', null), row(2, 'exclude', null), row(3, 'undo', 1)].join(', ')}`,
    );
    const effect = (id: number, day: string, before: number | null, after: number) =>
      `(${id}, DATE '2026-11-${day}', '${deviceId(1)}', 'roof', ${before}, ${after})`;
    await connection.run(
      `INSERT INTO correction_effect VALUES ${[effect(1, '01', 10, 7), effect(1, '02', null, 5), effect(2, '01', 7, 6)].join(', ')}`,
    );
    return queryText(connection, selectOf('correction'));
  });
  expect(
    rows.map((row) => [row.correction_id, row.undoes, row.undone_by, row.days, row.before_wh, row.after_wh]),
  ).toEqual([
    [1n, null, 3n, 2n, 10n, 12n],
    [2n, null, null, 1n, 7n, 6n],
    [3n, 1n, null, null, null, null],
  ]);
});

test('a role names the source that contains its source, or the site', async () => {
  const rows = await warehouse().transaction(async (connection) => {
    await connection.run(
      `CREATE TEMP TABLE role_span AS SELECT UUID '${deviceId(1)}' AS device, * FROM (VALUES
        ('a', NULL, NULL, false), ('b', UUID '${deviceId(1)}', 'a', false), ('c', NULL, NULL, true))
        AS row (source, within_device, within_source, within_site), (SELECT NULL::DATE AS valid_from)`,
    );
    return queryText(connection, selectOf('source_role'));
  });
  expect(rows.map(({ source, within }) => [source, within])).toEqual([
    ['a', null],
    ['b', `${deviceId(1)}.a`],
    ['c', 'site'],
  ]);
});

test('a file of messages has those of its table, its batches and its store times, in their order', async () => {
  const row = (
    offset: number,
    more: Partial<Record<'batch' | 'table' | 'store' | 'event' | 'device', number>>,
  ) => {
    const { batch = 9, table = 5, store = november, event = 0, device = 1 } = more;
    return `(${offset}, ${batch}, ${table}, 0, '${deviceId(device)}', ${event}, ${store}, [], [])`;
  };
  const rows = await warehouse().transaction(async (connection) => {
    await connection.run(
      `INSERT INTO message (stream_offset, batch_id, table_id, kind, device, event_time_ms, store_time_ms, field_ids, numbers) VALUES
        ${row(9, {})}, ${row(1, {})}, ${row(2, { device: 2 })}, ${row(3, { event: 1 })}, ${row(4, { batch: 10, store: december - 1 })},
        ${row(5, { batch: 8 })}, ${row(6, { batch: 11 })}, ${row(7, { table: 6 })},
        ${row(8, { store: november - 1 })}, ${row(10, { store: december })}`,
    );
    const batches = { after_batch_id: 8n, through_batch_id: 10n };
    const file = { ...ofNovember, ...batches, table_id: 5, table_name: 't' };
    const found = await queryText(connection, selectOf('messages'), file);
    await connection.run('DELETE FROM message');
    return found;
  });
  expect(rows.map(({ stream_offset }) => Number(stream_offset))).toEqual([1, 4, 9, 3, 2]);
});

test('messages have the name of their kind, and an unknown kind is called so', async () => {
  const rows = await warehouse().transaction(async (connection) => {
    await connection.run(
      `INSERT INTO message (batch_id, table_id, kind, event_time_ms, store_time_ms, field_ids, numbers)
        SELECT 9, 5, kind, 0, ${november}, [], [] FROM (VALUES (0), (1), (2), (9)) AS row (kind)`,
    );
    const parameters = {
      ...ofNovember,
      table_id: 5,
      table_name: 't',
      after_batch_id: 8n,
      through_batch_id: 9n,
    };
    const found = await queryText(connection, selectOf('messages'), parameters);
    await connection.run('DELETE FROM message');
    return found;
  });
  expect(rows.map(({ kind }) => kind).sort()).toEqual(['audit', 'device_status', 'telemetry', 'unknown']);
});

test('messages have their numbers by name, and are in the order of their event times', async () => {
  const rows = await warehouse().transaction(async (connection) => {
    await connection.run("INSERT INTO name VALUES (1, 'power'), (2, 'energy')");
    await connection.run(
      `INSERT INTO message (batch_id, table_id, kind, device, source_id, event_time_ms, store_time_ms, field_ids, numbers)
        SELECT 9, 5, 0, '${deviceId(1)}', 2, event, ${november} - event, fields, numbers FROM (VALUES
          (3, [1, 2, 1], [10, 20, 30]), (2, [1, 99], [10, 20]), (1, [], [])) AS row (event, fields, numbers)`,
    );
    const parameters = { start_ms: 0n, end_ms: BigInt(december), table_id: 5, table_name: 't' };
    const found = await queryText(
      connection,
      `SELECT data::VARCHAR AS data, source FROM (${selectOf('messages')})`,
      { ...parameters, after_batch_id: 8n, through_batch_id: 9n },
    );
    await connection.run('DELETE FROM message');
    await connection.run('DELETE FROM name WHERE name_id < 3');
    return found;
  });
  expect(rows).toEqual([
    { data: '{}', source: 'energy' },
    { data: '{power=10.0, #99=20.0}', source: 'energy' },
    // The last value of a field that came twice.
    { data: '{energy=20.0, power=30.0}', source: 'energy' },
  ]);
});
