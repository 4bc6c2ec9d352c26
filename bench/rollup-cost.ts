import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ratio } from './decode.ts';
import type { Measured, PartName } from './rollup-cost-worker.ts';

/** Of each warehouse. */
const MEMORY_MEGABYTES = 1_024;
/**
 * The memory that a process needs for a roll-up beyond the limit of the warehouse: for statements, for
 * results, and for what DuckDB does not count.
 */
const BESIDE_MEGABYTES = 384;

/**
 * The cost of a roll-up with little new data. It measures statements and CPU time for a late reading, a call
 * without news and nights of zeros, and the longest transaction after a limit has changed. Compares the first
 * roll-up of messages with a full one of stored readings. Each warehouse has a separate process, because
 * memory that a warehouse has given back counts as taken until another warehouse needs it.
 */
export async function benchRollUpCost(print: (line: string) => void): Promise<Ratio[]> {
  const year = await measure('year', print);
  const growing = await measure('growing', print);
  const zeros = await measure('zeros', print);
  const moved = await measure('moved', print);
  return [
    ...year.ratios,
    {
      name: 'zeros every night: CPU of a late reading without them, times its own',
      ratio: growing.lateCpuMs! / zeros.lateCpuMs!,
      ratioMin: 0.8,
    },
    ...moved.ratios,
    ...Object.entries({ year, growing, zeros, moved }).map(([name, { takenMegabytes }]) => ({
      name: `memory of ${name}: the limit and ${BESIDE_MEGABYTES} MB, of what it takes at most`,
      ratio: (MEMORY_MEGABYTES + BESIDE_MEGABYTES) / takenMegabytes,
      ratioMin: 1,
    })),
  ];
}

/** Measures one part in a separate process. */
async function measure(name: PartName, print: (line: string) => void): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const child = fork(new URL('./rollup-cost-worker.ts', import.meta.url), [
    name,
    folder,
    String(MEMORY_MEGABYTES),
  ]);
  try {
    const measured = await answerOf(child);
    for (const line of measured.lines) print(line);
    print(`memory of ${name}: ${Math.round(measured.takenMegabytes)} MB more than before at most`);
    return measured;
  } finally {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws Error if the process ends without an answer. The reason is on standard error */
async function answerOf(child: ChildProcess): Promise<Measured> {
  const exited = new AbortController();
  child.once('exit', (code) => exited.abort(new Error(`the benchmark ended with ${code}`)));
  const [measured] = await once(child, 'message', { signal: exited.signal });
  return measured as Measured;
}
