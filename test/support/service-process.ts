import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Config, ConfigInput } from '../../src/config/config.ts';
import { listSequences, readCurrent } from '../../src/publish/lake-commit.ts';
import { lakePaths } from '../../src/publish/lake-layout.ts';
import { tempDir } from './temp-dir.ts';
import { createUpProcess, type ProcessRole, type ServiceProcess } from './up-process.ts';

export type { ProcessRole, ServiceProcess } from './up-process.ts';

/** A service with this configuration in a folder of its own, not started yet; ended when the test has finished. */
export async function createServiceProcess(
  input: ConfigInput,
  role?: ProcessRole,
  environment?: Record<string, string>,
): Promise<ServiceProcess> {
  const service = await createUpProcess(tempDir(), input, role, environment);
  onTestFinished(service.kill);
  return service;
}

/** The rows of a statement on what is published of a workgroup, as an analyst would ask; undefined before the first generation. */
export async function queryLake(config: Config, workgroupId: string, sql: string) {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  await currentFollows(config, workgroupId);
  const file = join(config.dataDir, 'lake', workgroupId, 'current', 'analytics.duckdb');
  let instance: Awaited<ReturnType<typeof DuckDBInstance.create>>;
  try {
    instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
  } catch (error) {
    if (/does not exist|No such file/.test(String(error))) return undefined;
    throw error;
  }
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjects();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** The views follow a publication after `pipeline.currentEvery`. With publications all the time this waits no longer than two seconds. */
async function currentFollows({ dataDir }: Config, workgroupId: string): Promise<void> {
  const paths = lakePaths(join(dataDir, 'lake'), workgroupId);
  for (let turn = 0; turn < 100; turn++) {
    const [current, newest] = [await readCurrent(paths), (await listSequences(paths)).at(-1)];
    if (newest === undefined || current === newest) return;
    await sleep(20);
  }
}
