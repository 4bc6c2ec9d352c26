import { DuckDBInstance } from '@duckdb/node-api';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { atEnd } from '../support/shared.ts';
import { statementTables } from '../support/statement-tables.ts';

/** A table: its columns, and its rows as SQL. */
export type BalanceTable = [columns: string, ...rows: string[]];

/**
 * Opens a database for a file of tests.
 * @returns a function that runs statements of sql/balance one after another over tables, and returns the
 * rows of the last one, as `columns`
 */
export function balanceTables() {
  const open = statementTables(async () => {
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
    atEnd(() => instance.closeSync());
    const connection = await instance.connect();
    atEnd(() => connection.closeSync());
    return connection;
  });
  return async (
    tables: Record<string, BalanceTable>,
    statements: Record<string, string>,
    columns: string,
    nowMs = 0,
  ) => {
    const { read } = await open();
    const make = (name: string, sql: string) => read(`CREATE TEMP TABLE ${name} AS ${sql}`);
    await make('role', loadSql('balance/find_role'));
    await make('rule', `SELECT * REPLACE (${nowMs} AS now_ms) FROM (${loadSql('balance/find_rule')})`);
    for (const [name, [names, ...rows]] of Object.entries(tables))
      await make(name, `FROM (VALUES ${rows.map((row) => `(${row})`).join(', ')}) AS row (${names})`);
    for (const [name, statement] of Object.entries(statements))
      await make(name, loadSql(`balance/${statement}`));
    return read(`SELECT ${columns} FROM ${Object.keys(statements).at(-1)} ORDER BY ALL`);
  };
}
