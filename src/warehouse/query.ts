import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { insertSafely } from './empty-inserts.ts';
import { loadSql } from './load-sql.ts';

/** Values by parameter name. An array is bound as a list. */
export type SqlParameters = Record<
  string,
  DuckDBValue | readonly string[] | readonly bigint[] | readonly number[]
>;

/**
 * Runs a statement of `sql/` with its parameters bound by name, and reads all rows.
 * BIGINT and UBIGINT are returned as bigint. A bigint parameter is bound as HUGEINT, so the statement must
 * cast it.
 */
export function query<Row extends Record<string, DuckDBValue>>(
  connection: DuckDBConnection,
  name: string,
  parameters: SqlParameters = {},
): Promise<Row[]> {
  return queryText(connection, loadSql(name), parameters);
}

/** Like `query`, for a statement that is composed of several. */
export async function queryText<Row extends Record<string, DuckDBValue>>(
  connection: DuckDBConnection,
  sql: string,
  parameters: SqlParameters = {},
): Promise<Row[]> {
  return readRows(connection, sql, { text: sql, parameters });
}

/**
 * Like `queryText`, but numbers, plain words and lists of them are written into the statement as literals.
 * DuckDB plans a statement with parameters twice, and uses literal bounds for its plan. Other texts stay
 * parameters.
 */
export async function queryLiterally<Row extends Record<string, DuckDBValue>>(
  connection: DuckDBConnection,
  sql: string,
  parameters: SqlParameters = {},
): Promise<Row[]> {
  return readRows(connection, sql, withLiterals(sql, parameters));
}

async function readRows<Row extends Record<string, DuckDBValue>>(
  connection: DuckDBConnection,
  sql: string,
  { text, parameters }: { text: string; parameters: SqlParameters },
): Promise<Row[]> {
  // Loaded here, because commands that open no database need statements, too.
  const { listValue } = await import('@duckdb/node-api');
  const values = Object.entries(parameters).map(([key, value]) => [
    key,
    Array.isArray(value) ? listValue(value) : value,
  ]);
  // An empty list of values is not passed, because DuckDB would then prepare the statement first.
  const bound = values.length === 0 ? undefined : (Object.fromEntries(values) as Record<string, DuckDBValue>);
  return insertSafely(
    connection,
    sql,
    async () => (await connection.runAndReadAll(text, bound)).getRowObjects() as Row[],
    ([row]) => Number(row?.Count),
  );
}

/** Words that need no escaping: names of days, zones, kinds and files. */
const PLAIN_WORD = /^[\w .,:+/-]{0,250}$/;

function withLiterals(sql: string, parameters: SqlParameters): { text: string; parameters: SqlParameters } {
  const left = { ...parameters };
  const text = sql.replace(/\$(\w+)/g, (placeholder, name: string) => {
    const literal = name in parameters ? literalOf(parameters[name]!) : undefined;
    if (literal === undefined) return placeholder;
    delete left[name];
    return literal;
  });
  return { text, parameters: left };
}

function literalOf(value: SqlParameters[string]): string | undefined {
  if (value === null) return 'NULL';
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  // The exponent makes the literal a DOUBLE instead of a DECIMAL.
  if (typeof value === 'number')
    return Number.isSafeInteger(value)
      ? String(value)
      : Number.isFinite(value)
        ? value.toExponential()
        : undefined;
  if (typeof value === 'string') return PLAIN_WORD.test(value) ? `'${value}'` : undefined;
  if (!Array.isArray(value)) return undefined;
  const items = value.map((item) => literalOf(item));
  return items.includes(undefined) ? undefined : `[${items.join(', ')}]`;
}
