import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ratio } from './decode.ts';
import { fillSite, openSite, rollUpAll, siteConfig } from './rollup-data.ts';
import { type Times, timesOf } from './statement-times.ts';

const MEMORY_MEGABYTES = 1_024;
const THREADS = 2;
const ROUNDS = 3;
const READINGS = 2_000_000;
/** How many statements are listed. */
const TOP = 20;

/**
 * Compares the first roll-up with a full one. The first begins with messages that have landed, and stores
 * readings, intervals and days. The full one begins with the stored readings. Prints how much CPU each takes,
 * and which statements take it.
 */
export async function benchRollUpFirst(print: (line: string) => void): Promise<Ratio[]> {
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const shard = await openSite(folder, { memoryMegabytes: MEMORY_MEGABYTES, threads: THREADS });
  try {
    await fillSite(shard, { devices: 200, readings: READINGS, stepMs: 300_000, batch: 250_000 });
    const first = await timesOf(() => rollUpAll(shard, siteConfig('Europe/Paris')));
    printTimes(`first roll-up of ${READINGS} messages`, first);
    const full: Times[] = [];
    // With another time zone, every interval and day is computed again from the stored readings.
    for (let round = 0; round < ROUNDS; round++)
      full.push(
        await timesOf(() => rollUpAll(shard, siteConfig(round % 2 === 0 ? 'Europe/London' : 'Europe/Paris'))),
      );
    const middle = full.toSorted((one, other) => one.cpuMs - other.cpuMs)[ROUNDS >> 1]!;
    printTimes('full roll-up of stored readings', middle);
    return [
      {
        name: 'first roll-up: CPU of a full one of stored readings, times its own',
        ratio: middle.cpuMs / first.cpuMs,
        ratioMin: 1 / 5,
      },
    ];
  } finally {
    await shard.close();
    rmSync(folder, { recursive: true, force: true });
  }

  function printTimes(title: string, { cpuMs, ms, statements }: Times): void {
    print(`${title}: ${(cpuMs / 1_000).toFixed(2)} s of CPU, ${(ms / 1_000).toFixed(2)} s`);
    for (const { name, runs, cpuMs: own } of statements.slice(0, TOP))
      print(
        `  ${(name ?? '(others)').padEnd(26)} ${String(runs).padStart(4)} runs ${own.toFixed(0).padStart(7)} ms ${((100 * own) / cpuMs).toFixed(1).padStart(5)} %`,
      );
  }
}
