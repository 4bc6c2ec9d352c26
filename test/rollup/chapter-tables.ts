import type { DuckDBConnection } from '@duckdb/node-api';
import { ruleMacros } from '../../src/rollup/rule-macros.ts';
import { query, type SqlParameters } from '../../src/warehouse/query.ts';
import { atEnd } from '../support/shared.ts';
import { type StatementTables, statementTables } from '../support/statement-tables.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

/** Statements of sql/rollup over rows that a test writes by hand. */
export interface ChapterTables extends Pick<StatementTables, 'fill'> {
  /** Runs a statement of a chapter. */
  run: StatementTables['run'];
  /** The rows of a table, in order, as lists. */
  rows(table: string, columns: string): Promise<unknown[][]>;
}

const MACROS = [
  'create_time_macros',
  'create_kind_macros',
  'create_value_macros',
  'create_limit_macros',
  'create_index_macros',
  'create_day_macros',
];

/** Opens one warehouse for all tests of a file. Each call begins with its tables empty. */
export function chapterTables(): () => Promise<ChapterTables> {
  const open = statementTables(openWithMacros);
  return async () => {
    const { fill, run, read } = await open();
    return {
      fill,
      run: (statement: string, parameters?: SqlParameters) => run(`rollup/${statement}`, parameters),
      rows: (table, columns) => read(`SELECT ${columns} FROM ${table} ORDER BY ALL`),
    };
  };
}

/** Opens an empty warehouse with the macros of the roll-up, for `statementTables`. */
export async function openWithMacros(): Promise<DuckDBConnection> {
  const shard = await openTestShard();
  const connection = await shard.connect();
  atEnd(() => connection.closeSync());
  // The migrations leave rows in it.
  await connection.run('DELETE FROM dirty_partition');
  await connection.run(ruleMacros());
  for (const name of MACROS) await query(connection, `rollup/${name}`);
  return connection;
}
