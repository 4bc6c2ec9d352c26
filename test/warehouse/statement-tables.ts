import { expect } from 'vitest';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../../src/warehouse/query.ts';
import { deviceId } from '../support/messages.ts';
import { shared } from '../support/shared.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

export const [own, other] = [deviceId(1), deviceId(2)];

/** Ends the transaction of a test, so that the next one has an empty warehouse. */
const undone = new Error('undone');

/** Rows of a table: its columns, and the values of each row as SQL. */
export type TableRows = [columns: string, ...values: string[]];

/** Opens a warehouse for a file of tests. @returns a function that reads a statement over rows of tables */
export function openProblemTables() {
  const shard = shared(openTestShard);
  return async (tables: Record<string, TableRows>, statement: string, parameters: SqlParameters = {}) => {
    let rows: Array<Record<string, unknown>> = [];
    const work = shard().transaction(async (connection) => {
      for (const [table, [columns, ...values]] of Object.entries(tables))
        await connection.run(
          `INSERT INTO ${table} (${columns}) VALUES ${values.map((row) => `(${row})`).join(', ')}`,
        );
      rows = await queryText(connection, loadSql(`problems/${statement}`), parameters);
      throw undone;
    });
    await expect(work).rejects.toBe(undone);
    return rows.map((row) => Object.values(row));
  };
}

/** A stream that is configured at a position, or no longer. */
export const stream = (id: number, position: number | null, settings: Record<string, unknown>) =>
  `${id}, '${JSON.stringify(settings)}', ${position === null ? 'NULL' : `'${JSON.stringify({ position, ...settings })}'`}, 0`;
export const streams = (...rows: string[]): TableRows => ['stream_id, identity, settings, batch_id', ...rows];
export const series = (...rows: string[]): TableRows => [
  'series_id, stream_id, device, source, first_ms, last_ms, resolution',
  ...rows,
];
export const intervals = (...rows: string[]): TableRows => [
  'series_id, interval_start_ms, energy_wh, covered_ms, flags, last_value',
  ...rows,
];
