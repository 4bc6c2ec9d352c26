import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { listValue } from '@duckdb/node-api';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { openShard } from '../../src/warehouse/shard.ts';
import { publishAndRenew } from '../publish/publish-and-renew.ts';

export interface FilledDays {
  workgroupId: string;
  devices: number;
  /** The sources of each device. */
  sources: readonly string[];
  firstDay: string;
  /** The number of days. */
  days: number;
  /** `mixed`: one day in a hundred is missing, and four have flags. Default: all days are good. */
  quality?: 'good' | 'mixed';
  /**
   * A day of UTC+0 or near it that has 15-minute intervals too, between 06:00 and 18:00 UTC. Default: none.
   */
  profileDay?: string;
}

const THREADS = 2;

/**
 * Fills the warehouse of a workgroup with days of energy, and publishes them, without readings. No service
 * may run.
 * @returns the duration of the publication, ms
 */
export async function fillDays(dataDir: string, filled: FilledDays): Promise<number> {
  const { workgroupId, devices, sources, firstDay, days, quality = 'good', profileDay } = filled;
  const lakeDir = join(dataDir, 'lake');
  const shard = await openShard({
    path: join(dataDir, 'warehouse', `${workgroupId}.duckdb`),
    workgroupId,
    memoryMegabytes: 1_024,
    threads: THREADS,
    folders: [lakeDir],
    clock: systemClock,
    logger: silentLogger,
  });
  await shard.transaction(async (connection) => {
    await connection.run('SELECT setseed(0.42)');
    await connection.run(
      `INSERT INTO daily_energy (day, device, source, energy_wh, method, stream_id, flags, coverage, status, version, computed_at_ms, batch_id)
       SELECT day, device, source, (random() * 30000)::BIGINT, 'total_energy', 1, ${flagsOf(quality)}, CASE WHEN dice BETWEEN 10 AND 29 THEN (dice * 3) / 100 ELSE 1 END, 'final', 1, 0, 1
       FROM (
         SELECT $day::DATE + d.range::INTEGER AS day, device, source, hash(d.range, device, source) % 1000 AS dice
         FROM range(${days}) d, (SELECT md5(range::VARCHAR)::UUID AS device FROM range(${devices})) v, (SELECT unnest($sources) AS source) s
       )
       WHERE ${quality === 'good'} OR dice >= 10`,
      { day: firstDay, sources: listValue([...sources]) },
    );
    if (profileDay === undefined) return;
    await connection.run(
      `INSERT INTO series (series_id, stream_id, device, source, first_ms, last_ms)
       SELECT row_number() OVER (ORDER BY device, source), stream_id, device, source, epoch_ms(day), epoch_ms(day)
       FROM daily_energy WHERE day = $day::DATE`,
      { day: profileDay },
    );
    await connection.run(
      `INSERT INTO interval_energy (series_id, interval_start_ms, energy_wh, covered_ms, flags)
       SELECT series_id, epoch_ms(day) + (24 + quarter) * 900000, energy_wh // 48 + CASE WHEN quarter < energy_wh % 48 THEN 1 ELSE 0 END, 900000, 0
       FROM daily_energy JOIN series USING (device, source), (SELECT range AS quarter FROM range(48))
       WHERE day = $day::DATE`,
      { day: profileDay },
    );
  });
  const startedMs = performance.now();
  await publishAndRenew(shard, { lakeDir, clock: systemClock, logger: silentLogger });
  const ms = performance.now() - startedMs;
  await shard.close();
  return ms;
}

function flagsOf(quality: 'good' | 'mixed'): string {
  if (quality === 'good') return '0';
  const { partial, contradicted, reset } = flagBits;
  return `CASE WHEN dice < 30 THEN ${partial} WHEN dice < 33 THEN ${contradicted} WHEN dice < 50 THEN ${reset} ELSE 0 END`;
}

/** The devices of `fillDays`, for the configuration. */
export function filledDevices(count: number): Array<{ id: string; name: string }> {
  return Array.from({ length: count }, (_, index) => {
    const hex = createHash('md5').update(String(index)).digest('hex');
    const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    return { id, name: `device ${index + 1}` };
  });
}
