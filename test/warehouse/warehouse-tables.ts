import type { SqlParameters } from '../../src/warehouse/query.ts';
import { deviceId } from '../support/messages.ts';
import { atEnd } from '../support/shared.ts';
import { statementTables } from '../support/statement-tables.ts';
import { openTestShard } from './warehouse-fixture.ts';

export const [own, other] = [deviceId(1), deviceId(2)];

/** Rows of a table: its columns, and the values of each row as SQL. */
export type TableRows = [columns: string, ...values: string[]];

/**
 * Opens a warehouse for a file of tests.
 * @returns a function that runs a statement over rows of its tables, and returns its rows or those of `then`
 */
export function warehouseTables() {
  const open = statementTables(async () => {
    const shard = await openTestShard();
    const connection = await shard.connect();
    atEnd(() => connection.closeSync());
    return connection;
  });
  return async (
    tables: Record<string, TableRows>,
    statement: string,
    parameters?: SqlParameters,
    then?: string,
  ) => {
    const { fill, run, read } = await open();
    for (const [table, [columns, ...values]] of Object.entries(tables)) await fill(table, columns, ...values);
    const rows = await run(statement, parameters);
    return then === undefined ? rows.map((row) => Object.values(row)) : read(then);
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
