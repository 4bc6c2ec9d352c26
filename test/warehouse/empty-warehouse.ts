import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '../../src/lib/time.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { loadMigrations } from '../../src/warehouse/load-sql.ts';
import { migrate } from '../../src/warehouse/migrate.ts';

const schema = loadMigrations().map(({ checksum }) => checksum);
const image = join(
  tmpdir(),
  `wattline-test-warehouse-${createHash('sha256').update(schema.join()).digest('hex').slice(0, 16)}.duckdb`,
);

/**
 * Puts a warehouse with the schema of now and nothing else at a path. All tests share one image of it,
 * because making one takes 100 ms.
 */
export async function putEmptyWarehouse(path: string): Promise<void> {
  if (!existsSync(image)) await makeImage();
  mkdirSync(dirname(path), { recursive: true });
  copyFileSync(image, path);
}

async function makeImage(): Promise<void> {
  const path = join(mkdtempSync(join(tmpdir(), 'wattline-test-image-')), 'image.duckdb');
  const database = await openDatabase({ path, memoryMegabytes: 256, threads: 1, clock: systemClock });
  const connection = await database.connect();
  await migrate(connection, { path, clock: systemClock });
  connection.closeSync();
  await database.close();
  // Another process may have made it meanwhile: they are the same.
  renameSync(path, image);
}
