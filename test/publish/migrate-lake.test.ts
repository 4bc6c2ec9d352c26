// @module-tag slow
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, linkSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { listSequences, readHead } from '../../src/publish/lake-commit.ts';
import { planCommit } from '../../src/publish/lake-guard.ts';
import { fileKey, filePath, newNonce } from '../../src/publish/lake-layout.ts';
import { retainLake } from '../../src/publish/retain-lake.ts';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { toFormatOne } from './old-lake.ts';
import {
  addSeries,
  type Fixture,
  landMessages,
  openFixture,
  rows,
  storeIntervals,
  WORKGROUP,
} from './publish-fixture.ts';

async function open(dataDir: string, nowMs = TEST_START_MS): Promise<Fixture> {
  const opened = await openFixture(dataDir, createTestClock(nowMs));
  onTestFinished(() => opened.shard.close());
  return opened;
}

/** A data folder. Its lake has two generations of format 1, with files of many hours and days. */
async function oldLake(hours = 4): Promise<string> {
  const dataDir = tempDir();
  const at = await open(dataDir);
  await addSeries(at.shard, 1, 1, 'inverter');
  for (let hour = 0; hour < hours; hour++) {
    await landMessages(at.shard, {
      count: 2,
      storeTimeMs: TEST_START_MS - (hours - 1 - hour) * HOUR_MS,
      table: `t${hour}`,
    });
    await storeIntervals(at.shard, {
      series: 1,
      day: new Date(TEST_START_MS - hour * DAY_MS).toISOString().slice(0, 10),
      energyWh: [1],
    });
  }
  await at.publish();
  await landMessages(at.shard, { count: 2, storeTimeMs: TEST_START_MS + HOUR_MS });
  await storeIntervals(at.shard, { series: 1, day: '2026-11-20', energyWh: [5] });
  await at.publish();
  await toFormatOne(at);
  await at.shard.close();
  return dataDir;
}

const TOTALS = `SELECT (SELECT count(*)::INTEGER FROM messages), (SELECT count(DISTINCT stream_offset)::INTEGER FROM messages),
  (SELECT sum(energy_wh)::INTEGER FROM interval_energy)`;

test('a lake of format 1 is migrated, its old generations stay readable and leave in time', async () => {
  const dataDir = await oldLake();
  const at = await open(dataDir);
  const lake = await openLakeReader({ lakeDir: at.lakeDir });
  onTestFinished(() => lake.close());
  const days = async () => {
    const generation = (await lake.newestGeneration(WORKGROUP))!;
    const files = generation.files('interval_energy').map(generation.path);
    expect(files.filter((path) => !existsSync(path))).toEqual([]);
    return generation.commit.sequence;
  };
  // A process that only reads does not wait for the owner.
  expect(await days()).toBe(2);

  expect(await at.publish()).toEqual({ kind: 'unchanged', sequence: 3 });
  expect(await at.head()).toMatchObject({ format: 2, sequence: 3, totals: { messages: 10 } });
  expect(await days()).toBe(3);
  expect(await at.analyse(TOTALS)).toEqual([[10, 10, 8]]);
  expect(
    readdirSync(join(at.paths.files, 'messages')).filter((name) => name.startsWith('table=')),
  ).toHaveLength(5);
  const old = join(at.paths.root, 'generations/000000000001');
  expect(readdirSync(join(old, 'messages'))).toHaveLength(4);

  await landMessages(at.shard, { count: 2, storeTimeMs: TEST_START_MS + 2 * HOUR_MS });
  expect(await at.publish()).toMatchObject({ kind: 'published', sequence: 4, files: 1 });
  expect(await at.analyse(TOTALS)).toEqual([[12, 12, 8]]);

  const retain = () => retainLake(at.shard, { ...at, keepGenerationsMs: DAY_MS, logger: silentLogger });
  at.clock.set(TEST_START_MS + HOUR_MS);
  await retain();
  expect(await listSequences(at.paths)).toEqual([1, 2, 3, 4]);
  at.clock.set(TEST_START_MS + HOUR_MS + 1);
  await retain();
  expect(await listSequences(at.paths)).toEqual([4]);
  await retain();
  expect(readdirSync(at.paths.root).sort()).toEqual(
    ['analytics', 'commits', 'current', 'files', 'staging', 'trees'].sort(),
  );
  expect(filesBelow(at)).toEqual((await at.head()).files.map(fileKey).sort());
  expect(await at.analyse(TOTALS)).toEqual([[12, 12, 8]]);
});

test.runIf(isSoak).each(['half of the links', 'all links and a plan', 'the commit'])(
  'a migration that ended after %s starts again or is complete',
  async (step) => {
    const dataDir = await oldLake();
    const first = await open(dataDir);
    const head = (await readHead(first.paths))!;
    const links = step === 'half of the links' ? head.files.slice(0, 4) : head.files;
    for (const file of links) {
      const target = filePath(first.paths, file);
      if (existsSync(target)) continue;
      mkdirSync(dirname(target), { recursive: true });
      linkSync(join(first.paths.files, file.dataset, file.name), target);
    }
    if (step === 'all links and a plan') await planCommit(first.shard, { sequence: 3, nonce: newNonce() });
    if (step === 'the commit') {
      // The commit exists, and the transaction that stores it is lost.
      await first.publish();
      await first.shard.transaction((connection) =>
        rows(connection, "DELETE FROM publication WHERE state = 'published'"),
      );
    }
    await first.shard.close();
    const at = await open(dataDir);
    expect(await at.publish()).toEqual({ kind: 'unchanged', sequence: 3 });
    expect(await at.analyse(TOTALS)).toEqual([[10, 10, 8]]);
    await landMessages(at.shard, { count: 2, storeTimeMs: TEST_START_MS + 2 * HOUR_MS });
    expect(await at.publish()).toMatchObject({ kind: 'published', sequence: 4 });
  },
);

test.runIf(isSoak)('killed at any moment, a migration loses and doubles nothing', async () => {
  const hours = 30;
  const dataDir = await oldLake(hours);
  for (let kill = 0; kill < rounds(0, 9); kill++) {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'migrate-forever.ts'), dataDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    await until('the worker is ready', () => output.includes('ready') || child.exitCode !== null);
    await sleep(Math.random() * 60);
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  const at = await open(dataDir);
  await at.publish();
  expect((await at.head()).format).toBe(2);
  expect(await at.analyse(TOTALS)).toEqual([[hours * 2 + 2, hours * 2 + 2, hours + 4]]);
  await landMessages(at.shard, { count: 2, storeTimeMs: TEST_START_MS + 2 * HOUR_MS });
  await at.publish();
  expect(await at.analyse(TOTALS)).toEqual([[hours * 2 + 4, hours * 2 + 4, hours + 4]]);
});

test('an older copy of the warehouse, and a newer lake of format 1, are still distinguished by batches', async () => {
  const dataDir = await oldLake();
  const at = await open(dataDir);
  await at.shard.transaction((connection) =>
    rows(connection, 'DELETE FROM batch WHERE batch_id = (SELECT max(batch_id) FROM batch)'),
  );
  await expect(at.publish()).rejects.toMatchObject({ code: 'WarehouseBehindLake' });
  expect((await readHead(at.paths))!.format).toBe(1);
});

/** The keys of all files of the lake. */
function filesBelow({ paths }: Fixture): string[] {
  return readdirSync(paths.files, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(paths.root, join(entry.parentPath, entry.name)))
    .sort();
}
