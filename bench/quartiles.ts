import { quantile } from './statistics.ts';

const ROUNDS = 60;
const ROUNDS_TO_WARM_UP = 15;

/**
 * Runs the functions in turns, so that a busy machine slows all of them.
 * @returns the lower quartile of each, ms
 */
export async function quartilesOf(
  runs: Record<string, () => Promise<unknown>>,
): Promise<Record<string, number>> {
  const durations = new Map<string, number[]>(Object.keys(runs).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS_TO_WARM_UP + ROUNDS; round++) {
    for (const [name, run] of Object.entries(runs)) {
      const started = performance.now();
      await run();
      if (round >= ROUNDS_TO_WARM_UP) durations.get(name)!.push(performance.now() - started);
    }
  }
  return Object.fromEntries([...durations].map(([name, each]) => [name, quantile(each, 0.25)]));
}
