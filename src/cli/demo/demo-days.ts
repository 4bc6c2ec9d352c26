import { setTimeout as sleep } from 'node:timers/promises';
import { addDays, type LocalDate, localDateOf, type UtcMs } from '../../lib/time.ts';
import type { Site } from '../../simulate/create-site.ts';
import type { SimulationReport } from '../../simulate/run-simulation.ts';

/** One simulated day: the energy of each series in the report and from the simulator, Wh. */
export interface DayComparison {
  day: LocalDate;
  series: number;
  reportedWh: number;
  generatedWh: number;
  /** Series with different energy. */
  different: string[];
}

const LOOK_EVERY_MS = 200;

/**
 * Waits until the report contains everything that was sent.
 * @param pipeline `untilMs`, of `performance`: when to stop waiting
 */
export async function settledDays(
  site: Site,
  sent: Pick<SimulationReport, 'items' | 'simulatedUntilMs'>,
  pipeline: {
    landed: () => number;
    report: (day: LocalDate) => Promise<Record<string, number>>;
    untilMs: number;
  },
): Promise<{ landed: number; days: DayComparison[] }> {
  for (;;) {
    const landed = pipeline.landed();
    const days = await compareDays(site, pipeline.report, sent.simulatedUntilMs);
    const isComplete = landed >= sent.items && days.every(({ different }) => different.length === 0);
    if (isComplete || performance.now() >= pipeline.untilMs) return { landed, days };
    await sleep(LOOK_EVERY_MS);
  }
}

/**
 * Compares the energy of days with the energy that the simulator generated. The days are over, and all their
 * messages have arrived.
 */
async function compareDays(
  site: Site,
  report: (day: LocalDate) => Promise<Record<string, number>>,
  nowMs: UtcMs,
): Promise<DayComparison[]> {
  const comparisons: DayComparison[] = [];
  for (
    let day = localDateOf(site.startMs, site.timezone);
    site.settledMs(day) <= nowMs;
    day = addDays(day, 1)
  ) {
    const reported = await report(day);
    const generated = Object.fromEntries(
      site.truth(day).map(({ device, source, energyWh }) => [`${device}.${source}`, energyWh]),
    );
    const keys = [...new Set([...Object.keys(reported), ...Object.keys(generated)])];
    comparisons.push({
      day,
      series: keys.length,
      reportedWh: sum(reported),
      generatedWh: sum(generated),
      different: keys
        .filter((key) => (reported[key] ?? 0) !== (generated[key] ?? 0))
        .map((key) => `${key} ${reported[key] ?? 'no'} instead of ${generated[key] ?? 'no'} Wh`),
    });
  }
  return comparisons;
}

function sum(energyWh: Record<string, number>): number {
  return Object.values(energyWh).reduce((total, wh) => total + wh, 0);
}
