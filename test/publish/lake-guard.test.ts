// @module-tag slow
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, type UtcMs } from '../../src/lib/time.ts';
import { formatOneSchema } from '../../src/publish/commit-schema.ts';
import { planCommit, readPublication, refuseOtherWarehouse } from '../../src/publish/lake-guard.ts';
import { newNonce } from '../../src/publish/lake-layout.ts';
import { maintain } from '../../src/publish/maintain-lake.ts';
import { shared } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';
import { type Fixture, landMessages, markRolledUp, openFixture, rows, WORKGROUP } from './publish-fixture.ts';

async function open(dataDir: string, nowMs: UtcMs = TEST_START_MS): Promise<Fixture> {
  const opened = await openFixture(dataDir, createTestClock(nowMs));
  onTestFinished(() => opened.shard.close());
  return opened;
}

let landedMs = TEST_START_MS;
/** Lands a batch and publishes it. */
async function step(at: Fixture) {
  await land(at);
  return at.publish();
}

async function land({ shard }: Fixture): Promise<void> {
  landedMs += 1000;
  await landMessages(shard, { count: 5, storeTimeMs: landedMs });
}

const entries = (folder: string) => readdirSync(folder, { recursive: true }).sort();
const warehouseOf = (dataDir: string) => join(dataDir, 'warehouse');

/** A data folder with two generations, and its content after the first. */
const generations = shared(async () => {
  const [dataDir, older] = [join(tempDir(), 'data'), join(tempDir(), 'older')];
  for (const generation of [1, 2]) {
    const at = await openFixture(dataDir, createTestClock());
    await step(at);
    await at.shard.close();
    if (generation === 1) cpSync(dataDir, older, { recursive: true });
  }
  return { dataDir, older };
});

/** A copy of the data folder with two generations, and one of its folder `name` after the first. */
function withOlderCopy(name: 'warehouse' | 'lake'): { dataDir: string; copy: string } {
  const [dataDir, copy] = [tempDir(), join(tempDir(), name)];
  cpSync(generations().dataDir, dataDir, { recursive: true });
  cpSync(join(generations().older, name), copy, { recursive: true });
  return { dataDir, copy };
}

function replaceBy(copy: string, folder: string): void {
  rmSync(folder, { recursive: true });
  renameSync(copy, folder);
}

test('an older copy of the warehouse publishes nothing, also after it has landed as many batches', async () => {
  const { dataDir, copy } = withOlderCopy('warehouse');
  replaceBy(copy, warehouseOf(dataDir));
  const at = await open(dataDir);
  const before = entries(at.paths.root);
  for (let batch = 0; batch < 4; batch++) {
    await expect(at.publish()).rejects.toMatchObject({
      code: 'WarehouseBehindLake',
      retryable: false,
      message: expect.stringMatching(
        /older copy.*Nothing was published.*"wattline restore --force".*new-lake$/,
      ),
    });
    await land(at);
  }
  await markRolledUp(at.shard);
  const late = { lakeDir: at.lakeDir, clock: createTestClock(TEST_START_MS + 9 * HOUR_MS) };
  const options = { ...late, keepGenerationsMs: 1, keepMessagesMs: 1, logger: silentLogger };
  await expect(maintain(at.shard, options)).rejects.toMatchObject({ code: 'WarehouseBehindLake' });
  const messages = await at.shard.read((connection) => rows(connection, 'SELECT count(*) FROM message'));
  expect(messages).toEqual([[25n]]);
  expect(entries(at.paths.root)).toEqual(before);
});

test('a write-ahead log that was cut off is found', async () => {
  const dataDir = tempDir();
  const at = await open(dataDir);
  for (let batch = 0; batch < 6; batch++) await step(at);
  // As a crash and a damaged disk leave them.
  const damaged = tempDir();
  cpSync(dataDir, damaged, { recursive: true });
  const log = join(warehouseOf(damaged), `${WORKGROUP}.duckdb.wal`);
  truncateSync(log, Math.floor((statSync(log).size * 2) / 3));
  const cut = await open(damaged);
  expect(await cut.shard.read((connection) => rows(connection, 'SELECT count(*) FROM message'))).not.toEqual([
    [30n],
  ]);
  await expect(cut.publish()).rejects.toMatchObject({
    code: 'WarehouseBehindLake',
    message: expect.stringContaining('write-ahead log'),
  });
});

test('a new warehouse beside the lake of a deleted one publishes nothing', async () => {
  const dataDir = tempDir();
  const first = await open(dataDir);
  await step(first);
  await first.shard.close();
  rmSync(warehouseOf(dataDir), { recursive: true });
  const at = await open(dataDir, TEST_START_MS + 1);
  await land(at);
  const before = entries(at.paths.root);
  await expect(at.publish()).rejects.toMatchObject({
    code: 'ForeignLake',
    message: expect.stringMatching(/another warehouse file.*deleted.*"wattline restore --force"/),
  });
  expect(entries(at.paths.root)).toEqual(before);

  // Without the lake of the old one it begins.
  renameSync(at.paths.root, join(dataDir, 'old-lake'));
  expect(await at.publish()).toMatchObject({ kind: 'published', sequence: 1 });
});

test('a warehouse without a batch is behind a lake of format 1 that has one', async () => {
  const { shard, paths, publish, head } = await open(tempDir());
  await publish();
  const commit = await head();
  const connection = await shard.connect();
  await connection.run('DELETE FROM publication');
  const warehouse = await readPublication(connection);
  connection.closeSync();
  const compareWith = (batchId: string) => () =>
    refuseOtherWarehouse(
      formatOneSchema.parse({ ...commit, format: 1, batchId }),
      warehouse,
      paths,
      WORKGROUP,
    );
  expect(compareWith('-1')).not.toThrow();
  expect(compareWith('0')).toThrow(expect.objectContaining({ code: 'WarehouseBehindLake' }));
});

test('a warehouse that is deleted or replaced while it is open stops publishing', async () => {
  const dataDir = tempDir();
  const at = await open(dataDir);
  await step(at);
  await land(at);
  const file = join(warehouseOf(dataDir), `${WORKGROUP}.duckdb`);
  renameSync(file, join(dataDir, 'away.duckdb'));
  await expect(at.publish()).rejects.toMatchObject({ code: 'WarehouseMissing', retryable: false });
  writeFileSync(file, 'another one');
  await expect(at.publish()).rejects.toMatchObject({ code: 'WarehouseMissing' });
  rmSync(file);
  renameSync(join(dataDir, 'away.duckdb'), file);
  expect(await at.publish()).toMatchObject({ kind: 'published', sequence: 2 });
});

test.each(['running', 'stopped'])(
  'a lake that is deleted while the worker is %s is missing',
  async (when) => {
    const dataDir = tempDir();
    let at = await open(dataDir);
    await step(at);
    const away = join(dataDir, 'away');
    if (when === 'stopped') await at.shard.close();
    renameSync(at.paths.root, away);
    if (when === 'stopped') at = await open(dataDir);
    await land(at);
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(at.publish()).rejects.toMatchObject({
        code: 'LakeMissing',
        retryable: false,
        message: expect.stringMatching(/is missing.*has published generation 1.*"wattline restore"/),
      });
      // Nothing is begun in its place.
      expect(existsSync(at.paths.root)).toBe(false);
    }
    renameSync(away, at.paths.root);
    expect(await at.publish()).toMatchObject({ kind: 'published', sequence: 2 });
    expect(await at.analyse('SELECT count(*)::INTEGER FROM messages')).toEqual([[10]]);
  },
);

test('a lake that was restored to an older commit is found, while the worker runs and after it was stopped', async () => {
  const { dataDir, copy } = withOlderCopy('lake');
  const at = await open(dataDir);
  expect(await at.publish()).toEqual({ kind: 'unchanged', sequence: 2 });
  replaceBy(copy, join(dataDir, 'lake'));
  await land(at);
  const refused = {
    code: 'LakeBehindWarehouse',
    message: expect.stringMatching(/ends with generation 1, but the warehouse has published generation 2/),
  };
  await expect(at.publish()).rejects.toMatchObject(refused);
  await at.shard.close();
  const again = await open(dataDir);
  await expect(again.publish()).rejects.toMatchObject(refused);
});

test('with an empty file new-lake a warehouse starts a new lake with everything that it has', async () => {
  const { dataDir, copy } = withOlderCopy('warehouse');
  replaceBy(copy, warehouseOf(dataDir));
  const at = await open(dataDir);
  await expect(at.publish()).rejects.toMatchObject({ code: 'WarehouseBehindLake' });
  // The marker beside commits changes nothing.
  writeFileSync(join(at.paths.root, 'new-lake'), '');
  await expect(at.publish()).rejects.toMatchObject({ code: 'WarehouseBehindLake' });
  renameSync(at.paths.root, join(dataDir, 'away'));
  mkdirSync(at.paths.root);
  await expect(at.publish()).rejects.toMatchObject({ code: 'LakeMissing' });
  writeFileSync(join(at.paths.root, 'new-lake'), '');
  expect(await at.publish()).toMatchObject({ kind: 'published', sequence: 1 });
  expect(await step(at)).toMatchObject({ kind: 'published', sequence: 2 });
  expect(await at.analyse('SELECT count(*)::INTEGER FROM messages')).toEqual([[10]]);
  await at.shard.close();
  // The marker is used once.
  const again = await open(dataDir);
  expect(await again.publish()).toEqual({ kind: 'unchanged', sequence: 2 });
  rmSync(again.paths.commits, { recursive: true });
  await expect(again.publish()).rejects.toMatchObject({ code: 'LakeMissing' });
});

test('a commit that was planned and never created is no obstacle, and a commit that was created is confirmed before the next one', async () => {
  const dataDir = tempDir();
  const first = await open(dataDir);
  await step(first);
  await planCommit(first.shard, { sequence: 2, nonce: newNonce() });
  await first.shard.close();

  const second = await open(dataDir);
  await land(second);
  const lost = {
    ...second.shard,
    transaction: <Result>(...[work, options]: Parameters<typeof second.shard.transaction<Result>>) =>
      second.shard.transaction<Result>(async (connection) => {
        const result = await work(connection);
        if ((await second.head()).sequence === 2) throw new Error('killed before the transaction committed');
        return result;
      }, options),
  };
  await expect(second.publish(lost)).rejects.toThrow('killed');
  await second.shard.close();

  const third = await open(dataDir);
  expect(await third.publish()).toEqual({ kind: 'unchanged', sequence: 2 });
  await planCommit(third.shard, { sequence: 3, nonce: newNonce() });
  await third.shard.close();

  const fourth = await open(dataDir);
  expect(await step(fourth)).toMatchObject({ kind: 'published', sequence: 3 });
  expect(
    await fourth.analyse('SELECT count(*)::INTEGER, count(DISTINCT stream_offset)::INTEGER FROM messages'),
  ).toEqual([[15, 15]]);
});
