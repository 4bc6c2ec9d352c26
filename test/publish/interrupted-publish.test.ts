import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { readCurrent } from '../../src/publish/lake-commit.ts';
import { commitPath, fileKey, treePath } from '../../src/publish/lake-layout.ts';
import { openLake } from '../../src/publish/open-lake.ts';
import type { PublishableShard } from '../../src/publish/publishable-shard.ts';
import { isSoak } from '../support/rounds.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { openOwnFixture } from './own-fixture.ts';
import { publishAndRenew } from './publish-and-renew.ts';
import { analyse, type Fixture, landMessages, rows, storeDays } from './publish-fixture.ts';

test('a change during the writing of a generation is in the next one', { tags: ['slow'] }, async () => {
  const fixed = await openOwnFixture();
  const { shard, publish, head } = fixed;
  await storeDays(shard, [{ day: '2026-11-20', device: 1, energyWh: 1 }]);
  const interrupted = await beforePublishing(fixed, async (connection) => {
    await rows(connection, 'SELECT count(*) FROM daily_energy');
    await storeDays(shard, [{ day: '2026-11-20', device: 2, energyWh: 10 }]);
  });
  await publish(interrupted);
  expect((await head()).totals.dailyEnergyWh).toBe(1);
  await publish();
  expect((await head()).totals.dailyEnergyWh).toBe(11);
});

test('of two publishers of the same generation one fails, and nothing of it is visible', {
  tags: ['slow'],
}, async () => {
  const fixed = await openOwnFixture();
  const { shard, paths, publish, head } = fixed;
  await landMessages(shard, { count: 5, storeTimeMs: TEST_START_MS });
  await publish();
  await landMessages(shard, { count: 5, storeTimeMs: TEST_START_MS + 1000 });
  const overtaken = await beforePublishing(fixed, async () => void (await publish()));
  await expect(publish(overtaken)).rejects.toMatchObject({ code: 'PublishConflict', retryable: true });

  const commit = await head();
  expect(commit.sequence).toBe(2);
  expect(commit.totals.messages).toBe(10);
  const known = commit.files.map(fileKey).sort();
  expect(
    readdirSync(paths.files, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(paths.root, join(entry.parentPath, entry.name)))
      .sort(),
  ).toEqual(known);
  expect(readdirSync(paths.staging)).toEqual([]);
  expect(await publish()).toEqual({ kind: 'unchanged', sequence: 2 });
});

test('a worker that has lost the shard publishes nothing', async () => {
  const { shard, publish } = await openOwnFixture();
  await landMessages(shard, { count: 5, storeTimeMs: TEST_START_MS });
  await publish({ ...shard, epoch: 7n });
  await expect(publish({ ...shard, epoch: 6n })).rejects.toMatchObject({ code: 'StaleOwner' });
});

test.runIf(isSoak)(
  'a tree that was cut off is completed by the next run, also by another process',
  async () => {
    const { shard, lakeDir, paths, clock } = await openOwnFixture();
    const renewed = (by: PublishableShard) =>
      publishAndRenew(by, { lakeDir, currentEveryMs: 0, clock, logger: silentLogger });
    const count = () => analyse(join(paths.current, 'analytics.duckdb'), 'SELECT count(*) FROM messages');
    for (let step = 0; step < 5; step++) {
      await landMessages(shard, { count: 5, storeTimeMs: TEST_START_MS + step * 1000 });
      await renewed(shard);
    }
    const files = () => readdirSync(join(paths.current, 'messages/table=solar/hour=2026-11-20T12')).length;
    expect(files()).toBe(5);
    // As a crash leaves it: half a tree, and current at the one before.
    renameSync(treePath(paths, 5), join(paths.trees, 'next'));
    remove(join(paths.trees, 'next/messages'));
    remove(join(paths.trees, 'next/analytics.duckdb'));
    writeFileSync(join(paths.trees, 'next/foreign.parquet'), '');
    mkdirSync(join(paths.trees, 'next/gap'));
    writeFileSync(join(paths.trees, 'next/gap/old.parquet'), '');
    remove(paths.current);
    symlinkSync('trees/000000000004', paths.current);
    expect(await count()).toEqual([[20n]]);

    expect(await renewed({ ...shard })).toEqual({ kind: 'unchanged', sequence: 5 });
    expect(await readCurrent(paths)).toBe(5);
    expect(files()).toBe(5);
    expect(readdirSync(paths.trees)).toEqual(['000000000003', '000000000004', '000000000005']);
    expect(readdirSync(paths.current)).not.toContain('gap');
    expect(await count()).toEqual([[25n]]);
  },
);

test('a crash after the commit and before the warehouse notes it doubles nothing', {
  tags: ['slow'],
}, async () => {
  const { shard, paths, publish, head, analyse } = await openOwnFixture();
  await landMessages(shard, { count: 5, storeTimeMs: TEST_START_MS });
  await storeDays(shard, [{ day: '2026-11-20', device: 1, energyWh: 1 }]);
  const lost: PublishableShard = {
    ...shard,
    transaction: (work) =>
      shard.transaction(async (connection) => {
        const result = await work(connection);
        if (existsSync(commitPath(paths, 1))) throw new Error('the transaction is lost');
        return result;
      }),
  };
  await expect(publish(lost)).rejects.toThrow('the transaction is lost');
  expect((await head()).sequence).toBe(1);

  expect(await publish()).toEqual({ kind: 'unchanged', sequence: 1 });
  await landMessages(shard, { count: 5, storeTimeMs: TEST_START_MS + 1000 });
  await publish();
  expect(await analyse('SELECT count(*), count(DISTINCT stream_offset) FROM messages')).toEqual([[10n, 10n]]);
  expect(await analyse('SELECT energy_wh FROM daily_energy')).toEqual([[1n]]);
});

test('a failure after the commit keeps its files, and the same worker continues from it', {
  tags: ['slow'],
}, async () => {
  const { shard, paths, publish, analyse } = await openOwnFixture();
  let isFailing = false;
  const worker: PublishableShard = {
    ...shard,
    transaction: (work, options) =>
      shard.transaction(
        (connection) => work(isFailing ? failingAfterCommit(connection) : connection),
        options,
      ),
  };
  const failingAfterCommit = (connection: DuckDBConnection) =>
    new Proxy(connection, {
      get(target, name) {
        if (existsSync(commitPath(paths, 2))) throw new Error('the warehouse has failed');
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  await landMessages(shard, { count: 5, storeTimeMs: TEST_START_MS });
  await publish(worker);
  await landMessages(shard, { count: 5, storeTimeMs: TEST_START_MS + 1000 });
  isFailing = true;
  await expect(publish(worker)).rejects.toThrow('the warehouse has failed');
  isFailing = false;
  expect(await publish(worker)).toEqual({ kind: 'unchanged', sequence: 2 });
  expect(await analyse('SELECT count(*), count(DISTINCT stream_offset) FROM messages')).toEqual([[10n, 10n]]);
});

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

/** A shard that runs `first` in the transaction of its next publication, after the lake was opened. */
async function beforePublishing(
  { shard, lakeDir, clock }: Fixture,
  first: (connection: DuckDBConnection) => Promise<void>,
): Promise<PublishableShard> {
  let isArmed = false;
  const wrapped: PublishableShard = {
    ...shard,
    transaction: (work, options) =>
      shard.transaction(async (connection) => {
        if (isArmed) {
          isArmed = false;
          await first(connection);
        }
        return work(connection);
      }, options),
  };
  await openLake(wrapped, { lakeDir, clock });
  isArmed = true;
  return wrapped;
}
