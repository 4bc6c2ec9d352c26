// @module-tag slow
import type { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEmbeddedPostgres } from '../../jobs/embedded-postgres.ts';
import { createPglitePool } from '../../jobs/pglite-pool.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { queueImageDir } from '../support/queue-image.ts';
import { isSoak } from '../support/rounds.ts';

let database: PGlite;
beforeAll(async () => {
  database = await openEmbeddedPostgres({ cacheDir: queueImageDir, logger: silentLogger });
  await database.exec('CREATE TABLE number (value BIGINT)');
});
afterAll(() => database.close());

async function numbers(): Promise<number[]> {
  const { rows } = await database.query<{ value: string }>('SELECT value FROM number ORDER BY value');
  return rows.map(({ value }) => Number(value));
}

test('the statements of others wait while a client has a transaction open', async () => {
  const pool = createPglitePool(database);
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query('INSERT INTO number VALUES ($1)', [1]);
  let counted = false;
  const count = pool
    .query<{ count: string }>('SELECT count(*) FROM number WHERE value < 10')
    .then(({ rows }) => {
      counted = true;
      return rows[0]?.count;
    });
  await client.query('INSERT INTO number VALUES ($1)', [2]);
  expect(counted).toBe(false);
  await client.query('COMMIT');
  expect(await count).toBe('2');
  client.release();
});

test('two clients that open transactions at once have them one after the other', async () => {
  const pool = createPglitePool(database);
  const transact = async (value: number, end: 'COMMIT' | 'ROLLBACK') => {
    const client = await pool.connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO number VALUES ($1)', [value]);
    await client.query('INSERT INTO number VALUES ($1)', [value + 1]);
    await client.query(end);
    client.release();
  };
  await Promise.all([transact(10, 'COMMIT'), transact(20, 'ROLLBACK'), transact(30, 'COMMIT')]);
  expect((await numbers()).filter((value) => value >= 10 && value < 40)).toEqual([10, 11, 30, 31]);
});

test('a client that is released in the middle of a transaction leaves nothing of it, and nobody waiting', async () => {
  const pool = createPglitePool(database);
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query('INSERT INTO number VALUES (50)');
  const other = pool.query('SELECT 1');
  client.release();
  await other;
  expect(await numbers()).not.toContain(50);
});

test('a statement that fails reports the code and detail that the server gave', async () => {
  const pool = createPglitePool(database);
  const raise = `DO $$ BEGIN RAISE EXCEPTION 'gone' USING ERRCODE = 'BM001', DETAIL = '-1'; END $$`;
  await expect(pool.query(raise)).rejects.toMatchObject({ code: 'BM001', detail: '-1' });
  await expect(pool.query('SELECT 1 AS one')).resolves.toMatchObject({ rows: [{ one: 1 }], rowCount: 1 });
});

test('a text of several statements runs whole, and 64-bit integers come back as text', async () => {
  const pool = createPglitePool(database);
  const { rows } = await pool.query('SELECT 1; SELECT 9007199254740993::bigint AS large');
  expect(rows).toEqual([{ large: '9007199254740993' }]);
});

test.runIf(isSoak)('other work of the process runs between two statements', async () => {
  const pool = createPglitePool(database);
  let turns = 0;
  let isOver = false;
  const others = (async () => {
    for (; !isOver; turns++) await new Promise((resolve) => setImmediate(resolve));
  })();
  await Promise.all(
    Array.from({ length: 200 }, () => pool.query('SELECT count(*) FROM generate_series(1, 1000)')),
  );
  isOver = true;
  await others;
  expect(turns).toBeGreaterThanOrEqual(199);
});

test('a client that listens hears of notifications until it is released or the pool ends', async () => {
  const pool = createPglitePool(database);
  const client = await pool.connect();
  const heard: string[] = [];
  client.on('notification', ({ channel, payload }) => heard.push(`${channel} ${payload}`));
  await client.query('LISTEN jobs');
  await pool.query(`SELECT pg_notify('jobs', 'first')`);
  expect(heard).toEqual(['jobs first']);
  client.release();
  await pool.query(`SELECT pg_notify('jobs', 'second')`);
  expect(heard).toEqual(['jobs first']);
  await pool.end();
});
