import type { DuckDBConnection } from '@duckdb/node-api';
import { ruleMacros } from '../../src/rollup/rule-macros.ts';
import { query, type SqlParameters } from '../../src/warehouse/query.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { atEnd, shared } from '../support/shared.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { deviceOf } from './many-streams.ts';

type Cell = string | number | boolean | null | readonly string[];

/** Statements of sql/rollup over rows that a test writes by hand. */
export interface ChapterTables {
  /**
   * Adds rows to a table. A table of the schema takes 0 or '' for every column that is not named and cannot
   * be null. Any other table is made, and then each of its columns has a type: `series_id INTEGER`.
   */
  fill(table: string, columns: string, ...rows: Cell[][]): Promise<void>;
  /** Runs a statement. @returns its rows, 64-bit integers as numbers */
  run(statement: string, parameters?: SqlParameters): Promise<Record<string, unknown>[]>;
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

/**
 * Opens one warehouse for all tests of a file. Each call begins with its tables empty, because the test
 * before is rolled back.
 */
export function chapterTables(): () => Promise<ChapterTables> {
  const connection = shared(async () => {
    const shard: Shard = await openTestShard();
    const own = await shard.connect();
    atEnd(() => own.closeSync());
    // The migrations leave rows in it.
    await own.run('DELETE FROM dirty_partition');
    await own.run(ruleMacros());
    for (const name of MACROS) await query(own, `rollup/${name}`);
    return own;
  });
  return async () => {
    await connection().run('BEGIN');
    atEnd(() => connection().run('ROLLBACK'));
    return tablesOn(connection());
  };
}

function tablesOn(connection: DuckDBConnection): ChapterTables {
  const read = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjects();
  return {
    async fill(table, columns, ...rows) {
      const known = await read(
        `SELECT column_name AS name, data_type AS type, is_nullable AS may_be_null FROM duckdb_columns() WHERE table_name = '${table}'`,
      );
      if (known.length === 0) await connection.run(`CREATE TEMP TABLE ${table} (${columns})`);
      const names = columns.split(',').map((column) => column.trim().split(' ')[0]!);
      const others = known.filter(({ name, may_be_null }) => !may_be_null && !names.includes(String(name)));
      const list = [...names, ...others.map(({ name }) => String(name))].join(', ');
      const rest = others.map(({ type }) => emptyOf(String(type)));
      if (rows.length === 0) return;
      const values = rows.map((row) => `(${[...row.map(literalOf), ...rest].join(', ')})`);
      await connection.run(`INSERT INTO ${table} (${list}) VALUES ${values.join(', ')}`);
    },
    async run(statement, parameters) {
      const rows = await query(connection, `rollup/${statement}`, parameters);
      return rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plainOf(value)])),
      );
    },
    async rows(table, columns) {
      const rows = await read(`SELECT ${columns} FROM ${table} ORDER BY ALL`);
      return rows.map((row) => Object.values(row).map(plainOf));
    },
  };
}

function emptyOf(type: string): string {
  if (type === 'UUID') return `'${deviceOf(0)}'`;
  if (type === 'VARCHAR') return "''";
  if (type === 'BOOLEAN') return 'false';
  if (type.endsWith('[]')) return '[]';
  return type === 'DATE' ? "DATE '1970-01-01'" : '0';
}

function literalOf(cell: Cell): string {
  if (typeof cell === 'string') return `'${cell}'`;
  return Array.isArray(cell) ? `[${cell.map((item) => `'${item}'`).join(', ')}]` : String(cell);
}

const plainOf = (value: unknown) => (typeof value === 'bigint' ? Number(value) : value);
