import type { DuckDBConnection } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { openTestShard } from './warehouse-fixture.ts';

const isLeft = async (connection: DuckDBConnection) =>
  Number(
    (
      await connection.runAndReadAll("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'left_over'")
    ).getRows()[0]![0],
  ) === 1;
const leave = (connection: DuckDBConnection) =>
  connection.run('CREATE OR REPLACE TEMP TABLE left_over (a INTEGER)');
const kept = { keep: () => true };

test('a transaction on a kept connection finds the temporary tables of the one before, another connection does not', async () => {
  const shard = await openTestShard();
  await shard.transaction(leave, kept);
  expect(await shard.transaction(isLeft, kept)).toBe(true);
  expect(await shard.transaction(isLeft)).toBe(false);
  expect(await shard.transaction(isLeft, kept)).toBe(true);
});

test('two concurrent transactions with kept connections have one each', async () => {
  const shard = await openTestShard();
  await shard.transaction(leave, kept);
  const found = await Promise.all([shard.transaction(isLeft, kept), shard.transaction(isLeft, kept)]);
  expect(found.toSorted()).toEqual([false, true]);
});

test('a connection that is not to be kept is closed after its transaction', async () => {
  const shard = await openTestShard();
  await shard.transaction(leave, { keep: () => false });
  expect(await shard.transaction(isLeft, kept)).toBe(false);
});

test('after a failure, and after many uses, the next connection is a new one, which is kept again', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  await shard.transaction(leave, kept);
  await expect(shard.transaction(() => Promise.reject(new Error('no')), kept)).rejects.toThrow('no');
  expect(await shard.transaction(isLeft, kept)).toBe(false);
  await shard.transaction(leave, kept);
  let uses = 0;
  while (await shard.transaction(isLeft, kept)) expect(++uses).toBeLessThan(1_000);
  await shard.transaction(leave, kept);
  expect(await shard.transaction(isLeft, kept)).toBe(true);
});

test('only transactions that are not quiet count as changes', async () => {
  const shard = await openTestShard();
  const before = shard.changes();
  await shard.transaction(async () => undefined, { isQuiet: true });
  await shard.read(async () => undefined);
  expect(shard.changes()).toBe(before);
  await shard.transaction(async () => undefined);
  expect(shard.changes()).toBe(before + 1);
  await expect(shard.transaction(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  (await shard.connect()).closeSync();
  expect(shard.changes()).toBe(before + 3);
});
