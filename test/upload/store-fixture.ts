import { type StoreOutcome, storeUpload } from '../../src/upload/store-upload.ts';
import type { BudgetRow, MeterRow, Upload } from '../../src/upload/upload-rows.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { openTestShard } from '../publish/publish-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

export const HOUR = 3_600_000;
export const T0 = Date.UTC(2026, 4, 31, 22);

export function interval(startHour: number, hours: number, energyWh: number, meter = 'GRID-1'): MeterRow {
  const [start, end] = [T0 + startHour * HOUR, T0 + (startHour + hours) * HOUR];
  return { line: startHour + 2, meter, start, end, energyWh, direction: null, quality: 'measured' };
}

export function register(hour: number, energyWh: number, meter = 'GRID-1'): MeterRow {
  return { ...interval(hour, 0, energyWh, meter) };
}

export function budget(start: string, end: string, energyWh: number, scenario = 'P50'): BudgetRow {
  return { line: 2, meter: 'PV', start, end, energyWh, scenario };
}

export const intervals = (...rows: MeterRow[]): Upload => ({ kind: 'meter_intervals', rows });
export const registers = (...rows: MeterRow[]): Upload => ({ kind: 'meter_registers', rows });
export const budgets = (...rows: BudgetRow[]): Upload => ({ kind: 'budget', rows });

export async function withShard(
  work: (use: {
    shard: Shard;
    lakeDir: string;
    store: (upload: Upload, again?: boolean) => Promise<StoreOutcome>;
    current: () => Promise<Array<[number, number, number | null, string, number]>>;
  }) => Promise<void>,
): Promise<void> {
  const clock = createTestClock();
  const { shard, lakeDir } = await openTestShard(tempDir(), { clock });
  try {
    await work({
      shard,
      lakeDir,
      store: (upload, again = false) =>
        storeUpload(shard, upload, { name: 'file.csv', actor: 'test', again }, clock.now()),
      current: () =>
        shard.transaction(async (connection) => {
          const rows = await connection.runAndReadAll(
            `SELECT ((start_ms - ${T0}) / ${HOUR})::INTEGER, ((end_ms - ${T0}) / ${HOUR})::INTEGER, energy_wh, quality, revision
             FROM meter_reading WHERE replaced_by IS NULL ORDER BY meter_code, start_ms`,
          );
          return rows.getRows() as Array<[number, number, number | null, string, number]>;
        }),
    });
  } finally {
    await shard.close();
  }
}
