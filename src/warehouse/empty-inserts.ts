import type { DuckDBConnection } from '@duckdb/node-api';

/*
 * DuckDB with more than one thread (1.3 to 1.5.6 at least) loses rows without an error. Where an ordered INSERT ... SELECT or CREATE TABLE AS
 * puts no row into a table, it leaves an empty row group behind what the transaction has put there. What comes next as a row group
 * (122,880 rows) or more, in this transaction or, where so many came before, in a later one, lies behind that, where no scan looks, and
 * COMMIT drops it. A row that comes and goes fills the place.
 */

interface Inserts {
  /** Tables that no row was put into last, and how many were put into each. */
  emptied: Set<string>;
  counts: Map<string, number>;
}

/** Less than a row group, to be safe. */
const MANY = 100_000;

/** What a connection has inserted in its transaction. */
const inserts = new WeakMap<DuckDBConnection, Inserts>();

/**
 * Runs a statement such that the rows it inserts are there afterwards, whatever was not inserted before.
 * @param countOf how many rows were inserted, where the statement inserts rows
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

/** To be called before BEGIN: what transactions before have inserted is in order. */
export function beginInserts(connection: DuckDBConnection): void {
  inserts.delete(connection);
}

/** To be called before COMMIT, so that what later transactions insert is there. */
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

/** The table that a statement puts rows into, if that is what it does; `isNew`: it makes the table. */
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
  // Rows that are not committed yet have higher ids than all others.
  await connection.run(`DELETE FROM ${table} WHERE rowid = (SELECT max(rowid) FROM ${table})`);
}

function anyOf(type: string): string {
  if (type.endsWith('[]')) return '[]';
  return { UUID: "'00000000-0000-0000-0000-000000000000'", DATE: "'1970-01-01'" }[type] ?? "'0'";
}
