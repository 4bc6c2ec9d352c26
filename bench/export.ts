import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, listValue } from '@duckdb/node-api';
import { configSchema } from '../src/config/config.ts';
import { parsePeriod } from '../src/exports/export-period.ts';
import { writeExportFile } from '../src/exports/write-export-file.ts';
import { type Generation, openLakeReader } from '../src/report/lake/lake-reader.ts';
import type { Ratio } from './decode.ts';
import { fillLake, THREADS, timed, WORKGROUP } from './report.ts';
import { median } from './statistics.ts';

const ROUNDS = 5;

/**
 * Writes a year of 1,000 devices with 3 sources each as a Parquet file, as exports do: sorted, named,
 * fingerprinted by day, made durable, with its SHA-256. DuckDB copies the same columns of the same files as
 * they come, for comparison. An export may take twice that.
 */
export async function benchExport(print: (line: string) => void): Promise<Ratio[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const lakeDir = join(dataDir, 'lake');
  const folder = join(dataDir, 'exports');
  mkdirSync(folder);
  try {
    await fillLake(dataDir, print);
    const { workgroups, exports } = configSchema.parse({
      workgroups: [{ id: WORKGROUP }],
      exports: [
        {
          id: 'year',
          workgroup: WORKGROUP,
          report: 'daily_energy',
          range: 'last_year',
          groupBy: 'source',
          format: 'parquet',
          destination: { folder },
        },
      ],
    });
    const lake = await openLakeReader({ lakeDir, threads: THREADS, writeFolders: [folder] });
    const generation = (await lake.newestGeneration(WORKGROUP))!;
    const query = { config: exports[0]!, workgroup: workgroups[0]!, period: parsePeriod('2026')! };
    const bare = await openBare(generation, join(folder, 'bare.parquet'));
    const times = { wattline: [] as number[], bare: [] as number[] };
    let facts = { rows: 0, bytes: 0 };
    // The two take turns, so that other work of the machine slows both.
    for (let round = 0; round < ROUNDS; round++) {
      times.wattline.push(
        await timed(async () => {
          facts = await writeExportFile(lake, generation, {
            query,
            format: 'parquet',
            name: 'year.parquet',
            folder,
          });
        }),
      );
      times.bare.push(await timed(bare.copy));
    }
    bare.close();
    await lake.close();
    const [wattlineMs, bareMs] = [median(times.wattline), median(times.bare)];
    print(
      `export, a year by source as Parquet: ${facts.rows} rows, ${(facts.bytes / 1e6).toFixed(1)} MB, ${wattlineMs.toFixed(0)} ms; bare COPY ${bareMs.toFixed(0)} ms`,
    );
    return [{ name: 'a year as Parquet: speed of a bare COPY', ratio: bareMs / wattlineMs, ratioMin: 0.5 }];
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** DuckDB as it comes. */
async function openBare(generation: Generation, path: string) {
  const instance = await DuckDBInstance.create(':memory:', { threads: String(THREADS) });
  const connection = await instance.connect();
  const files = listValue(generation.files('daily_energy').map(generation.path));
  return {
    copy: () =>
      connection.run(
        `COPY (SELECT day, device, source, energy_wh, method, flags, coverage, status, version, computed_at FROM read_parquet($files)) TO '${path}' (FORMAT parquet)`,
        { files },
      ),
    close: () => instance.closeSync(),
  };
}
