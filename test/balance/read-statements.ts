import { DuckDBInstance } from '@duckdb/node-api';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText } from '../../src/warehouse/query.ts';

/** A table: its columns, and its rows as SQL. */
export type StatementTable = [columns: string, ...rows: string[]];

/** Statements of sql/balance, one after another over tables: the rows of the last one, as `columns`. */
export async function readStatements(
  tables: Record<string, StatementTable>,
  statements: Record<string, string>,
  columns: string,
  nowMs = 0,
) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run(`CREATE TABLE role AS ${loadSql('balance/find_role')}`);
  await connection.run(
    `CREATE TABLE rule AS SELECT * REPLACE (${nowMs} AS now_ms) FROM (${loadSql('balance/find_rule')})`,
  );
  for (const [name, [names, ...rows]] of Object.entries(tables))
    await connection.run(
      `CREATE TABLE ${name} AS FROM (VALUES ${rows.map((row) => `(${row})`).join(', ')}) AS row (${names})`,
    );
  for (const [name, statement] of Object.entries(statements))
    await connection.run(`CREATE TABLE ${name} AS ${loadSql(`balance/${statement}`)}`);
  const last = Object.keys(statements).at(-1)!;
  const rows = await queryText(connection, `SELECT ${columns} FROM ${last} ORDER BY ALL`);
  connection.closeSync();
  instance.closeSync();
  return rows.map((row) =>
    Object.values(row).map((value) => (typeof value === 'bigint' ? Number(value) : value)),
  );
}
