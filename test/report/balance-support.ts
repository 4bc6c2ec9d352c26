import { createHash } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { dayBounds, INTERVAL_MS } from '../../src/lib/time.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { type CaseReading, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';
import { putEmptyWarehouse } from '../warehouse/empty-warehouse.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { openReport, type ReportFixture } from './report-fixture.ts';

/**
 * Wh by interval, as readings of interval energy: every interval of the days, without those that are null.
 */
export interface SourceEnergy {
  device: string;
  source: string;
  wh?: Record<string, number | null>;
  unlistedWh?: number | null;
}

/** The first and the last day. */
interface Days {
  from: string;
  to: string;
}

export type Balance = Record<string, unknown> & {
  flags: string[];
  parts: Array<{ device: string; source: string; role: string; wh: number | null; within: string | null }>;
};
export type Balances = Record<string, Balance>;

export interface BalanceFixture extends ReportFixture {
  /** GETs a balance below the workgroup. @throws where it is refused */
  ask(path: string, token?: string): Promise<Balances>;
}

/** `maxPower` is so high that no value is a spike, and the roll-up takes all values as they are. */
const streams = [
  { table: 't', field: 'wh', method: 'interval_energy', unit: 'Wh', interval: '15m', maxPower: '1 GW' },
] as const;

/** A workgroup. Its sources have had this energy on these local days. */
export async function openBalance(
  settings: Record<string, unknown>,
  days: Days,
  sources: readonly SourceEnergy[],
): Promise<BalanceFixture> {
  const workgroup = workgroupSchema.parse({ id: WORKGROUP, ...settings });
  const at = await openReport(workgroup, await warehouseOf(workgroup.timezone, days, sources));
  await at.publish();
  return {
    ...at,
    async ask(path, token = at.token) {
      const response = await at.get(`/api/v1/orgs/${WORKGROUP}/${path}`, { token });
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      return (await response.json()) as Balances;
    },
  };
}

/**
 * A warehouse with this energy, rolled up. Tests with the same energy and other settings share it, because
 * the roll-up takes half a second.
 */
async function warehouseOf(timezone: string, days: Days, sources: readonly SourceEnergy[]): Promise<string> {
  const key = createHash('sha256')
    .update(JSON.stringify([timezone, days, sources]))
    .digest('hex');
  const image = join(tmpdir(), `wattline-test-energy-${key.slice(0, 16)}.duckdb`);
  if (existsSync(image)) return image;
  const path = join(tempDir(), 'acme.duckdb');
  await putEmptyWarehouse(path);
  const shard = await openTestShard({ path });
  await landReadings(shard, readingsOf(timezone, days, sources));
  await rollUpSite(shard, { timezone, streams });
  await shard.close();
  // Another process may have made it meanwhile: they are the same.
  renameSync(path, image);
  return image;
}

function readingsOf(timezone: string, days: Days, sources: readonly SourceEnergy[]): CaseReading[] {
  const bounds = dayBounds(days.from, days.to, timezone);
  const readings: CaseReading[] = [];
  for (const { device, source, wh = {}, unlistedWh = 0 } of sources) {
    for (let ms = bounds[0]!.startMs; ms < bounds.at(-1)!.endMs; ms += INTERVAL_MS) {
      const start = new Date(ms).toISOString().replace('.000Z', 'Z');
      const value = start in wh ? wh[start]! : unlistedWh;
      if (value !== null) readings.push({ event_time: start, device, source, data: { wh: value } });
    }
  }
  return readings;
}
