import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Checkpoint } from '../../src/warehouse/checkpoint.ts';
import { createCommitter } from '../../src/warehouse/committer.ts';
import { createChunkFiller } from '../../src/warehouse/fill-chunks.ts';
import type { PreparedWrite } from '../../src/warehouse/landing-ledger.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { takeOwnership } from '../../src/warehouse/ownership.ts';
import { planLanding } from '../../src/warehouse/plan-landing.ts';
import { tempDir } from '../support/temp-dir.ts';
import { batchOf, NOW_MS } from './batches.ts';

const clock = { now: () => NOW_MS };
const owner = { workgroupId: 'acme', epoch: 1n };

async function openFile() {
  const instance = await DuckDBInstance.create(join(tempDir(), 'acme.duckdb'));
  const connection = await instance.connect();
  onTestFinished(() => {
    connection.closeSync();
    instance.closeSync();
  });
  await migrate(connection, { clock, path: 'file' });
  await takeOwnership(connection, { workgroupId: 'acme', path: 'file', clock });
  const filler = createChunkFiller();
  return {
    connection,
    openCommitter: async () => createCommitter(await instance.connect(), owner),
    prepare(before: Checkpoint | undefined, first: number, count: number): PreparedWrite {
      const planned = planLanding(before, batchOf(first, count), 1, NOW_MS);
      if (planned.kind !== 'write') throw new Error(planned.result.kind);
      const { write } = planned;
      const { columns, start, end } = write.content!;
      const chunks = filler.fill(columns, start, end, 1);
      return { ...write, origin: 'stream', batchId: 1, chunks, rejected: [] };
    },
  };
}

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

  test('COMMIT succeeds after a flush that failed', async () => {
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

  test('a flush outside a transaction commits by itself', async () => {
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

test('rows of a transaction that failed never show up, even if the committer is closed when they would fit', async () => {
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

test('several batches are written in one transaction, and the chunks are free before it has ended', async () => {
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
