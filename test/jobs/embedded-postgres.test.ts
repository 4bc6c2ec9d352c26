import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runMigrations } from 'bullmq';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEmbeddedPostgres, tidyEmbeddedPostgres } from '../../jobs/embedded-postgres.ts';
import { createPglitePool } from '../../jobs/pglite-pool.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { queueImageDir, seedQueueImage } from '../support/queue-image.ts';
import { isSoak } from '../support/rounds.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wattline-queue-'));
});
afterAll(() => rm(directory, { recursive: true }));

test.runIf(isSoak)('an image that is damaged is made again', async () => {
  const cacheDir = join(directory, 'queue');
  await seedQueueImage(directory);
  const image = join(cacheDir, 'empty-database.tar.gz');
  const whole = await readFile(image);
  await writeFile(image, whole.subarray(0, 10_000));
  const database = await openEmbeddedPostgres({ cacheDir, logger: silentLogger });
  expect((await database.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await database.close();
  expect((await readFile(image)).length).toBeGreaterThan(whole.length / 2);
});

test.runIf(isSoak)('a folder that cannot be written only means no image', async () => {
  await writeFile(join(directory, 'file'), '');
  const database = await openEmbeddedPostgres({
    cacheDir: join(directory, 'file', 'queue'),
    logger: silentLogger,
  });
  expect((await database.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await database.close();
});

test.runIf(isSoak)('tidying bounds the log and lets the room of removed rows be used again', async () => {
  const database = await openEmbeddedPostgres({ cacheDir: queueImageDir, logger: silentLogger });
  const pool = createPglitePool(database);
  const client = await pool.connect();
  await runMigrations(client);
  client.release();
  const one = async (text: string) => {
    const { rows } = await pool.query<{ bytes: string }>(text);
    return Number(rows[0]?.bytes);
  };
  const logBytes = () => one('SELECT sum(size)::bigint AS bytes FROM pg_ls_waldir()');
  const tableBytes = () => one(`SELECT pg_relation_size('bullmq.event') AS bytes`);
  const churn = async () => {
    await pool.query(
      `INSERT INTO bullmq.event (queue, event, created_at_ms) SELECT 'w', 'added', i FROM generate_series(1, 4000) i`,
    );
    await pool.query('DELETE FROM bullmq.event');
    await pool.query('SELECT pg_switch_wal()');
  };
  for (let round = 0; round < 8; round++) await churn();
  const grown = { log: await logBytes(), table: await tableBytes() };
  await tidyEmbeddedPostgres(pool);
  for (let round = 0; round < 3; round++) {
    await churn();
    await tidyEmbeddedPostgres(pool);
  }
  expect(await logBytes()).toBeLessThanOrEqual(96 * 1024 * 1024);
  expect(grown.log).toBeGreaterThan(96 * 1024 * 1024);
  expect(await tableBytes()).toBeLessThan(grown.table / 4);
  await database.close();
});
