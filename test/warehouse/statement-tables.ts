import { expect } from 'vitest';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../../src/warehouse/query.ts';
import { deviceId } from '../support/messages.ts';
import { shared } from '../support/shared.ts';
import { openTestShard } from './warehouse-fixture.ts';

export const [own, other] = [deviceId(1), deviceId(2)];

/** Ends the transaction of a test, so that the next one has an empty warehouse. */
const undone = new Error('undone');

/** Rows of a table: its columns, and the values of each row as SQL. */
export type TableRows = [columns: string, ...values: string[]];

/**
 * Opens a warehouse for a file of tests.
 * @returns a function that runs a statement over rows of tables, and returns its rows or those of `then`
 */
export function openStatementTables() {
  const shard = shared(openTestShard);
  return async (
    tables: Record<string, TableRows>,
    statement: string,
    parameters: SqlParameters = {},
    then?: string,
  ) => {
    let rows: Array<Record<string, unknown>> = [];
    const work = shard().transaction(async (connection) => {
      for (const [table, [columns, ...values]] of Object.entries(tables))
        await connection.run(
          `INSERT INTO ${table} (${columns}) VALUES ${values.map((row) => `(${row})`).join(', ')}`,
        );
      rows = await queryText(connection, loadSql(statement), parameters);
      if (then !== undefined) rows = await queryText(connection, then);
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
export const names = (...texts: string[]): TableRows => [
  'name_id, name',
  ...texts.map((text, id) => `${id}, '${text}'`),
];

/** A message, by default of the first table and the first device, whose batch and offset are one number. */
export const message = (
  order: number,
  { kind = 0, table = 0, device = `'${own}'`, source = 'NULL', fields = '[]', other = 'NULL', at = 0 } = {},
) => `${order}, ${order}, ${kind}, ${table}, ${device}, ${source}, ${fields}, [], ${other}, ${at}, ${at}`;
export const messages = (...rows: string[]): TableRows => [
  'batch_id, stream_offset, kind, table_id, device, source_id, field_ids, numbers, other, event_time_ms, store_time_ms',
  ...rows,
];
