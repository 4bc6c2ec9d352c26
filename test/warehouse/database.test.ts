import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MINUTE_MS, systemClock } from '../../src/lib/time.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { tempDir } from '../support/temp-dir.ts';

test('all who wait until a database is idle continue when its last connection closes', async () => {
  const path = join(tempDir(), 'warehouse.duckdb');
  const database = await openDatabase({ path, memoryMegabytes: 64, threads: 1, clock: systemClock });
  const connection = await database.connect();
  const waits = [database.waitUntilIdle(MINUTE_MS), database.waitUntilIdle(MINUTE_MS)];
  connection.closeSync();
  await expect(Promise.all(waits)).resolves.toHaveLength(2);
  await database.close();
});
