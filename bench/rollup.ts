import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Shard } from '../src/warehouse/shard.ts';
import type { Ratio } from './decode.ts';
import { ROOMY, startPostgres } from './postgres.ts';
import { addLateReading, fillSite, openSite, rollUpAll, siteConfig } from './rollup-data.ts';
import { timesOf } from './statement-times.ts';
import { median } from './statistics.ts';
import { residentMegabytes, watchMemory } from './watch-memory.ts';

const MEMORY_MEGABYTES = 1_024;
/**
 * The memory that the process needs for a roll-up beyond the limit of the warehouse: for statements, for
 * results, and for what DuckDB does not count.
 */
const BESIDE_MEGABYTES = 384;
const THREADS = 2;
const ROUNDS = 3;

/**
 * A full roll-up of ten million readings of registers: from stored readings to stored intervals and days with
 * coverage, flags and the last reading of each interval. The comparisons are a plain window difference in
 * DuckDB, and PostgreSQL computing the same rows. It also measures the cost of one late reading in a year of
 * a thousand devices.
 */
export async function benchRollUp(print: (line: string) => void): Promise<Ratio[]> {
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  try {
    return [...(await benchFull(folder, print)), await benchLate(join(folder, 'year'), print)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function benchFull(folder: string, print: (line: string) => void): Promise<Ratio[]> {
  const beforeMegabytes = residentMegabytes();
  const shard = await openSite(folder, {
    memoryMegabytes: MEMORY_MEGABYTES,
    threads: THREADS,
    folders: [folder],
  });
  try {
    await fillSite(shard, { devices: 200, readings: 10_000_000, stepMs: 300_000, batch: 250_000 });
    const memory = watchMemory();
    const first = await timesOf(() => rollUpAll(shard, siteConfig('Europe/Paris')));
    print(
      `first roll-up of 10 million messages, learning included: ${seconds(first.ms)}, ${seconds(first.cpuMs)} of CPU`,
    );
    const [full, plain]: [number[], number[]] = [[], []];
    // With another time zone, every interval and day is computed again from the stored readings.
    const restate = async () => {
      const zone = full.length % 2 === 0 ? 'Europe/London' : 'Europe/Paris';
      full.push(await timed(() => rollUpAll(shard, siteConfig(zone))));
    };
    for (let round = 0; round < ROUNDS; round++) {
      await restate();
      plain.push(await timed(() => plainDifference(shard)));
    }
    const takenMegabytes = memory.peakMegabytes() - beforeMegabytes;
    print(
      `memory: ${Math.round(takenMegabytes)} MB more than before at most, ${MEMORY_MEGABYTES} MB of them are the warehouse's limit`,
    );
    const [besideMs, plainMs] = [median(full), median(plain)];
    print(
      `full roll-up: ${seconds(besideMs)}; plain window difference, as quarter hours and days: ${seconds(plainMs)}`,
    );
    const ratios: Ratio[] = [
      {
        name: 'full roll-up: speed of a plain window difference in DuckDB',
        ratio: plainMs / besideMs,
        ratioMin: 1 / 3,
      },
      {
        name: `full roll-up: the memory limit and ${BESIDE_MEGABYTES} MB, of the memory it takes at most`,
        ratio: (MEMORY_MEGABYTES + BESIDE_MEGABYTES) / takenMegabytes,
        ratioMin: 1,
      },
    ];
    const postgresMs: number[] = [];
    for (const settings of [[], ROOMY]) {
      const ms = await againstPostgres(shard, folder, settings);
      if (ms === undefined) {
        print('PostgreSQL is not installed (apt-get install postgresql); not compared');
        return ratios;
      }
      postgresMs.push(ms);
      // The roll-up runs before, between and after the runs of PostgreSQL, because the speed of a machine
      // changes.
      for (let round = 0; round < ROUNDS; round++) await restate();
    }
    const [installedMs, roomyMs] = postgresMs as [number, number];
    const fullMs = median(full);
    print(`full roll-up, before, between and after PostgreSQL: ${full.map(seconds).join(', ')}`);
    const times = (ms: number) => `${seconds(ms)}, ${(ms / fullMs).toFixed(2)} times`;
    print(`PostgreSQL, the same intervals: ${times(installedMs)}`);
    print(`  with ${ROOMY.slice(0, 2).join(', ')}: ${times(roomyMs)}`);
    ratios.push(
      {
        name: 'full roll-up: times as fast as PostgreSQL as Debian installs it',
        ratio: installedMs / fullMs,
        ratioMin: 6,
      },
      {
        name: 'full roll-up: times as fast as PostgreSQL with more memory',
        ratio: roomyMs / fullMs,
        ratioMin: 6,
      },
    );
    return ratios;
  } finally {
    await shard.close();
  }
}

/**
 * Stores the growth between neighbouring readings, summed by quarter of an hour and by UTC day. It
 * interpolates no bound, and it looks for no fault.
 */
async function plainDifference(shard: Shard): Promise<void> {
  await shard.transaction(async (connection) => {
    await connection.run(
      'CREATE OR REPLACE TABLE plain_interval (series_id INTEGER, i BIGINT, energy_wh DOUBLE)',
    );
    await connection.run(
      `INSERT INTO plain_interval
       SELECT series_id, event_time_ms // 900000 AS i, sum(value - previous)
       FROM (SELECT series_id, event_time_ms, value, lag(value) OVER (PARTITION BY series_id ORDER BY event_time_ms) AS previous FROM reading)
       GROUP BY ALL ORDER BY i, series_id`,
    );
    await connection.run(
      'CREATE OR REPLACE TABLE plain_day AS SELECT series_id, i // 96 AS day, sum(energy_wh) AS energy_wh FROM plain_interval GROUP BY ALL',
    );
  });
}

/** @returns the time that PostgreSQL takes for the same rows; undefined if it is not installed */
async function againstPostgres(
  shard: Shard,
  folder: string,
  settings: readonly string[],
): Promise<number | undefined> {
  const postgres = startPostgres(settings);
  if (!postgres) return undefined;
  try {
    const csv = join(folder, 'readings.csv');
    const own = await shard.transaction(async (connection) => {
      await connection.run(
        `COPY (SELECT series_id, event_time_ms, value FROM reading) TO '${csv}' (HEADER false)`,
      );
      const reader = await connection.runAndReadAll(
        `SELECT count(*)::VARCHAR || '|' || sum(energy_wh)::VARCHAR || '|' || sum(covered_ms)::VARCHAR || '|' || sum(hash_of)::VARCHAR
         FROM (SELECT *, (energy_wh * (interval_start_ms // 900000 % 1009 + series_id)) AS hash_of FROM interval_energy)`,
      );
      return String(reader.getRows()[0]![0]);
    });
    chmodSync(folder, 0o755);
    postgres.run(`CREATE TABLE reading (series_id integer, event_time_ms bigint, value double precision);
      \\copy reading FROM '${csv}' WITH (FORMAT csv)
      CREATE UNIQUE INDEX ON reading (series_id, event_time_ms) INCLUDE (value);
      VACUUM ANALYZE reading;`);
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      postgres.run('DROP TABLE IF EXISTS interval_energy, daily_energy;');
      times.push(await timed(async () => postgres.run(SAME_IN_POSTGRES)));
    }
    const theirs = postgres.run(
      `SELECT concat_ws('|', count(*), sum(energy_wh), sum(covered_ms), sum(energy_wh * (interval_start_ms / 900000 % 1009 + series_id))) FROM interval_energy`,
    );
    if (own !== theirs) throw new Error(`PostgreSQL computes other intervals: ${own} and ${theirs}`);
    return median(times);
  } finally {
    postgres.end();
  }
}

/**
 * Computes intervals by the index rule for registers without faults, and days. Halves are rounded away from
 * zero, as DuckDB does.
 */
const SAME_IN_POSTGRES = `
CREATE TABLE interval_energy AS
WITH step AS (
  SELECT series_id, lag(event_time_ms) OVER w AS t0, lag(value) OVER w AS c0, event_time_ms AS t1, value AS c1
  FROM reading WINDOW w AS (PARTITION BY series_id ORDER BY event_time_ms)
), part AS (
  SELECT series_id, t0 / 900000 AS i, floor(c1 + 0.5)::bigint - floor(c0 + 0.5)::bigint AS energy_wh, t1 - t0 AS covered_ms, 0 AS flags, t1, c1
  FROM step WHERE t0 / 900000 = (t1 - 1) / 900000
  UNION ALL
  SELECT series_id, i,
    floor(0.5 + CASE WHEN (i + 1) * 900000 >= t1 THEN c1 ELSE c0 + (c1 - c0) * (((i + 1) * 900000 - t0)::double precision / (t1 - t0)) END)::bigint
      - floor(0.5 + CASE WHEN i * 900000 <= t0 THEN c0 ELSE c0 + (c1 - c0) * ((i * 900000 - t0)::double precision / (t1 - t0)) END)::bigint,
    least(t1, (i + 1) * 900000) - greatest(t0, i * 900000),
    CASE WHEN t1 - t0 > 7200000 AND c0 <> c1 THEN 1 ELSE 0 END,
    CASE WHEN t1 / 900000 = i THEN t1 END, CASE WHEN t1 / 900000 = i THEN c1 END
  FROM step, generate_series(t0 / 900000, (t1 - 1) / 900000) i WHERE t0 / 900000 <> (t1 - 1) / 900000
)
SELECT series_id, i * 900000 AS interval_start_ms, sum(energy_wh)::bigint AS energy_wh, sum(covered_ms)::integer AS covered_ms,
  bit_or(flags)::smallint AS flags, max(t1) AS last_ms, max(c1) AS last_value
FROM part GROUP BY series_id, i;
CREATE TABLE daily_energy AS
SELECT series_id, (to_timestamp(interval_start_ms / 1000) AT TIME ZONE 'Europe/London')::date AS day,
  sum(energy_wh) AS energy_wh, sum(covered_ms) AS covered_ms, bit_or(flags) AS flags
FROM interval_energy GROUP BY 1, 2;`;

/**
 * Compares one late reading of last spring, in a year of a thousand devices, with the roll-up of the whole
 * year.
 */
async function benchLate(folder: string, print: (line: string) => void): Promise<Ratio> {
  const shard = await openSite(folder, { memoryMegabytes: MEMORY_MEGABYTES, threads: THREADS });
  try {
    await fillSite(shard, { devices: 1_000, readings: 8_760_000, stepMs: 3_600_000, batch: 250_000 });
    const fullMs = await timed(() => rollUpAll(shard, siteConfig('Europe/Paris')));
    const late: number[] = [];
    for (let round = 0; round < 9; round++) {
      await addLateReading(shard, {
        device: 17 * round,
        afterMs: (100 + round) * 86_400_000 + 1_234_567,
        batchId: 1_000_000 + round,
      });
      late.push(await timed(() => rollUpAll(shard, siteConfig('Europe/Paris'))));
    }
    const lateMs = median(late);
    print(`a year of 1,000 devices: ${seconds(fullMs)}; one late reading in it: ${seconds(lateMs)}`);
    return {
      name: 'one late reading: a hundredth of the full roll-up, times its own',
      ratio: fullMs / 100 / lateMs,
      ratioMin: 1,
    };
  } finally {
    await shard.close();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
