import { mkdirSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { type FileRequest, settleFile, stageFile } from '../../src/publish/lake-file.ts';
import { lakePaths } from '../../src/publish/lake-layout.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { WORKGROUP } from './publish-fixture.ts';

const request: FileRequest = {
  dataset: 'daily_energy',
  folder: 'month=2026-11',
  period: '2026-11',
  level: 0,
  createdAtMs: TEST_START_MS,
  select: 'SELECT range AS energy_wh FROM range($count)',
  parameters: { count: 3 },
  rows: 3,
  energyWh: 3,
};

async function stage(changes: Partial<FileRequest>) {
  const paths = lakePaths(tempDir(), WORKGROUP);
  mkdirSync(paths.staging, { recursive: true });
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  return { paths, staged: await stageFile(connection, paths, 1, { ...request, ...changes }) };
}

test('a file that does not hold the rows that were counted is not published', async () => {
  await expect(stage({ rows: 4 })).rejects.toMatchObject({ code: 'PublishMismatch', retryable: true });
});

test('a file that does not hold the energy that was summed is not published', async () => {
  await expect(stage({ energyWh: 4 })).rejects.toMatchObject({ code: 'PublishMismatch' });
});

test('beyond 2^53 Wh a sum may differ by a billionth, because its last digits depend on the order', async () => {
  const huge = { select: 'SELECT 1e17 AS energy_wh FROM range($count)', energyWh: 3e17 };
  await stage({ ...huge, energyWh: huge.energyWh * (1 + 0.9e-9) });
  await expect(stage({ ...huge, energyWh: huge.energyWh * (1 + 1.1e-9) })).rejects.toMatchObject({
    code: 'PublishMismatch',
  });
});

test('the same rows are the same bytes, so that a partition written again is known to be unchanged', async () => {
  const files = [];
  for (let time = 0; time < 2; time++) {
    const { paths, staged } = await stage({
      parameters: { count: 300_000 },
      rows: 300_000,
      energyWh: 44_999_850_000,
    });
    files.push(await settleFile(paths, staged));
  }
  expect(files[0]!.sha256).toBe(files[1]!.sha256);
  expect(files[0]!.name).not.toBe(files[1]!.name);
});
