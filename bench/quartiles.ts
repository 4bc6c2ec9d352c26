import { quantile } from './statistics.ts';

/** The part of the rounds that is run before, so that the code is compiled as in a service that runs. */
const WARM_UP = 0.25;

/**
 * Runs the functions in turns, so that a busy machine slows all of them.
 * @returns the lower quartile of each, ms
 */
export async function quartilesOf(
  runs: Record<string, () => Promise<unknown>>,
  rounds = 60,
): Promise<Record<string, number>> {
  const durations = new Map<string, number[]>(Object.keys(runs).map((name) => [name, []]));
  for (let round = 0; round < rounds * (1 + WARM_UP); round++) {
    for (const [name, run] of Object.entries(runs)) {
      const started = performance.now();
      await run();
      if (round >= rounds * WARM_UP) durations.get(name)!.push(performance.now() - started);
    }
  }
  return Object.fromEntries([...durations].map(([name, each]) => [name, quantile(each, 0.25)]));
}
