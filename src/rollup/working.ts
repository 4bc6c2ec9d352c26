import type { DuckDBConnection } from '@duckdb/node-api';
import { DAY_MS, dayBounds, localDateOf, type UtcMs } from '../time.ts';
import { targetOf } from '../warehouse/empty-inserts.ts';
import { queryLiterally, type SqlParameters } from '../warehouse/query.ts';
import { loadSql } from '../warehouse/sql.ts';
import { withConstants } from './rules.ts';

/** What the chapters of one roll-up share: the connection with their temporary tables, and the zone of the days. */
export interface Working {
  connection: DuckDBConnection;
  timezone: string;
  /** A day is final once this much time has passed since it ended. */
  closeAfterMs: number;
  /** Series are left out (table `left_out`): they are set aside, or a trial looks whether they are what fails. */
  leavesOut?: boolean;
}

/** A part of time, both ends included, as the parameters $low_ms and $high_ms of a statement. */
export type Bounds = { low_ms: bigint; high_ms: bigint };

/** Creates the temporary tables that chapters leave for later ones, and the view of power on them; the rules are there already. */
export async function createWorkingTables({ connection }: Working): Promise<void> {
  await connection.run(`${loadSql('rollup/create_working_tables')}\n${loadSql('rollup/create_power_line')}`);
}

/** How many rows statements have put into the temporary tables that they have made on a connection. */
const temporary = new WeakMap<DuckDBConnection, Map<string, number>>();

function temporaryOf(connection: DuckDBConnection): Map<string, number> {
  const known = temporary.get(connection) ?? new Map<string, number>();
  temporary.set(connection, known);
  return known;
}

function countRows(connection: DuckDBConnection, sql: string, count: number): void {
  const target = targetOf(sql);
  const rows = temporaryOf(connection);
  // What is inserted into a table that no statement has made is stored.
  if (target?.isNew || rows.has(target?.table ?? ''))
    rows.set(target!.table, count + (target!.isNew ? 0 : rows.get(target!.table)!));
}

/** The temporary tables of so many rows take some 10 MB. */
const LITTLE_ROWS_MAX = 100_000;

/** Whether the temporary tables of a connection are small enough to be left there until the next roll-up. */
export function holdsLittle(connection: DuckDBConnection): boolean {
  const counts = [...temporaryOf(connection).values()];
  return counts.reduce((sum, count) => sum + count, 0) <= LITTLE_ROWS_MAX;
}

const statements = new Map<string, string>();

function statementOf(name: string): string {
  const text = statements.get(name) ?? withConstants(loadSql(`rollup/${name}`));
  statements.set(name, text);
  return text;
}

/** Runs a statement of the roll-up by its name. @returns how many rows it has put into a table, changed or removed */
export async function run(
  { connection }: Working,
  statement: string,
  parameters: SqlParameters = {},
): Promise<number> {
  const sql = statementOf(statement);
  const [row] = await named(statement, queryLiterally<{ Count?: bigint }>(connection, sql, parameters));
  const count = Number(row?.Count ?? 0n);
  countRows(connection, sql, count);
  return count;
}

/** Runs a statement of the roll-up that tells one row. */
export async function ask<Row extends Record<string, unknown>>(
  { connection }: Working,
  statement: string,
  parameters: SqlParameters = {},
): Promise<Row> {
  const [row] = await named(statement, queryLiterally(connection, statementOf(statement), parameters));
  return row as unknown as Row;
}

/** Lets an error of the database say which statement threw it. */
function named<Result>(statement: string, running: Promise<Result>): Promise<Result> {
  return running.catch((error: unknown) => {
    if (error instanceof Error) Object.assign(error, { statement });
    throw error;
  });
}

/**
 * Builds the table of local days that the statements join on, a day further on either side. The bounds come from the tz database here, because
 * a database function picks the wrong instant where midnight repeats.
 */
export async function bindDays(working: Working, fromMs: UtcMs, toMs: UtcMs): Promise<void> {
  const { timezone } = working;
  const days = dayBounds(
    localDateOf(fromMs - DAY_MS, timezone),
    localDateOf(toMs + DAY_MS, timezone),
    timezone,
  );
  await run(working, 'bind_days', {
    days: days.map((one) => one.day),
    starts_ms: days.map((one) => BigInt(one.startMs)),
    ends_ms: days.map((one) => BigInt(one.endMs)),
  });
}
