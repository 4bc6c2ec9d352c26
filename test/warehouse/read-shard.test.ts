import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/time.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { loadMigrations } from '../../src/warehouse/load-sql.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { readShard } from '../../src/warehouse/read-shard.ts';
import { tempDir } from '../support/temp-dir.ts';
import { withExtraMigrations } from './extra-migrations.ts';

const clock = systemClock;

/** A warehouse that a Wattline with these migrations has made. */
async function madeBy(migrations: ReturnType<typeof loadMigrations>): Promise<string> {
  const path = join(tempDir(), 'acme.duckdb');
  const database = await openDatabase({ path, memoryMegabytes: 256, threads: 1, clock });
  const connection = await database.connect();
  await migrate(connection, { path, clock, migrations });
  connection.closeSync();
  await database.close();
  return path;
}

const countTables = (path: string) =>
  readShard({ path, workgroupId: 'acme', memoryMegabytes: 256, threads: 1, clock }, async (connection) =>
    (await connection.runAndReadAll('SELECT count(*)::INTEGER FROM duckdb_tables()')).getRows(),
  );

test('a warehouse of this Wattline is read', async () => {
  const [[tables]] = (await countTables(await madeBy(loadMigrations()))) as [[number]];
  expect(tables).toBeGreaterThan(10);
});

test('a warehouse of an older or a newer Wattline is refused with what to do', {
  tags: ['slow'],
}, async () => {
  const released = loadMigrations();
  await expect(countTables(await madeBy(released.slice(0, -1)))).rejects.toMatchObject({
    code: 'WarehouseTooOld',
    message: expect.stringContaining('start "wattline worker" once, which updates the file'),
    details: { fileSchema: released.length - 1, programSchema: released.length },
  });
  await expect(countTables(await madeBy(withExtraMigrations(1)))).rejects.toMatchObject({
    code: 'WarehouseTooNew',
  });
});

test('a workgroup that has stored nothing has no warehouse', async () => {
  await expect(countTables(join(tempDir(), 'acme.duckdb'))).rejects.toMatchObject({
    code: 'NoWarehouse',
    message: expect.stringContaining('workgroup acme has stored nothing yet'),
  });
});
