import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { configSchema } from '../src/config/config.ts';
import { importFile } from '../src/import/import-file.ts';
import { mappingSchema } from '../src/import/import-mapping.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { systemClock } from '../src/lib/time.ts';
import { openShard } from '../src/warehouse/shard.ts';
import type { Ratio } from './decode.ts';

const DEVICES = 100;
const MEMORY_MEGABYTES = 512;
/**
 * Both files have more rows than a batch. So the memory of the second import shows if memory grows with the
 * file.
 */
const [ROWS, ROWS_MORE] = [2_000_000, 8_000_000];
const GROWTH_MEGABYTES_MAX = 250;

/**
 * The least speed of an import, as a share of the speed of a bare COPY of the same file into a DuckDB table.
 */
const limits = { parquet: 0.06, csv: 0.08 };

/**
 * Imports readings of 15 seconds of 100 devices with two fields, from Parquet and from CSV. Each row is
 * checked, converted and landed with its ledger. A bare COPY of the file into a table is the comparison. Then
 * imports four times as many, to see whether memory grows.
 */
export async function benchImport(print: (line: string) => void): Promise<Ratio[]> {
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  try {
    const ratios: Ratio[] = [];
    for (const format of ['parquet', 'csv'] as const) {
      const file = join(folder, `rows.${format}`);
      await generate(folder, file, ROWS);
      const bareMs = await copyBare(folder, file);
      const { ms } = await importOnce(folder, file);
      print(`${format.padEnd(8)} ${perSecond(ROWS, ms)} rows/s; a bare COPY ${perSecond(ROWS, bareMs)}`);
      ratios.push({
        name: `import of ${format}: speed of a bare COPY`,
        ratio: bareMs / ms,
        ratioMin: limits[format],
      });
    }
    const large = join(folder, 'large.parquet');
    await generate(folder, large, ROWS_MORE);
    const { ms, laterMegabytes, earlierMegabytes } = await importOnce(folder, large);
    print(
      `${perSecond(ROWS_MORE, ms)} rows/s over ${ROWS_MORE / 1e6} million rows; at most ${earlierMegabytes} MB in the first half, ${laterMegabytes} MB in the second`,
    );
    const growth = Math.max(1, laterMegabytes - earlierMegabytes);
    ratios.push({
      name: `import: memory grows by less than ${GROWTH_MEGABYTES_MAX} MB`,
      ratio: GROWTH_MEGABYTES_MAX / growth,
      ratioMin: 1,
    });
    return ratios;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function perSecond(rows: number, ms: number): string {
  return Math.round((rows / ms) * 1000).toLocaleString('en');
}

async function generate(folder: string, file: string, rows: number): Promise<void> {
  await withDatabase(':memory:', folder, async (run) => {
    await run(`COPY (
      SELECT strftime(to_timestamp(1735689600 + (i // ${DEVICES}) * 15), '%Y-%m-%dT%H:%M:%SZ') AS time,
        ('0b0e7c1e-0000-4000-8000-' || lpad((i % ${DEVICES})::VARCHAR, 12, '0'))::UUID AS device,
        1000000.0 * (i % ${DEVICES}) + (i // ${DEVICES}) * 4 AS total_wh,
        round(960 + 900 * sin((i // ${DEVICES}) / 917.0), 1) AS power_w
      FROM range(${rows}) r(i)) TO '${file}'`);
  });
}

async function copyBare(folder: string, file: string): Promise<number> {
  const path = join(folder, 'bare.duckdb');
  let ms = 0;
  await withDatabase(path, folder, async (run) => {
    await run('CREATE TABLE bare (time TIMESTAMPTZ, device UUID, total_wh DOUBLE, power_w DOUBLE)');
    const startMs = performance.now();
    await run(`INSERT INTO bare SELECT * FROM '${file}'`);
    ms = performance.now() - startMs;
  });
  rmSync(path);
  return ms;
}

async function withDatabase(
  path: string,
  folder: string,
  work: (run: (sql: string) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const instance = await DuckDBInstance.create(path, {
    memory_limit: `${MEMORY_MEGABYTES}MiB`,
    threads: '2',
    temp_directory: join(folder, 'spill'),
  });
  const connection = await instance.connect();
  await work((sql) => connection.run(sql));
  connection.closeSync();
  instance.closeSync();
}

async function importOnce(folder: string, file: string) {
  const path = join(folder, 'acme.duckdb');
  const workgroup = configSchema.parse({ workgroups: [{ id: 'acme' }] }).workgroups[0]!;
  const shard = await openShard({
    path,
    workgroupId: 'acme',
    memoryMegabytes: MEMORY_MEGABYTES,
    threads: 2,
    clock: systemClock,
    logger: silentLogger,
  });
  let [earlierMegabytes, laterMegabytes] = [0, 0];
  const startMs = performance.now();
  const mapping = mappingSchema.parse({
    time: { column: 'time' },
    device: { column: 'device' },
    fields: { total_wh: 'total_wh', power_w: 'power_w' },
  });
  await importFile(
    shard,
    { path: file, table: 'solar', mapping },
    {
      workgroup,
      threads: 2,
      clock: systemClock,
      logger: silentLogger,
      signal: new AbortController().signal,
      onProgress({ rowsRead, rowsExpected = 0 }) {
        const megabytes = Math.round(process.memoryUsage.rss() / 1e6);
        if (rowsRead > rowsExpected / 2) laterMegabytes = Math.max(laterMegabytes, megabytes);
        else earlierMegabytes = Math.max(earlierMegabytes, megabytes);
      },
    },
  );
  const ms = performance.now() - startMs;
  await shard.close();
  rmSync(path);
  return { ms, earlierMegabytes, laterMegabytes };
}
