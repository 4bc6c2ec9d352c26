import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { warehouseFile } from '../../src/pipeline/assignment.ts';
import { readHead } from '../../src/publish/lake-commit.ts';
import { lakePaths } from '../../src/publish/lake-layout.ts';
import { loadMigrations } from '../../src/warehouse/load-sql.ts';
import { filesToFormatOne } from '../publish/old-lake.ts';
import { runCommand } from '../support/run-command.ts';
import { createServiceProcess, queryLake } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const DAY = '2026-05-17';
/** The schema of the lakes of format 1. */
const OLD_SCHEMA = 16;

/** Statements that undo the migrations after `OLD_SCHEMA`. */
const BACK = `
DROP TABLE publication;
DROP VIEW reported_interval;
CREATE VIEW told_interval AS
SELECT series_id, interval_start_ms, energy_wh, covered_ms, flags
FROM interval_energy i
WHERE NOT EXISTS (SELECT 1 FROM corrected_interval c WHERE c.series_id = i.series_id AND c.interval_start_ms = i.interval_start_ms)
UNION ALL
SELECT series_id, interval_start_ms, energy_wh, 900000, flags FROM corrected_interval;
DELETE FROM schema_migration WHERE number > ${OLD_SCHEMA};
`;

/** Runs statements on a warehouse that nobody has open. */
async function onWarehouse(path: string, sql: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRows();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

test('a service that starts on data of an older schema and lake gives the same energy, and continues', async () => {
  const service = await createServiceProcess({
    logLevel: 'silent',
    workgroups: [
      {
        id: 'home',
        timezone: 'Europe/Paris',
        devices: [{ id: DEVICE, name: 'garage' }],
        energyStreams: [
          { table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh', maxPower: '1 MW' },
        ],
      },
    ],
  });
  const headers = { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json' };
  const send = async (at: string, total_wh: number) => {
    const body = JSON.stringify([{ device: DEVICE, event_time: Date.parse(at), data: { total_wh } }]);
    const url = `${service.url}/api/v1/tables/home/solar/messages`;
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(200);
  };
  const details = async () => {
    const query = `startDate=${DAY}&endDate=${DAY}`;
    const answer = await fetch(`${service.url}/api/v1/orgs/home/daily-energy/details?${query}`, { headers });
    return ((await answer.json()) as Record<string, Record<string, { energyWh: number }>>)[DAY]?.[DEVICE];
  };
  const energyWh = async () => (await details())?.energyWh;

  const cwd = join(service.config.dataDir, '..');
  const readings = ['2026-05-16T22:00:00Z,1000', '2026-05-17T10:00:00Z,91000', '2026-05-17T20:00:00Z,93400'];
  writeFileSync(join(cwd, 'log.csv'), `time,total_wh\n${readings.join('\n')}\n`);
  expect((await runCommand(['import', 'log.csv', '-w', 'home', '-t', 'solar'], { cwd })).code).toBe(0);
  const [before] = (await queryLake(
    service.config,
    'home',
    'SELECT energy_wh::INTEGER AS wh, version, status, epoch_ms(computed_at)::DOUBLE AS computed_at_ms FROM daily_energy',
  ))!;
  expect(before).toMatchObject({ wh: 92_400, version: 1 });

  const warehouse = warehouseFile(service.config.dataDir, 'home');
  const paths = lakePaths(`${service.config.dataDir}/lake`, 'home');
  await onWarehouse(warehouse, BACK);
  filesToFormatOne(paths);
  const applied = () => onWarehouse(warehouse, 'SELECT max(number)::INTEGER FROM schema_migration');
  expect(await applied()).toEqual([[OLD_SCHEMA]]);

  await service.start();
  await until('the lake is read', async () => (await energyWh()) !== undefined);
  expect(await details()).toMatchObject({
    energyWh: 92_400,
    version: 1,
    status: before!.status,
    computedAt: new Date(before!.computed_at_ms as number).toISOString(),
  });
  await send('2026-05-17T21:00:00Z', 94_000);
  await until('the next reading is in the day', async () => (await energyWh()) === 93_000);
  expect(await service.stop()).toBe(0);
  expect(await applied()).toEqual([[loadMigrations().length]]);
  expect((await readHead(paths))?.format).toBe(2);
});
