import { join } from 'node:path';
import { DuckDBConnection } from '@duckdb/node-api';
import { withConstants } from '../src/rollup/rule-macros.ts';
import { readStatements } from '../src/warehouse/load-sql.ts';

/** The cost of all runs of one statement. */
export interface StatementTime {
  /** The name in the chapters of sql/rollup; null for a statement without a name there, such as COMMIT. */
  name: string | null;
  runs: number;
  /** CPU time of the whole process (ms), because DuckDB works on threads of its own. */
  cpuMs: number;
}

export interface Times {
  cpuMs: number;
  ms: number;
  /** The number of statements that were run. */
  runs: number;
  /** The dearest first. */
  statements: StatementTime[];
}

/** Measures each statement that DuckDB runs while `work` runs. Statements run one after the other. */
export async function timesOf(work: () => Promise<unknown>): Promise<Times> {
  const { prototype } = DuckDBConnection;
  const { run } = prototype;
  const times: Array<{ sql: string; cpuMs: number }> = [];
  // Every statement of the roll-up uses this function.
  prototype.run = async function (...parameters) {
    const before = process.cpuUsage();
    try {
      return await run.apply(this, parameters);
    } finally {
      times.push({ sql: parameters[0], cpuMs: cpuMsSince(before) });
    }
  };
  const before = process.cpuUsage();
  const startMs = performance.now();
  try {
    await work();
  } finally {
    prototype.run = run;
  }
  const [cpuMs, ms] = [cpuMsSince(before), performance.now() - startMs];
  return { cpuMs, ms, runs: times.length, statements: byName(times) };
}

function byName(given: ReadonlyArray<{ sql: string; cpuMs: number }>): StatementTime[] {
  const nameOf = statementNames();
  return [...Map.groupBy(given, ({ sql }) => nameOf(sql))]
    .map(([name, those]) => ({
      name,
      runs: those.length,
      cpuMs: those.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    }))
    .toSorted((one, other) => other.cpuMs - one.cpuMs);
}

/**
 * A statement that runs has numbers in place of its parameters. So it is recognized by its text before the
 * first parameter, without comments.
 */
function statementNames(): (sql: string) => string | null {
  const beginnings = [...readStatements(join(import.meta.dirname, '../sql/rollup'))]
    .map(([name, text]) => ({ name, beginning: withoutComments(withConstants(text)).split('$', 1)[0]! }))
    .toSorted((one, other) => other.beginning.length - one.beginning.length);
  return (text) => {
    const sql = withoutComments(text);
    return beginnings.find(({ beginning }) => sql.startsWith(beginning))?.name ?? null;
  };
}

function withoutComments(sql: string): string {
  return sql.replaceAll(/^\s*--.*\n/gm, '');
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
