import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DuckDBValue } from '@duckdb/node-api';
import { onTestFinished } from 'vitest';
import type { Config, ConfigInput } from '../../src/config/config.ts';
import { listSequences, readCurrent } from '../../src/publish/lake-commit.ts';
import { type LakePaths, lakePaths } from '../../src/publish/lake-layout.ts';
import { tempDir } from './temp-dir.ts';
import { createUpProcess, type ProcessRole, type ServiceProcess } from './up-process.ts';

export type { ProcessRole, ServiceProcess } from './up-process.ts';

/**
 * A service with this configuration in a separate folder. It is not started yet, and it ends when the test
 * has finished.
 */
export async function createServiceProcess(
  input: ConfigInput,
  role?: ProcessRole,
  environment?: Record<string, string>,
): Promise<ServiceProcess> {
  const service = await createUpProcess(tempDir(), input, role, environment);
  onTestFinished(service.kill);
  return service;
}

type Rows = Record<string, DuckDBValue>[];
/** The newest answer of each lake. A test that waits asks again and again, and a generation never changes. */
const answers = new Map<string, { generation: string; sql: string; rows: Rows }>();

/** The rows of a statement on the published views of a workgroup. Undefined before the first generation. */
export async function queryLake(config: Config, workgroupId: string, sql: string): Promise<Rows | undefined> {
  const paths = lakePaths(join(config.dataDir, 'lake'), workgroupId);
  await currentFollows(paths);
  const generation = await generationOf(paths);
  const last = answers.get(paths.current);
  if (last !== undefined && last.generation === generation && last.sql === sql) return last.rows;
  const rows = await queryViews(join(paths.current, 'analytics.duckdb'), sql);
  // If another generation was published meanwhile, it is not known which one has answered.
  if (rows && generation !== undefined && (await generationOf(paths)) === generation)
    answers.set(paths.current, { generation, sql, rows });
  return rows;
}

/** A restored lake can have a number again, but not at the same time. */
async function generationOf(paths: LakePaths): Promise<string | undefined> {
  const sequence = await readCurrent(paths);
  return sequence === undefined ? undefined : `${sequence} ${(await lstat(paths.current)).mtimeMs}`;
}

async function queryViews(file: string, sql: string): Promise<Rows | undefined> {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  let instance: Awaited<ReturnType<typeof DuckDBInstance.create>>;
  try {
    instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY', threads: '1' });
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

/**
 * The views follow a publication after `pipeline.currentEvery`. With publications all the time this waits no
 * longer than two seconds.
 */
async function currentFollows(paths: LakePaths): Promise<void> {
  for (let turn = 0; turn < 100; turn++) {
    const [current, newest] = [await readCurrent(paths), (await listSequences(paths)).at(-1)];
    if (newest === undefined || current === newest) return;
    await sleep(20);
  }
}
