import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { DAY_MS, dayBounds, localDateOf, type UtcMs } from '../lib/time.ts';
import { targetOf } from '../warehouse/empty-inserts.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { queryLiterally, type SqlParameters } from '../warehouse/query.ts';
import { withConstants } from './rules.ts';

/** What the chapters of one roll-up share: the connection with their temporary tables, and the zone of the days. */
export interface RollUpContext {
  connection: DuckDBConnection;
  timezone: string;
  /** A day is final once this much time has passed since it ended. */
  closeAfterMs: number;
  /** Runs every statement, also one that has nothing to do. For tests that compare both ways. */
  runAll?: boolean;
  /** Devices whose limits have moved were put off to later calls. */
  hasDeferred?: boolean;
  /** Days have been noted in this roll-up; otherwise table `touched_day` is of the one before. */
  hasTouched?: boolean;
  /** No series has another one beside it, because only one energy stream is configured. */
  isAlone?: boolean;
  /** Series are left out (table `omitted_series`): they are set aside, or a trial looks whether they are what fails. */
  omitsSeries?: boolean;
}

/** A part of time, both ends included, as the parameters $low_ms and $high_ms of a statement. */
export type Bounds = { low_ms: bigint; high_ms: bigint };

/** Creates the temporary tables that chapters leave for later ones, and the view of power on them; the rules are there already. */
export async function createTemporaryTables({ connection }: RollUpContext): Promise<void> {
  const names = ['create_working_tables', 'create_scope', 'create_power_line'];
  await connection.run(names.map((name) => loadSql(`rollup/${name}`)).join('\n'));
  const { rows } = temporaryOf(connection);
  for (const table of ['scope', 'touched_day', ...LEFT_TABLES]) rows.set(table, 0);
}

/** Tables that later chapters read whether a chapter before has written them in this roll-up or not. */
const LEFT_TABLES = ['noted_limit_change', 'changed_limit'];

/** As `createTemporaryTables`, but what a roll-up before has left on the connection stays, without rows that would be taken for those of now. */
export async function prepareTemporaryTables(context: RollUpContext): Promise<void> {
  const { rows } = temporaryOf(context.connection);
  if (!rows.has('scope')) return createTemporaryTables(context);
  for (const table of LEFT_TABLES) await emptyTable(context, table);
}

/** What is known of the temporary tables of a connection. */
interface Temporary {
  /** How many rows statements have put into them; no table is here that has not been made. */
  rows: Map<string, number>;
  /** What `local_day` holds, and whether `interval_day` holds the same. */
  days?: BoundDays;
}

const temporary = new WeakMap<DuckDBConnection, Temporary>();

function temporaryOf(connection: DuckDBConnection): Temporary {
  const known = temporary.get(connection) ?? { rows: new Map() };
  temporary.set(connection, known);
  return known;
}

/** What is known of a connection may not be so any more: its settings are bound anew, because they have changed or a transaction was rolled back. */
export function forgetTemporaryTables(connection: DuckDBConnection): void {
  temporary.delete(connection);
  // The numbers in them are those of the macros, which are made anew with the settings.
  statements.clear();
}

function countRows(connection: DuckDBConnection, sql: string, count: number): void {
  const { table, isNew } = targetOf(sql) ?? {};
  const { rows } = temporaryOf(connection);
  if (table === undefined) return;
  if (isNew) rows.set(table, count);
  // What is inserted into a table that no statement has made is stored.
  else if (rows.has(table)) rows.set(table, rows.get(table)! + count);
}

/** Empties a temporary table that has rows. */
export async function emptyTable({ connection }: RollUpContext, table: string): Promise<void> {
  const { rows } = temporaryOf(connection);
  if (!rows.get(table)) return;
  await connection.run(`DELETE FROM ${table}`);
  rows.set(table, 0);
}

/** How many rows a temporary table has at most: rows that were removed count as well. */
export function rowsOf({ connection }: RollUpContext, table: string): number {
  return temporaryOf(connection).rows.get(table) ?? 0;
}

/** The temporary tables of so many rows take some 10 MB. */
const LITTLE_ROWS_MAX = 100_000;

/** Whether the temporary tables of a connection are small enough to be left there until the next roll-up. */
export function hasFewTemporaryRows(connection: DuckDBConnection): boolean {
  const counts = [...temporaryOf(connection).rows.values()];
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
  { connection }: RollUpContext,
  statement: string,
  parameters: SqlParameters = {},
): Promise<number> {
  const sql = statementOf(statement);
  const [row] = await named(statement, queryLiterally<{ Count?: bigint }>(connection, sql, parameters));
  const count = Number(row?.Count ?? 0n);
  countRows(connection, sql, count);
  return count;
}

/**
 * Runs a statement that makes a temporary table; where it has nothing to do, the table is left empty without it.
 * @returns how many rows there are
 */
export async function runIf(
  isWanted: boolean,
  context: RollUpContext,
  statement: string,
  parameters: SqlParameters = {},
): Promise<number> {
  const { table } = targetOf(statementOf(statement))!;
  // Where the table is not known yet, the statement makes it, and finds nothing.
  const isKnown = temporaryOf(context.connection).rows.has(table);
  if (isWanted || context.runAll || !isKnown) return run(context, statement, parameters);
  await emptyTable(context, table);
  return 0;
}

/** Runs a statement of the roll-up that tells one row. */
export async function readRow<Row extends Record<string, unknown>>(
  { connection }: RollUpContext,
  statement: string,
  parameters: SqlParameters = {},
): Promise<Row> {
  const [row] = await named(statement, queryLiterally(connection, statementOf(statement), parameters));
  return row as unknown as Row;
}

/** Runs a statement of the roll-up, and reads its rows. */
export function readRows<Row extends Record<string, DuckDBValue>>(
  { connection }: RollUpContext,
  statement: string,
  parameters: SqlParameters = {},
): Promise<Row[]> {
  return named(statement, queryLiterally<Row>(connection, statementOf(statement), parameters));
}

/** Lets an error of the database say which statement threw it. */
function named<Result>(statement: string, running: Promise<Result>): Promise<Result> {
  return running.catch((error: unknown) => {
    if (error instanceof Error) Object.assign(error, { statement });
    throw error;
  });
}

/** Days on either side that are bound beside those that are asked for, because the next roll-up often asks for its neighbours. */
const DAYS_BESIDE = 3;

interface BoundDays {
  timezone: string;
  fromMs: UtcMs;
  toMs: UtcMs;
  byInterval: boolean;
}

/**
 * Builds the table of local days that the statements join on, a day further on either side or a few more, and, `byInterval`, the one of the day of
 * each interval. Where those that are there do, they stay. The bounds come from the tz database here, because a database function picks the
 * wrong instant where midnight repeats.
 */
export async function bindDays(
  context: RollUpContext,
  fromMs: UtcMs,
  toMs: UtcMs,
  byInterval: boolean,
): Promise<void> {
  const { timezone, connection } = context;
  const known = temporaryOf(connection);
  if (!known.days || !isEnough(known.days, { timezone, fromMs: fromMs - DAY_MS, toMs: toMs + DAY_MS })) {
    const besideMs = DAYS_BESIDE * DAY_MS;
    const bound = { timezone, fromMs: fromMs - besideMs, toMs: toMs + besideMs, byInterval: false };
    const days = dayBounds(localDateOf(bound.fromMs, timezone), localDateOf(bound.toMs, timezone), timezone);
    await run(context, 'bind_days', {
      days: days.map((one) => one.day),
      starts_ms: days.map((one) => BigInt(one.startMs)),
      ends_ms: days.map((one) => BigInt(one.endMs)),
    });
    known.days = bound;
  }
  if (byInterval && !known.days.byInterval) {
    await run(context, 'bind_intervals');
    known.days.byInterval = true;
  }
}

/** Whether bound days hold the wanted ones, and not many more, which every statement would look at. */
function isEnough(bound: BoundDays, { timezone, fromMs, toMs }: Omit<BoundDays, 'byInterval'>): boolean {
  const isThere = bound.timezone === timezone && bound.fromMs <= fromMs && bound.toMs >= toMs;
  return isThere && bound.toMs - bound.fromMs <= 4 * (toMs - fromMs) + 30 * DAY_MS;
}
