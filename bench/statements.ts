import { DuckDBConnection } from '@duckdb/node-api';

/** What a piece of work takes. */
export interface Work {
  statements: number;
  /** CPU of the whole process (ms): the engine works on threads of its own. */
  cpuMs: number;
  ms: number;
}

/** Counts the statements that DuckDB is given and the CPU that the process takes, while something is done. */
export async function measured(work: () => Promise<unknown>): Promise<Work> {
  const { prototype } = DuckDBConnection;
  const { run } = prototype;
  let statements = 0;
  // Every statement of the roll-up comes by here.
  prototype.run = function (...given) {
    statements++;
    return run.apply(this, given);
  };
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  try {
    await work();
  } finally {
    prototype.run = run;
  }
  const { user, system } = process.cpuUsage(cpu);
  return { statements, cpuMs: (user + system) / 1_000, ms: performance.now() - startMs };
}
