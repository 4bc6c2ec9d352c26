import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { DAY_MS, dayBounds, localDateOf, type UtcMs } from '../lib/time.ts';
import { targetOf } from '../warehouse/empty-inserts.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { queryLiterally, type SqlParameters } from '../warehouse/query.ts';
import { withConstants } from './rule-macros.ts';

/**
 * The objects that the chapters of one roll-up share: the connection with their temporary tables, and the
 * time zone of the days.
 */
export interface RollUpContext {
  connection: DuckDBConnection;
  timezone: string;
  /** A day is final when this much time has passed since its end. */
  closeAfterMs: number;
  /** Also runs statements that have nothing to do. For tests that compare both ways. */
  runAll?: boolean;
  /** True if devices wait for a later call, because they are more work than one call does. */
  hasDeferred?: boolean;
  /** The number of intervals in the scopes that this call has computed so far. */
  computedIntervals?: bigint;
  /** True if only one energy stream is configured, so no series has another series beside it. */
  isAlone?: boolean;
  /** True if series are omitted (table `omitted_series`), because they are set aside or for a trial. */
  omitsSeries?: boolean;
}

/**
 * A time range, both ends included, as the parameters $low_ms and $high_ms of a statement, and as its
 * columns.
 */
export type Bounds = { low_ms: bigint; high_ms: bigint };

/**
 * Creates the temporary tables that chapters fill for later ones, and the views of power. Table `series_rule`
 * must exist.
 */
export async function createTemporaryTables({ connection }: RollUpContext): Promise<void> {
  const names = [
    'create_noted_limit_change',
    'create_left_series',
    'create_empty_tables',
    'create_scope',
    'create_sampled_line',
    'create_power_line',
  ];
  await connection.run(names.map((name) => loadSql(`rollup/${name}`)).join(';\n'));
  const { rows } = temporaryOf(connection);
  for (const table of ['scope', ...LEFT_TABLES]) rows.set(table, 0);
}

/** Tables that later chapters read even if no earlier chapter has filled them in this roll-up. */
const LEFT_TABLES = ['noted_limit_change', 'changed_limit', 'touched_day', 'left_series'];

/**
 * Like `createTemporaryTables`, but keeps the tables of an earlier roll-up on the connection, and empties
 * tables whose old rows would be mixed with the new ones.
 */
export async function prepareTemporaryTables(context: RollUpContext): Promise<void> {
  const { rows } = temporaryOf(context.connection);
  if (!rows.has('scope')) return createTemporaryTables(context);
  for (const table of LEFT_TABLES) await clearTable(context, table);
}

/** The known facts about the temporary tables of a connection. */
interface Temporary {
  /** Number of rows that statements have put into each table. A table that does not exist is missing here. */
  rows: Map<string, number>;
  /** The days in `local_day`, and whether `interval_day` has the same days. */
  days?: BoundDays;
}

const temporary = new WeakMap<DuckDBConnection, Temporary>();

function temporaryOf(connection: DuckDBConnection): Temporary {
  const known = temporary.get(connection) ?? { rows: new Map() };
  temporary.set(connection, known);
  return known;
}

/**
 * Forgets everything about the temporary tables of a connection, because its settings are bound again: they
 * have changed, or a transaction was rolled back.
 */
export function forgetTemporaryTables(connection: DuckDBConnection): void {
  temporary.delete(connection);
  // Cached statements contain the constants, which tests can change.
  statements.clear();
}

function countRows(connection: DuckDBConnection, sql: string, count: number): void {
  const { table, isNew } = targetOf(sql) ?? {};
  const { rows } = temporaryOf(connection);
  if (table === undefined) return;
  if (isNew) rows.set(table, count);
  // A table that no statement has created is not temporary.
  else if (rows.has(table)) rows.set(table, rows.get(table)! + count);
}

/** Empties a temporary table. */
async function clearTable({ connection }: RollUpContext, table: string): Promise<void> {
  const { rows } = temporaryOf(connection);
  if (!rows.get(table)) return;
  await connection.run(`DELETE FROM ${table}`);
  rows.set(table, 0);
}

/** The largest possible number of rows of a temporary table. Deleted rows count too. */
export function rowsOf({ connection }: RollUpContext, table: string): number {
  return temporaryOf(connection).rows.get(table) ?? 0;
}

/** Temporary tables with this many rows take about 10 MB. */
const LITTLE_ROWS_MAX = 100_000;

/** True if the temporary tables are small enough to be kept on the connection until the next roll-up. */
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

/** Runs a statement of the roll-up. @returns the number of rows that it added, changed or deleted */
export async function runStatement(
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
 * Runs a statement that creates a temporary table, if it is wanted. If not, the table is emptied.
 * @returns the number of rows
 */
export async function runIf(
  isWanted: boolean,
  context: RollUpContext,
  statement: string,
  parameters: SqlParameters = {},
): Promise<number> {
  const { table } = targetOf(statementOf(statement))!;
  // If the table does not exist yet, the statement must run to create it, even if it finds nothing.
  const isKnown = temporaryOf(context.connection).rows.has(table);
  if (isWanted || context.runAll || !isKnown) return runStatement(context, statement, parameters);
  await clearTable(context, table);
  return 0;
}

/** Runs a statement of the roll-up that returns one row. */
export async function readRow<Row extends Record<string, unknown>>(
  { connection }: RollUpContext,
  statement: string,
  parameters: SqlParameters = {},
): Promise<Row> {
  const [row] = await named(statement, queryLiterally(connection, statementOf(statement), parameters));
  return row as unknown as Row;
}

/** Runs a statement of the roll-up and returns its rows. */
export function readRows<Row extends Record<string, DuckDBValue>>(
  { connection }: RollUpContext,
  statement: string,
  parameters: SqlParameters = {},
): Promise<Row[]> {
  return named(statement, queryLiterally<Row>(connection, statementOf(statement), parameters));
}

/** Adds the name of the statement to an error of the database. */
function named<Result>(statement: string, running: Promise<Result>): Promise<Result> {
  return running.catch((error: unknown) => {
    if (error instanceof Error) Object.assign(error, { statement });
    throw error;
  });
}

/** Extra days that are bound on either side, because the next roll-up often needs the neighbours. */
const DAYS_BESIDE = 3;

interface BoundDays {
  timezone: string;
  fromMs: UtcMs;
  toMs: UtcMs;
  byInterval: boolean;
}

/**
 * Fills the table of local days that the statements join, with some days more on either side; with
 * `byInterval` also the table of the day of each interval. Days that are bound already are kept. The bounds
 * are computed here, because functions of the database choose the wrong instant if midnight repeats.
 */
export async function bindDays(
  context: RollUpContext,
  fromMs: UtcMs,
  toMs: UtcMs,
  { byInterval }: { byInterval: boolean },
): Promise<void> {
  const { timezone, connection } = context;
  const known = temporaryOf(connection);
  if (!known.days || !isEnough(known.days, { timezone, fromMs: fromMs - DAY_MS, toMs: toMs + DAY_MS })) {
    const besideMs = DAYS_BESIDE * DAY_MS;
    const bound = { timezone, fromMs: fromMs - besideMs, toMs: toMs + besideMs, byInterval: false };
    const days = dayBounds(localDateOf(bound.fromMs, timezone), localDateOf(bound.toMs, timezone), timezone);
    await runStatement(context, 'bind_days', {
      days: days.map((one) => one.day),
      starts_ms: days.map((one) => BigInt(one.startMs)),
      ends_ms: days.map((one) => BigInt(one.endMs)),
    });
    known.days = bound;
  }
  if (byInterval && !known.days.byInterval) {
    await runStatement(context, 'bind_intervals');
    known.days.byInterval = true;
  }
}

/** True if the bound days contain the wanted ones and not many more. Every statement reads all bound days. */
function isEnough(bound: BoundDays, { timezone, fromMs, toMs }: Omit<BoundDays, 'byInterval'>): boolean {
  const isThere = bound.timezone === timezone && bound.fromMs <= fromMs && bound.toMs >= toMs;
  return isThere && bound.toMs - bound.fromMs <= 4 * (toMs - fromMs) + 30 * DAY_MS;
}
