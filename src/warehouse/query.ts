import { type DuckDBConnection, type DuckDBValue, listValue } from '@duckdb/node-api';
import { insertSafely } from './empty-inserts.ts';
import { loadSql } from './sql.ts';

/** Values by parameter name; an array is bound as a list. */
export type SqlParameters = Record<
  string,
  DuckDBValue | readonly string[] | readonly bigint[] | readonly number[]
>;

/**
 * Runs `sql/<name>.sql` with its parameters bound by name, and reads all rows.
 * BIGINT and UBIGINT come back as bigint; a bigint parameter is bound as HUGEINT, so the statement casts it.
 */
export function query<Row extends Record<string, DuckDBValue>>(
  connection: DuckDBConnection,
  name: string,
  parameters: SqlParameters = {},
): Promise<Row[]> {
  return queryText(connection, loadSql(name), parameters);
}

/** As `query`, for a statement that is put together from files of `sql/`. */
export async function queryText<Row extends Record<string, DuckDBValue>>(
  connection: DuckDBConnection,
  sql: string,
  parameters: SqlParameters = {},
): Promise<Row[]> {
  const values = Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [key, Array.isArray(value) ? listValue(value) : value]),
  ) as Record<string, DuckDBValue>;
  return insertSafely(
    connection,
    sql,
    async () => (await connection.runAndReadAll(sql, values)).getRowObjects() as Row[],
    ([row]) => Number(row?.Count),
  );
}
