import { expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { bindStoredStreams } from '../../src/rollup/bind-streams.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../../src/warehouse/query.ts';
import { shared } from '../support/shared.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

const startMs = Date.UTC(2026, 10, 20);
const bounds = { start_ms: BigInt(startMs), end_ms: BigInt(startMs + 24 * HOUR_MS) };
const atMinute = (minute: number) => startMs + minute * MINUTE_MS;
const atHour = (hour: number) => startMs + hour * HOUR_MS;

const shard = shared(() => openTestShard());

/** The rows of a statement with temporary tables in place of those of the roll-up. */
async function read(tables: Record<string, string>, statement: string, parameters: SqlParameters) {
  return shard().read(async (connection) => {
    await bindStoredStreams(connection);
    for (const [name, select] of Object.entries(tables))
      await connection.run(`CREATE OR REPLACE TEMP TABLE ${name} AS ${select}`);
    return queryText(connection, loadSql(`explain/${statement}`), parameters);
  });
}

const part = (series: number, minute: number, covered: boolean, wh: number) =>
  `(${series}, ${atMinute(minute)} // 900000, ${atMinute(minute)}, ${atMinute(minute + 15)}, 0.0, 0.0, ${covered}, ${wh * 1e9}::BIGINT)`;
const parts = {
  power_line: `FROM (VALUES ${[
    part(1, -15, true, 1_000),
    part(1, 0, true, 1),
    part(1, 15, false, 0),
    part(1, 30, true, 20),
    part(1, 45, true, 300),
    part(1, 60, false, 0),
    part(1, 75, true, 4_000),
    part(1, 24 * 60, true, 50_000),
    part(2, 90, true, 600_000),
  ].join(', ')}) AS part (series_id, interval_index, from_ms, to_ms, from_w, to_w, covered, exact_nwh)`,
};
const minutesOf = (ms: unknown) => (Number(ms) - startMs) / MINUTE_MS;

test('of too many parts of the day both ends and the uncovered ones remain, and all are counted', async () => {
  const rows = await read(parts, 'find_parts', { series_id: 1, ...bounds, rows_max: 2 });
  expect(rows.map(({ from_ms, covered }) => [minutesOf(from_ms), covered])).toEqual([
    [0, true],
    [15, false],
    [60, false],
    [75, true],
  ]);
  expect(rows[0]).toMatchObject({ parts: 6, sum_nwh: '4321000000000', sum_wh: 4_321, energy_wh: 1 });
  const few = await read(parts, 'find_parts', { series_id: 1, ...bounds, rows_max: 1 });
  expect(few.map(({ from_ms }) => minutesOf(from_ms))).toEqual([15, 60]);
});

test('covered parts of the day that follow each other are one stretch', async () => {
  const rows = await read(parts, 'find_covered', { series_id: 1, ...bounds });
  expect(rows.map(({ from_ms, to_ms }) => [minutesOf(from_ms), minutesOf(to_ms)])).toEqual([
    [0, 15],
    [30, 60],
    [75, 90],
  ]);
});

test('only the line that crosses a bound of the day has the shape of that silence', async () => {
  const shape = (hour: number, share: number, wh: number, ms: number, allWh: number, allMs: number) =>
    `(1, ${atHour(hour)} // 900000, ${share}::DOUBLE, ${wh}e9::DOUBLE, ${ms}, ${allWh}e9::DOUBLE, ${allMs})`;
  const tables = {
    index_line: `FROM (VALUES (1, ${atHour(-10)}, 0.0, ${atHour(4)}, 400.0, true, 0), (1, ${atHour(4)}, 400.0, ${atHour(5)}, 500.0, true, 0),
      (1, ${atHour(5)}, 500.0, ${atHour(30)}, 1000.0, true, 0)) AS line (series_id, from_ms, from_wh, to_ms, to_wh, covered, flags)`,
    silence_shape: `FROM (VALUES ${shape(0, 0.25, 1, 1_000, 4, 5_000)}, ${shape(24, 0.5, 3, 2_000, 6, 7_000)})
      AS shape (series_id, interval_index, share, nwh, known_ms, nwh_all, known_ms_all)`,
    needs_full_index: 'SELECT 1 AS series_id',
    reading_pair: `FROM (VALUES (1, ${atHour(1)}, 7.0, ${atHour(2)}, 8.0)) AS pair (series_id, from_ms, from_value, to_ms, to_value)`,
  };
  const rows = await read(tables, 'read_lines', { series_id: 1, ...bounds });
  expect(
    rows.map((row) => [row.from_wh, row.to_wh, row.from_share, row.to_share, row.power_wh, row.known_ms]),
  ).toEqual([
    [100, 400, 0.25, null, 4, 5_000],
    [400, 500, null, null, null, null],
    [500, 750, null, 0.5, 6, 7_000],
  ]);
});
