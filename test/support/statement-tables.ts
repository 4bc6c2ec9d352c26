import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../../src/warehouse/query.ts';
import { shared } from './shared.ts';

type Cell = string | number | boolean | null | readonly string[];

/** Statements of `sql/` over rows that a test writes by hand. */
export interface StatementTables {
  /**
   * Adds rows to a table: lists of values, or SQL. A table of the schema takes 0 or '' for every column that
   * is not named and cannot be null. Any other table is made if its columns have types:
   * `series_id INTEGER`.
   */
  fill(table: string, columns: string, ...rows: Array<readonly Cell[] | string>): Promise<void>;
  /** Runs a statement of `sql/`. @returns its rows, 64-bit integers as numbers */
  run(statement: string, parameters?: SqlParameters): Promise<Array<Record<string, unknown>>>;
  /** Runs SQL. @returns its rows as lists, 64-bit integers as numbers */
  read(sql: string): Promise<unknown[][]>;
}

/**
 * Opens one database for all tests of a file.
 * @param open returns its connection, and closes it when the tests of the file have finished
 * @returns a function that undoes what its callers before have written, so each begins with empty tables
 */
export function statementTables(open: () => Promise<DuckDBConnection>): () => Promise<StatementTables> {
  const database = shared(async () => {
    const connection = await open();
    await connection.run('BEGIN');
    return { connection, fillers: await readFillers(connection) };
  });
  return async () => {
    const { connection, fillers } = database();
    await connection.run('ROLLBACK');
    await connection.run('BEGIN');
    return tablesOn(connection, fillers);
  };
}

/** By table of the schema: columns that cannot be null, with the value of a row that does not name them. */
type Fillers = ReadonlyMap<string, ReadonlyArray<readonly [column: string, value: string]>>;

async function readFillers(connection: DuckDBConnection): Promise<Fillers> {
  const columns = await queryText<Record<string, DuckDBValue>>(
    connection,
    'SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() WHERE NOT internal',
  );
  return new Map(
    [...Map.groupBy(columns, ({ table_name }) => String(table_name))].map(([table, own]) => [
      table,
      own
        .filter(({ is_nullable }) => !is_nullable)
        .map(({ column_name, data_type }) => [String(column_name), emptyOf(String(data_type))]),
    ]),
  );
}

function tablesOn(connection: DuckDBConnection, fillers: Fillers): StatementTables {
  return {
    async fill(table, columns, ...rows) {
      const parts = columns.split(',').map((column) => column.trim());
      const names = parts.map((part) => part.split(' ')[0]!);
      const others = fillers.get(table)?.filter(([column]) => !names.includes(column));
      if (others === undefined && parts.some((part) => part.includes(' ')))
        await connection.run(`CREATE TEMP TABLE IF NOT EXISTS ${table} (${columns})`);
      if (rows.length === 0) return;
      const rest = others ?? [];
      const list = [...names, ...rest.map(([column]) => column)].join(', ');
      const values = rows.map((row) => `(${[cellsOf(row), ...rest.map(([, value]) => value)].join(', ')})`);
      await connection.run(`INSERT INTO ${table} (${list}) VALUES ${values.join(', ')}`);
    },
    async run(statement, parameters) {
      const rows = await queryText(connection, loadSql(statement), parameters);
      return rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plainOf(value)])),
      );
    },
    async read(sql) {
      return (await queryText(connection, sql)).map((row) => Object.values(row).map(plainOf));
    },
  };
}

function emptyOf(type: string): string {
  if (type === 'UUID') return "'00000000-0000-4000-8000-000000000000'";
  if (type === 'VARCHAR') return "''";
  if (type === 'BOOLEAN') return 'false';
  if (type.endsWith('[]')) return '[]';
  return type === 'DATE' ? "DATE '1970-01-01'" : '0';
}

const cellsOf = (row: readonly Cell[] | string) =>
  typeof row === 'string' ? row : row.map(literalOf).join(', ');

function literalOf(cell: Cell): string {
  if (typeof cell === 'string') return `'${cell}'`;
  return Array.isArray(cell) ? `[${cell.map((item) => `'${item}'`).join(', ')}]` : String(cell);
}

const plainOf = (value: unknown) => (typeof value === 'bigint' ? Number(value) : value);
