import type { DuckDBConnection } from '@duckdb/node-api';

/*
 * DuckDB with more than one thread (1.3 to 1.5.6 at least) loses rows without an error. Where an INSERT ... SELECT of a transaction, in
 * order, has put no row into a table, it leaves an empty row group; a later one that brings a row group (122,880 rows) or more puts them
 * behind that, where no scan looks, and COMMIT drops them. A row that comes and goes fills the place.
 */

/** The tables into which a connection put nothing last. A transaction has a connection of its own. */
const emptied = new WeakMap<DuckDBConnection, Set<string>>();

/** Runs a statement as `run`, such that rows which it inserts are there afterwards, whatever was not inserted before. */
export async function insertSafely<Result>(
  connection: DuckDBConnection,
  sql: string,
  run: () => Promise<Result>,
  countOf: (result: Result) => unknown,
): Promise<Result> {
  const table = tableOf(sql);
  if (table === undefined) return run();
  if (emptied.get(connection)?.delete(table)) await fillPlace(connection, table);
  const result = await run();
  if (Number(countOf(result)) === 0) {
    if (!emptied.has(connection)) emptied.set(connection, new Set());
    emptied.get(connection)!.add(table);
  }
  return result;
}

const tables = new Map<string, string | undefined>();

/** The table that a statement inserts into, if that is what it does. */
function tableOf(sql: string): string | undefined {
  if (!tables.has(sql)) tables.set(sql, /^(?:--.*\n|\s)*INSERT INTO (\w+)/.exec(sql)?.[1]);
  return tables.get(sql);
}

async function fillPlace(connection: DuckDBConnection, table: string): Promise<void> {
  const columns = await connection.runAndReadAll(`DESCRIBE ${table}`);
  const values = columns
    .getRowObjects()
    .map(({ column_type }) => `CAST(${anyOf(String(column_type))} AS ${column_type})`);
  await connection.run(`INSERT INTO ${table} VALUES (${values.join(', ')})`);
  // Rows that are not committed yet have higher ids than all others.
  await connection.run(`DELETE FROM ${table} WHERE rowid = (SELECT max(rowid) FROM ${table})`);
}

function anyOf(type: string): string {
  if (type.endsWith('[]')) return '[]';
  return { UUID: "'00000000-0000-0000-0000-000000000000'", DATE: "'1970-01-01'" }[type] ?? "'0'";
}
