import type { DuckDBConnection } from '@duckdb/node-api';
import { describe, expect, onTestFinished, test } from 'vitest';
import { NOW_MS } from './batches.ts';
import { openFile } from './committer-fixture.ts';

async function count(connection: DuckDBConnection, table = 'message'): Promise<number> {
  const reader = await connection.runAndReadAll(`SELECT count(*)::INTEGER FROM ${table}`);
  return reader.getRows()[0]![0] as number;
}

describe('behaviour of DuckDB that landing relies on', () => {
  test('rows that were appended and not flushed survive a rollback', async () => {
    const { connection } = await openFile();
    const appender = await connection.createAppender('name');
    await connection.run('BEGIN');
    appender.appendInteger(1);
    appender.appendVarchar('power_w');
    appender.endRow();
    await connection.run('ROLLBACK');
    appender.closeSync();
    expect(await count(connection, 'name')).toBe(1);
  });

  test('COMMIT succeeds after a flush that failed', { tags: ['slow'] }, async () => {
    const { connection } = await openFile();
    const appender = await connection.createAppender('name');
    await connection.run('BEGIN');
    appender.appendInteger(1);
    appender.appendNull();
    appender.endRow();
    expect(() => appender.flushSync()).toThrow(/NOT NULL/);
    await expect(connection.run('COMMIT')).resolves.toBeDefined();
    appender.clear();
    appender.closeSync();
  });

  test('a flush outside a transaction commits by itself', { tags: ['slow'] }, async () => {
    const { connection } = await openFile();
    const appender = await connection.createAppender('name');
    appender.appendInteger(1);
    appender.appendVarchar('power_w');
    appender.endRow();
    appender.flushSync();
    await expect(connection.run('ROLLBACK')).rejects.toThrow(/no transaction/);
    expect(await count(connection, 'name')).toBe(1);
    appender.closeSync();
  });
});

test('rows of a transaction that failed never show up, even if the committer is closed when they would fit', {
  tags: ['slow'],
}, async () => {
  const { connection, openCommitter, prepare } = await openFile();
  await connection.run('CREATE UNIQUE INDEX unique_offset ON message (stream_offset)');
  await connection.run('INSERT INTO message SELECT 0, 5, 0, 0, NULL, NULL, 0, 0, NULL, [], [], NULL');
  const committer = await openCommitter();
  await expect(
    committer.commit([prepare(undefined, 0, 10)], { names: [], tables: [] }, NOW_MS, () => {}),
  ).rejects.toThrow(/Duplicate|unique/i);
  await connection.run('DELETE FROM message');
  committer.close();
  expect(await count(connection)).toBe(0);
  expect(await count(connection, 'batch')).toBe(0);
  expect(await count(connection, 'checkpoint')).toBe(0);
});

test('several batches are written in one transaction, and the chunks are free before it has ended', {
  tags: ['slow'],
}, async () => {
  const { connection, openCommitter, prepare } = await openFile();
  const committer = await openCommitter();
  onTestFinished(() => committer.close());
  const first = prepare(undefined, 0, 10);
  const second = prepare(first.after, 10, 10);
  let landedWhenFree = -1;
  const committed = committer.commit(
    [first, second],
    { names: [{ id: 0, name: 'power_w' }], tables: [0] },
    NOW_MS,
    () => {
      landedWhenFree = 0;
      void count(connection).then((rows) => {
        landedWhenFree = rows;
      });
    },
  );
  expect(await committed).toEqual({ kind: 'committed' });
  expect(landedWhenFree).not.toBe(-1);
  expect(await count(connection)).toBe(20);
  expect(await count(connection, 'batch')).toBe(2);
  expect(await count(connection, 'name')).toBe(1);
  expect(await count(connection, 'checkpoint')).toBe(1);
});

test('a table that has other columns than landing writes is refused before anything is written', async () => {
  const { connection, openCommitter } = await openFile();
  await connection.run('ALTER TABLE message ALTER kind TYPE INTEGER');
  await expect(openCommitter()).rejects.toMatchObject({ code: 'SchemaMismatch', retryable: false });
});

test.each([
  ['a newer owner', 'UPDATE shard SET owner_epoch = 2'],
  ['an earlier owner, as an old copy has', 'UPDATE shard SET owner_epoch = 0'],
  ['no owner', 'DELETE FROM shard'],
])('nothing is written to a file with %s', async (_, change) => {
  const { connection, openCommitter, prepare } = await openFile();
  const committer = await openCommitter();
  onTestFinished(() => committer.close());
  await connection.run(change);
  await expect(
    committer.commit([prepare(undefined, 0, 10)], { names: [], tables: [] }, NOW_MS, () => {}),
  ).rejects.toMatchObject({ code: 'StaleOwner' });
  expect(await count(connection, 'batch')).toBe(0);
});
