import { expect, test } from 'vitest';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../../src/warehouse/query.ts';
import { deviceId } from '../support/messages.ts';
import { shared } from '../support/shared.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

const [startMs, endMs] = [Date.UTC(2026, 10, 20), Date.UTC(2026, 10, 21)];
const device = deviceId(1);
const day = '2026-11-20';

/** Days with energy around the 20th, and corrections that touch its bounds. */
const warehouse = shared(async () => {
  const shard = await openTestShard();
  const days = [
    [1, 'pv', '2026-11-17'],
    [1, 'pv', '2026-11-19'],
    [1, 'pv', day],
    [1, 'load', '2026-11-22'],
    [1, 'pv', '2026-11-25'],
    [2, 'car', day],
    [2, 'pv', '2026-11-21'],
  ].map(
    ([of, source, on]) =>
      `('${on}', '${deviceId(Number(of))}', '${source}', 5, 'total_energy', 1, 0, 1, 'final', 1, 0, 1)`,
  );
  const corrections = [
    [1, 'set', startMs - 10, startMs, 'NULL'],
    [2, 'set', startMs - 10, startMs + 1, 'NULL'],
    [3, 'exclude', endMs - 1, endMs + 10, 'NULL'],
    [4, 'fill', endMs, endMs + 10, 'NULL'],
    [5, 'undo', endMs - 1, endMs + 10, 3],
  ].map(
    ([id, kind, from, to, undoes]) =>
      `(${id}, '${kind}', '${device}', 'pv', ${from}, ${to}, ${undoes}, 'why', 'ann', '{}', 0)`,
  );
  await shard.transaction(async (connection) => {
    for (const statement of [
      `INSERT INTO daily_energy VALUES ${days.join(', ')}`,
      `INSERT INTO declared_source (device, source) SELECT UUID '${device}', unnest(['pv', 'load', 'car'])`,
      `INSERT INTO correction (correction_id, kind, device, source, from_ms, to_ms, undoes, reason, author, request, created_at_ms)
        VALUES ${corrections.join(', ')}`,
      `INSERT INTO correction_effect (correction_id, day, device, source, before_wh, after_wh) VALUES
        (2, '${day}', '${device}', 'pv', 4, 5), (2, '2026-11-19', '${device}', 'pv', 1, 2), (3, '${day}', '${device}', 'load', 1, 2)`,
      `INSERT INTO daily_energy_history (day, device, source, energy_wh, method, flags, coverage, version, computed_at_ms, batch_id, status, causes)
        VALUES ('${day}', '${device}', 'pv', 5, 'total_energy', 0, 1, 1, 0, 1, 'final', ['stream']),
          ('${day}', '${device}', 'load', 9, 'total_energy', 0, 1, 1, 0, 1, 'final', ['stream']),
          ('2026-11-19', '${device}', 'pv', 7, 'total_energy', 0, 1, 1, 20, 1, 'final', ['stream']),
          ('2026-11-19', '${device}', 'pv', 6, 'total_energy', 0, 1, 2, 10, 1, 'final', ['stream'])`,
    ])
      await connection.run(statement);
  });
  return shard;
});

const read = (statement: string, parameters: SqlParameters) =>
  warehouse().read((connection) => queryText(connection, loadSql(`explain/${statement}`), parameters));

test('the nearest days are those of any source of the device, and not the day itself', async () => {
  expect(await read('find_nearest_days', { device, day })).toEqual([
    { before: '2026-11-19', after: '2026-11-22' },
  ]);
  expect(await read('find_nearest_days', { device, day: '2026-11-25' })).toEqual([
    { before: '2026-11-22', after: null },
  ]);
});

test('a declared source is missing on a day on which the device itself has no energy of it', async () => {
  const missing = async (on: string) =>
    (await read('find_missing_sources', { device, day: on })).map(({ source }) => source);
  expect(await missing(day)).toEqual(['car', 'load']);
  expect(await missing('2026-11-22')).toEqual(['car', 'pv']);
});

test('the corrections of a day reach into it, with what they changed on it and what undoes them', async () => {
  const bounds = { start_ms: BigInt(startMs), end_ms: BigInt(endMs) };
  const rows = await read('find_corrections', { device, source: 'pv', day, ...bounds });
  expect(rows.map((row) => [row.correction_id, row.undone_by, row.has_changed, row.before_wh])).toEqual([
    [2, null, true, 4],
    [3, 5, false, null],
    [5, null, false, null],
  ]);
});

test('the version of a day that is in the history too is listed once, with its causes', async () => {
  const rows = await read('find_versions', { device, source: 'pv', day });
  expect(rows.map(({ version, energy_wh, causes }) => [version, energy_wh, String(causes)])).toEqual([
    [1, 5, "['stream']"],
  ]);
});

test('versions are in the order of their numbers, even if the clock was set back between them', async () => {
  const rows = await read('find_versions', { device, source: 'pv', day: '2026-11-19' });
  // The current day has the first version again.
  expect(rows.map(({ version, energy_wh }) => [version, energy_wh])).toEqual([
    [1, 5],
    [1, 7],
    [2, 6],
  ]);
});
