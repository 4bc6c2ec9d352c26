// @module-tag slow
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import { assignmentOf, lakeFolder } from '../../src/pipeline/assignment.ts';
import { closeAssignment, openAssignment } from '../../src/pipeline/open-assignment.ts';
import { operations } from '../../src/pipeline/operations.ts';
import { listSequences, readCurrent } from '../../src/publish/lake-commit.ts';
import { lakePaths } from '../../src/publish/lake-layout.ts';
import { maintain } from '../../src/publish/maintain-lake.ts';
import { renewCurrent } from '../../src/publish/renew-current.ts';
import { retainLake } from '../../src/publish/retain-lake.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';
import { openOwnFixture } from './own-fixture.ts';
import { publishAndRenew } from './publish-and-renew.ts';
import {
  addSeries,
  analyse,
  type Fixture,
  landMessages,
  rows,
  storeDays,
  storeIntervals,
} from './publish-fixture.ts';

/** Publishes a new day, and renews current by the default. */
async function publishDay(at: Fixture, energyWh: number) {
  await storeDays(at.shard, [{ day: '2026-11-20', device: 1, energyWh }]);
  return publishAndRenew(at.shard, { lakeDir: at.lakeDir, clock: at.clock, logger: silentLogger });
}

const DAYS = 'SELECT energy_wh::INTEGER FROM daily_energy';
const shown = ({ paths }: Fixture) => analyse(join(paths.current, 'analytics.duckdb'), DAYS);

test('current follows at once at first, then once a minute, and by a call without a publication', async () => {
  const at = await openOwnFixture();
  const { shard, lakeDir, clock, paths } = at;
  const renew = (isFinal = false) => renewCurrent(shard, { lakeDir, clock, isFinal });
  expect(await renew()).toEqual({ dueInMs: undefined });
  await publishDay(at, 1);
  expect(await readCurrent(paths)).toBe(1);
  expect(await renew()).toEqual({ dueInMs: undefined });

  clock.set(TEST_START_MS + 10 * SECOND_MS);
  await publishDay(at, 2);
  clock.set(TEST_START_MS + 20 * SECOND_MS);
  await publishDay(at, 3);
  expect(await renew()).toEqual({ dueInMs: 40 * SECOND_MS });
  expect(await shown(at)).toEqual([[1]]);
  expect(await listSequences(paths)).toEqual([1, 2, 3]);

  clock.set(TEST_START_MS + MINUTE_MS);
  expect(await renew()).toEqual({ dueInMs: undefined });
  expect(await shown(at)).toEqual([[3]]);
  // Only generations that were current have views.
  expect(readdirSync(paths.analytics)).toEqual(['000000000001.duckdb', '000000000003.duckdb']);

  await publishDay(at, 4);
  expect(await renew(true)).toEqual({ dueInMs: undefined });
  expect(await shown(at)).toEqual([[4]]);
});

test('a publication that finds nothing new, and maintenance, renew what is due; a clock that was set back delays nothing', async () => {
  const at = await openOwnFixture();
  await publishDay(at, 1);
  await publishDay(at, 2);
  at.clock.set(TEST_START_MS + MINUTE_MS);
  expect(await publishAndRenew(at.shard, { ...at, logger: silentLogger })).toEqual({
    kind: 'unchanged',
    sequence: 2,
  });
  expect(await readCurrent(at.paths)).toBe(2);

  await publishDay(at, 3);
  expect(await readCurrent(at.paths)).toBe(2);
  at.clock.set(TEST_START_MS + 2 * MINUTE_MS);
  const options = { keepGenerationsMs: DAY_MS, keepMessagesMs: DAY_MS, logger: silentLogger };
  await maintain(at.shard, { ...at, ...options });
  expect(await readCurrent(at.paths)).toBe(3);

  at.clock.set(TEST_START_MS - HOUR_MS);
  await publishDay(at, 4);
  expect(await readCurrent(at.paths)).toBe(4);
});

test('a tree changes by the difference, and only when it is the oldest', async () => {
  const at = await openOwnFixture();
  for (const month of ['2026-09', '2026-10', '2026-11'])
    await storeDays(at.shard, [{ day: `${month}-15`, device: 1, energyWh: 1 }]);
  const trees: string[][] = [];
  for (let step = 1; step <= 5; step++) {
    await storeDays(at.shard, [{ day: '2026-11-20', device: 1, energyWh: step }]);
    await at.publish();
    await at.renew();
    trees.push(readdirSync(at.paths.trees).map(Number).map(String));
    const files = readdirSync(join(at.paths.current, 'daily_energy'), {
      recursive: true,
      withFileTypes: true,
    });
    expect(files.filter((entry) => entry.isFile())).toHaveLength(3);
    const commit = JSON.parse(readFileSync(join(at.paths.current, 'commit.json'), 'utf8'));
    expect(commit.sequence).toBe(step);
  }
  expect(trees).toEqual([['1'], ['1', '2'], ['1', '2', '3'], ['2', '3', '4'], ['3', '4', '5']]);
  // The file of September has a link in files/ and in each of three trees.
  const september = readdirSync(join(at.paths.current, 'daily_energy/month=2026-09'))[0]!;
  expect(statSync(join(at.paths.current, 'daily_energy/month=2026-09', september)).nlink).toBe(4);
  expect(lstatSync(at.paths.current).isSymbolicLink()).toBe(true);

  // A month that has no rows any more leaves no folder.
  await at.shard.transaction(async (connection) => {
    await rows(connection, "DELETE FROM daily_energy WHERE day < '2026-10-01'");
    await rows(connection, "INSERT INTO dirty_partition VALUES ('daily_energy', '2026-09')");
  });
  await at.publish();
  await at.renew();
  expect(readdirSync(join(at.paths.current, 'daily_energy'))).toEqual(['month=2026-10', 'month=2026-11']);
});

test.runIf(isSoak)(
  'a session sees its generation for an hour, whatever is published and deleted meanwhile',
  async () => {
    const at = await openOwnFixture();
    await publishDay(at, 1);
    await landMessages(at.shard, { count: 5, storeTimeMs: TEST_START_MS });
    const session = await DuckDBInstance.create(join(at.paths.current, 'analytics.duckdb'), {
      access_mode: 'READ_ONLY',
    });
    onTestFinished(() => session.closeSync());
    const connection = await session.connect();
    const retain = () => retainLake(at.shard, { ...at, keepGenerationsMs: MINUTE_MS, logger: silentLogger });
    for (let minute = 1; minute <= 61; minute += rounds(12, 4)) {
      at.clock.set(TEST_START_MS + minute * MINUTE_MS);
      await publishDay(at, minute + 1);
      await retain();
      expect(await rows(connection, DAYS)).toEqual([[1]]);
    }
    at.clock.set(TEST_START_MS + 62 * MINUTE_MS);
    await retain();
    await expect(rows(connection, DAYS)).rejects.toThrow(/No files found|does not exist|No such file/i);
  },
);

test('views may be attached under any name, beside a database with the same names', async () => {
  const at = await openOwnFixture();
  await publishDay(at, 1);
  const instance = await DuckDBInstance.create(':memory:');
  onTestFinished(() => instance.closeSync());
  const connection = await instance.connect();
  await connection.run(`ATTACH '${at.paths.current}/analytics.duckdb' AS "other name" (READ_ONLY)`);
  await connection.run(
    'CREATE SCHEMA lake_files; CREATE VIEW lake_files.daily_energy AS SELECT 99 AS energy_wh',
  );
  expect(await rows(connection, 'SELECT energy_wh::INTEGER FROM "other name".daily_energy')).toEqual([[1]]);
  expect(await rows(connection, 'SELECT energy_wh::INTEGER FROM "other name".device_daily_energy')).toEqual([
    [1],
  ]);
});

test('a filter on a partition reads only its files, by the views and by the folders', async () => {
  const at = await openOwnFixture();
  await addSeries(at.shard, 1, 1, 'inverter');
  for (let step = 0; step < 6; step++) {
    const table = step % 2 === 0 ? 'solar' : 'wind';
    await landMessages(at.shard, { count: 2, storeTimeMs: TEST_START_MS + step * HOUR_MS, table });
    const month = `2026-${String(step + 5).padStart(2, '0')}`;
    await storeIntervals(at.shard, { series: 1, day: `${month}-03`, energyWh: [step] });
    await storeDays(at.shard, [{ day: `${month}-03`, device: 1, energyWh: step }]);
  }
  await at.publish();
  const filesRead = async (from: string) => {
    const [[, text]] = (await at.analyse(`EXPLAIN ANALYZE SELECT count(*) FROM ${from}`)) as [
      [string, string],
    ];
    return Number(/Total Files Read: (\d+)/.exec(text)?.[1]);
  };
  const folder = (dataset: string) =>
    `read_parquet('${at.paths.current}/${dataset}', hive_partitioning = true, hive_types_autocast = false)`;
  expect({
    all: await filesRead('messages'),
    table: await filesRead(`messages WHERE "table" = 'wind'`),
    hour: await filesRead(`lake_files.messages WHERE hour = '2026-11-20T13'`),
    month: await filesRead(`lake_files.interval_energy WHERE month = '2026-07'`),
    days: await filesRead(`lake_files.daily_energy WHERE month >= '2026-09'`),
    folderMonth: await filesRead(`${folder('interval_energy/*/*.parquet')} WHERE month = '2026-07'`),
    folderHour: await filesRead(`${folder('messages/*/*/*.parquet')} WHERE hour < '2026-11-20T14'`),
  }).toEqual({ all: 6, table: 3, hour: 1, month: 1, days: 2, folderMonth: 1, folderHour: 2 });
});

test('a worker that closes a workgroup leaves current at the newest generation', async () => {
  const config = configSchema.parse({ workgroups: [{ id: 'home' }] });
  const assignment = assignmentOf({ ...config, dataDir: tempDir() }, config.workgroups[0]!);
  const open = await openAssignment(assignment, createTestClock(), silentLogger);
  const paths = lakePaths(lakeFolder(assignment), 'home');
  try {
    for (const energyWh of [1, 2]) {
      await storeDays(open.shard, [{ day: '2026-11-20', device: 1, energyWh }]);
      await operations.publish(open, undefined);
    }
    expect(await readCurrent(paths)).toBe(1);
  } finally {
    await closeAssignment(open);
  }
  expect(await readCurrent(paths)).toBe(2);
});
