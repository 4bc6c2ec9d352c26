import { existsSync, mkdirSync, readdirSync, readlinkSync } from 'node:fs';
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

test('spilled files of a process that was killed are deleted by the next owner, and not by a reader', async () => {
  const path = join(tempDir(), 'warehouse.duckdb');
  const options = { path, memoryMegabytes: 64, threads: 1, clock: systemClock };
  await (await openDatabase(options)).close();
  mkdirSync(`${path}.tmp/below`, { recursive: true });
  await (await openDatabase({ ...options, readOnly: true })).close();
  expect(existsSync(`${path}.tmp/below`)).toBe(true);
  await (await openDatabase(options)).close();
  expect(existsSync(`${path}.tmp`)).toBe(false);
});

test('a statement that runs for long is interrupted, so that the database can be closed', async () => {
  const path = join(tempDir(), 'warehouse.duckdb');
  const database = await openDatabase({ path, memoryMegabytes: 64, threads: 1, clock: systemClock });
  const connection = await database.connect();
  const running = connection
    .run('SELECT sum(random()) FROM range(300_000_000)')
    .finally(() => connection.closeSync());
  const interrupted = expect(running).rejects.toThrow(/INTERRUPT/);
  // Long enough for the statement to begin: an interruption before that is lost.
  await database.waitUntilIdle(100);
  await interrupted;
  expect(database.isInUse()).toBe(false);
  await database.close();
});

test.runIf(existsSync('/proc/self/fd'))(
  'a closed database leaves no open descriptor of its file',
  async () => {
    const path = join(tempDir(), 'warehouse.duckdb');
    /** The files of this process below the path. */
    const openFiles = () =>
      readdirSync('/proc/self/fd').flatMap((name) => {
        // The descriptor of this folder is closed already.
        if (!existsSync(join('/proc/self/fd', name))) return [];
        const file = readlinkSync(join('/proc/self/fd', name));
        return file.startsWith(path) ? [file] : [];
      });
    const database = await openDatabase({ path, memoryMegabytes: 64, threads: 1, clock: systemClock });
    expect(openFiles()).toContain(path);
    await database.close();
    expect(openFiles()).toEqual([]);
  },
);
