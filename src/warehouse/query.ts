import { type DuckDBConnection, type DuckDBValue, listValue } from '@duckdb/node-api';
import { insertSafely } from './empty-inserts.ts';
import { loadSql } from './load-sql.ts';

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
  return readRows(connection, sql, { text: sql, parameters });
}

/**
 * As `queryText`, with numbers, plain words and lists of them written into the statement as literals. DuckDB plans a statement with parameters twice,
 * and knows a bound that is a literal while it plans. What is no plain word stays a parameter.
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
  const values = Object.entries(parameters).map(([key, value]) => [
    key,
    Array.isArray(value) ? listValue(value) : value,
  ]);
  // Without values the statement is run as it is. With values, were there none, it would be prepared first.
  const bound = values.length === 0 ? undefined : (Object.fromEntries(values) as Record<string, DuckDBValue>);
  return insertSafely(
    connection,
    sql,
    async () => (await connection.runAndReadAll(text, bound)).getRowObjects() as Row[],
    ([row]) => Number(row?.Count),
  );
}

/** Words that no quoting can go wrong with: names of days, zones and kinds. */
const PLAIN_WORD = /^[\w .,:+/-]{0,80}$/;

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
  // With an exponent a number is a DOUBLE, without one it would be a DECIMAL.
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
