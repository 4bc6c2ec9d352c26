import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { hashOf, readFingerprints } from '../../src/exports/day-fingerprints.ts';
import type { RowSelect } from '../../src/report/rows/row-select.ts';

/** A row: day of November, device, hour, Wh and Wh of the budget. */
type Row = [day: number, device: string, hour: number, wh: number | null, budgetWh?: number | null];

/** The fingerprints of rows with two energies. */
async function read(rows: readonly Row[], more: Partial<RowSelect> = {}) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  const values = rows.map(
    ([day, device, hour, wh, budgetWh = 0]) =>
      `(DATE '2026-11-01' + ${day - 1}, '${device}', TIMESTAMPTZ '2026-11-01 00:00:00Z' + INTERVAL ${hour} HOUR, ${wh}::BIGINT, ${budgetWh}::BIGINT)`,
  );
  const found = await readFingerprints(connection, {
    sql: `FROM (VALUES ${values.join(', ')}) AS row (day, device, interval_start, energy_wh, budget_wh)`,
    key: ['device', 'interval_start'],
    energies: ['energy_wh', 'budget_wh'],
    parameters: {},
    ...more,
  } as RowSelect);
  connection.closeSync();
  instance.closeSync();
  return found;
}
const hashesOf = async (rows: readonly Row[]) => (await read(rows)).days.map(({ hash }) => hash);

const rows: Row[] = [
  [1, 'a', 0, 5],
  [1, 'a', 1, 7, 3],
  [1, 'b', 0, 0],
];

test('a day has the number of its rows and its energy, and the total is null only if no energy is known', {
  tags: ['slow'],
}, async () => {
  const { days, totalWh } = await read([...rows, [2, 'a', 24, null]]);
  expect(days.map(({ day, rows: count, energyWh }) => [day, count, energyWh])).toEqual([
    ['2026-11-01', 3, 12],
    ['2026-11-02', 1, 0],
  ]);
  expect(totalWh).toBe(12);
  expect((await read([[1, 'a', 0, null]])).totalWh).toBeNull();
  expect((await read([[1, 'a', 0, 0]])).totalWh).toBe(0);
  expect((await read(rows, { total: 'budget_wh' })).totalWh).toBe(3);
});

test.each<[what: string, changed: Row]>([
  ['another energy of the budget', [1, 'b', 0, 0, 1]],
  ['an unknown energy of the budget', [1, 'b', 0, 0, null]],
])('a day with %s has another hash', async (_, changed) => {
  expect(await hashesOf([rows[0]!, rows[1]!, changed])).not.toEqual(await hashesOf(rows));
});

test('the fingerprint of a day depends on its rows, and not on their order', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  onTestFinished(() => instance.closeSync());
  const connection = await instance.connect();
  const hashOf = async (...rows: Array<[device: string, minute: number, wh: number | null]>) => {
    const values = rows.map(
      ([device, minute, wh]) =>
        `(DATE '2026-05-01', '${device}', make_timestamptz(${minute * 60_000_000}), ${wh})`,
    );
    const {
      days: [day],
      totalWh,
    } = await readFingerprints(connection, {
      reads: undefined,
      columns: [],
      order: [],
      key: ['source', 'interval_start'],
      energies: ['energy_wh'],
      sql: `FROM (VALUES ${values.join(', ')}) AS v(day, source, interval_start, energy_wh)`,
      parameters: {},
    });
    totals.push(totalWh);
    return `${day!.rows} ${day!.hash}`;
  };
  const totals: Array<number | null> = [];
  const all = await Promise.all([
    hashOf(['a', 0, 1], ['a', 15, 2], ['b', 0, 0]),
    hashOf(['a', 0, 2], ['a', 15, 1], ['b', 0, 0]),
    hashOf(['a', 0, 1], ['a', 15, 2], ['b', 0, null]),
    hashOf(['a', 0, 1], ['a', 15, 2], ['c', 0, 0]),
    hashOf(['a', 0, 1], ['a', 15, 2], ['b', 15, 0]),
    hashOf(['a', 0, 1], ['a', 15, 2]),
    hashOf(['a', 0, 0], ['a', 15, 3], ['b', 0, 0]),
    hashOf(['a', 0, 2], ['a', 15, 0], ['a', 30, 1]),
    hashOf(['a', 0, 1], ['a', 15, 2], ['a', 30, 0]),
  ]);
  expect(new Set(all).size).toBe(all.length);
  expect(await hashOf(['b', 0, 0], ['a', 15, 2], ['a', 0, 1])).toBe(all[0]);
  // Energy that is not known is not 0.
  totals.splice(0);
  await hashOf(['a', 0, null], ['b', 0, null]);
  await hashOf(['a', 0, 0], ['b', 0, null]);
  expect(totals).toEqual([null, 0]);
  // Runs that are stored compare with it, so it is the same in every version.
  expect(all[0]).toBe('3 4975945003972333871715962752748');
});

test('the hash of all days depends on each day, its number of rows and its hash', () => {
  const day = { day: '2026-11-01', rows: 2, energyWh: 5, hash: '17' };
  const others = [{ day: '2026-11-02' }, { rows: 3 }, { hash: '18' }].map((more) =>
    hashOf([{ ...day, ...more }]),
  );
  expect(new Set([hashOf([day]), ...others, hashOf([day, day]), hashOf([])])).toHaveProperty('size', 6);
  // The energy is in the hash already.
  expect(hashOf([{ ...day, energyWh: 6 }])).toBe(hashOf([day]));
});
