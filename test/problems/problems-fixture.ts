import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { findProblems } from '../../src/problems/find-problems.ts';
import { rollUp } from '../../src/rollup/roll-up.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { type CaseReading, DEVICE, landReadings } from '../rollup/rollup-fixture.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

export const OTHER = DEVICE.replace(/1$/, '2');
export const total = { table: 'solar', field: 'total', method: 'total_energy', maxPower: '10 kW' };

/** Readings since midnight of the first of June, one in so many hours. */
const every =
  (hours: number) =>
  (count: number, dataOf: (index: number) => CaseReading['data'], reading: Partial<CaseReading> = {}) =>
    Array.from({ length: count }, (_, index) => ({
      table: 'solar',
      ...reading,
      event_time: new Date(Date.UTC(2024, 5, 1) + index * hours * 3_600_000).toISOString(),
      data: dataOf(index),
    }));
export const [everySixHours, everyQuarter] = [every(6), every(0.25)];

/** The problems of a workgroup with these settings and readings, by the path of the setting. */
export async function problemsOf(
  settings: Record<string, unknown>,
  readings: CaseReading[],
  shard?: Shard,
): Promise<Record<string, string>> {
  const opened = shard ?? (await openTestShard());
  if (readings.length > 0) await landReadings(opened, readings);
  await rollUp(opened, {
    workgroup: workgroupSchema.parse({ id: 'acme', ...settings }),
    clock: { now: () => Date.UTC(2030, 0, 1) },
    closeAfterMs: 0,
    logger: silentLogger,
  });
  return foundIn(opened, settings);
}

/** The problems of energy that is rolled up already. */
export async function foundIn(
  shard: Shard,
  settings: Record<string, unknown>,
): Promise<Record<string, string>> {
  const workgroup = workgroupSchema.parse({ id: 'acme', ...settings });
  const problems = await shard.read((connection) => findProblems(connection, workgroup));
  return Object.fromEntries(problems.map(({ path, message }) => [path, message]));
}

/** A register that grows, of table `solar` or of what is given. */
export const growingOf = (whose: Partial<CaseReading>) =>
  everySixHours(3, (index) => ({ total: 1_000 * index, state: 'run' }), whose);
