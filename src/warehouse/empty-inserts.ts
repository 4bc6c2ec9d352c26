import type { DuckDBConnection } from '@duckdb/node-api';

/*
 * DuckDB with more than one thread (at least 1.3 to 1.5.6) loses rows without an error. If an ordered INSERT
 * ... SELECT or CREATE TABLE AS adds no row to a table, it leaves an empty row group. If a later insert has
 * as many rows as a row group (122,880) or more, DuckDB stores them behind the empty one. No scan reads them
 * there, and COMMIT drops them. Inserting and deleting one row avoids the bug.
 */

interface Inserts {
  /** Tables into which the last insert added no row. */
  emptied: Set<string>;
  /** The number of rows that were inserted into each table. */
  counts: Map<string, number>;
}

/**
 * This many rows are treated like a row group. To be safe, the number is lower than the rows of a real one.
 */
const MANY = 100_000;

/** The inserts of a connection in its current transaction. */
const inserts = new WeakMap<DuckDBConnection, Inserts>();

/**
 * Runs a statement so that no inserted row is lost by the bug above.
 * @param countOf returns the number of inserted rows from the result
 */
export async function insertSafely<Result>(
  connection: DuckDBConnection,
  sql: string,
  run: () => Promise<Result>,
  countOf: (result: Result) => number,
): Promise<Result> {
  const target = targetOf(sql);
  if (target === undefined) return run();
  const { table, isNew } = target;
  const { emptied, counts } = insertsOf(connection);
  if (emptied.delete(table) && !isNew) await fillPlace(connection, table);
  const result = await run();
  const count = countOf(result);
  if (count === 0) emptied.add(table);
  counts.set(table, (isNew ? 0 : (counts.get(table) ?? 0)) + count);
  return result;
}

/** Call it before BEGIN. It forgets the inserts of earlier transactions. */
export function beginInserts(connection: DuckDBConnection): void {
  inserts.delete(connection);
}

/** Call it before COMMIT. It protects the inserts of later transactions. */
export async function endInserts(connection: DuckDBConnection): Promise<void> {
  const { emptied, counts } = insertsOf(connection);
  for (const table of emptied) {
    if (counts.get(table)! >= MANY) await fillPlace(connection, table);
  }
}

function insertsOf(connection: DuckDBConnection): Inserts {
  const known = inserts.get(connection) ?? { emptied: new Set(), counts: new Map() };
  inserts.set(connection, known);
  return known;
}

type Target = { table: string; isNew: boolean };
const targets = new Map<string, Target | undefined>();
const INSERTS = /^(?:--.*\n|\s)*(?:INSERT INTO (\w+)|CREATE (?:OR REPLACE )?(?:TEMP )?TABLE (\w+) AS\b)/;

/** The table into which a statement inserts rows, if it does; `isNew`: the statement creates the table. */
export function targetOf(sql: string): Target | undefined {
  if (!targets.has(sql)) {
    const [, into, created] = INSERTS.exec(sql) ?? [];
    const table = into ?? created;
    targets.set(sql, table === undefined ? undefined : { table, isNew: into === undefined });
  }
  return targets.get(sql);
}

async function fillPlace(connection: DuckDBConnection, table: string): Promise<void> {
  const columns = await connection.runAndReadAll(`DESCRIBE ${table}`);
  const values = columns
    .getRowObjects()
    .map(({ column_type }) => `CAST(${anyOf(String(column_type))} AS ${column_type})`);
  await connection.run(`INSERT INTO ${table} VALUES (${values.join(', ')})`);
  // Uncommitted rows have higher ids than all others.
  await connection.run(`DELETE FROM ${table} WHERE rowid = (SELECT max(rowid) FROM ${table})`);
}

function anyOf(type: string): string {
  if (type.endsWith('[]')) return '[]';
  return { UUID: "'00000000-0000-0000-0000-000000000000'", DATE: "'1970-01-01'" }[type] ?? "'0'";
}
