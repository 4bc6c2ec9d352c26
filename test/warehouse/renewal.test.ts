import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createRecoveringDatabase, onConnection } from '../../src/warehouse/recovering-database.ts';
import type { Shard, ShardOptions } from '../../src/warehouse/shard.ts';
import { rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { batchOf } from './batches.ts';
import { startLanding } from './children.ts';
import { expectExactlyOnce } from './landed.ts';
import { openTestShard, rowsOf } from './warehouse-fixture.ts';

/** A shard with names for the fields of `batchOf`. */
async function openNamed(options: Partial<ShardOptions>): Promise<Shard> {
  const shard = await openTestShard(options);
  for (const name of ['zero', 'one']) shard.names.idOf(name);
  return shard;
}

/** Counts how often the file was opened again. */
function renewals() {
  const counted = { renewed: 0, failed: 0 };
  const logger = {
    ...silentLogger,
    info: (_facts: unknown, event?: string) => void (event === 'shard.renewed' && counted.renewed++),
    warn: (_facts: unknown, event?: string) => void (event === 'shard.renew-failed' && counted.failed++),
  };
  return { counted, logger };
}

test('a warehouse that was opened again has the same rows, limits and access, and continues to work', {
  tags: ['slow'],
}, async () => {
  const { counted, logger } = renewals();
  const shard = await openNamed({ renewAfterTransactions: 2, logger });
  const settings = () =>
    rowsOf(
      shard,
      `SELECT name, value FROM duckdb_settings() WHERE name IN
        ('memory_limit', 'threads', 'TimeZone', 'enable_external_access', 'wal_autocheckpoint', 'temp_directory') ORDER BY name`,
    );
  await shard.limitMemory(192);
  await shard.land(batchOf(0, 100));
  await shard.renewIfDue();
  expect(counted.renewed).toBe(0);
  await shard.land(batchOf(100, 100));
  const before = [await settings(), await shard.status()];
  await shard.renewIfDue();
  expect(counted).toEqual({ renewed: 1, failed: 0 });
  expect([await settings(), await shard.status()]).toEqual(before.map(ignoringSizes));
  expect(shard.epoch).toBe(1n);
  await shard.land(batchOf(200, 100));
  expect(await expectExactlyOnce(shard)).toBe(300);
});

test('without a setting the file is opened again after 200 transactions', { tags: ['slow'] }, async () => {
  const { counted, logger } = renewals();
  const shard = await openTestShard({ logger });
  for (let count = 1; count < 200; count++) await shard.transaction(async () => undefined);
  await shard.renewIfDue();
  expect(counted.renewed).toBe(0);
  await shard.transaction(async () => undefined);
  await shard.renewIfDue();
  expect(counted).toEqual({ renewed: 1, failed: 0 });
});

/** The checkpoint before the renewal moves bytes from the write-ahead log into the file. */
function ignoringSizes(found: object): object {
  return 'fileBytes' in found
    ? { ...found, fileBytes: expect.any(Number), walBytes: expect.any(Number) }
    : found;
}

test('a warehouse that is used stays open, and is opened again later', { tags: ['slow'] }, async () => {
  const { counted, logger } = renewals();
  const shard = await openNamed({ renewAfterTransactions: 1, logger });
  await shard.land(batchOf(0, 10));
  const connection = await shard.connect();
  await connection.run('BEGIN');
  const count = async () =>
    (await connection.runAndReadAll('SELECT count(*)::INTEGER FROM message')).getRows()[0]![0];
  expect(await count()).toBe(10);
  await shard.renewIfDue();
  await shard.land(batchOf(10, 10));
  expect([counted.renewed, await count()]).toEqual([0, 10]);
  connection.closeSync();
  const reads: boolean[] = [];
  // The file of a snapshot does not change, so a renewal waits for its end.
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
  const frozen = shard.readFrozen(async (file) => {
    await mayEnd;
    await file.read(new Uint8Array(64), 0);
    reads.push(counted.renewed === 0);
  });
  const renewing = shard.renewIfDue();
  await shard.land(batchOf(20, 10));
  end();
  await Promise.all([frozen, renewing]);
  expect([reads, counted]).toEqual([[true], { renewed: 1, failed: 0 }]);
  expect(await expectExactlyOnce(shard)).toBe(30);
});

test('no writer and no reader loses anything, however their work meets the renewals', {
  tags: ['slow'],
  timeout: 300_000,
}, async () => {
  const { counted, logger } = renewals();
  const step = fc.constantFrom('land', 'transaction', 'kept', 'fail', 'read', 'hold', 'frozen', 'renew');
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, fc.nat({ max: 8 })), { minLength: 10, maxLength: 40 }),
      async (steps) => {
        const shard = await openNamed({ renewAfterTransactions: 1, threads: 2, logger });
        await shard.transaction((connection) => connection.run('CREATE TABLE counter AS SELECT 0 AS n'));
        let landed = 0;
        let counter = 0;
        let seen = 0;
        const read = async (held: number) => {
          const connection = await shard.connect();
          const count = async () => {
            const rows = await connection.runAndReadAll('SELECT count(*)::INTEGER FROM message');
            return rows.getRows()[0]![0] as number;
          };
          const first = await count();
          await sleep(held);
          expect(await count()).toBeGreaterThanOrEqual(first);
          seen = Math.max(seen, first);
          connection.closeSync();
        };
        let turn: Promise<unknown> = Promise.resolve();
        /** Two transactions that change the same row at the same time would fail. */
        const inTurn = (work: () => Promise<unknown>) => {
          const done = turn.then(work);
          turn = done.catch(() => undefined);
          return done;
        };
        const raise = (isKept: boolean) =>
          inTurn(() =>
            shard.transaction((connection) => connection.run('UPDATE counter SET n = n + 1'), {
              keep: () => isKept,
            }),
          );
        const running: Promise<unknown>[] = [];
        for (const [kind, pause] of steps) {
          if (kind === 'land') running.push(shard.land(batchOf(landed, 5)));
          if (kind === 'land') landed += 5;
          if (kind === 'transaction' || kind === 'kept') running.push(raise(kind === 'kept'));
          if (kind === 'transaction' || kind === 'kept') counter++;
          if (kind === 'fail')
            running.push(
              inTurn(async () => {
                const failing = shard.transaction(async (connection) => {
                  await connection.run('UPDATE counter SET n = n + 1000');
                  throw new Error('on purpose');
                });
                await expect(failing).rejects.toThrow('on purpose');
              }),
            );
          if (kind === 'read') running.push(read(0));
          if (kind === 'hold') running.push(read(pause));
          if (kind === 'frozen')
            running.push(shard.readFrozen((file) => file.read(new Uint8Array(4_096), 0)));
          if (kind === 'renew') running.push(shard.renewIfDue());
          if (pause > 4) await sleep(pause);
        }
        await Promise.all(running);
        await shard.renewIfDue();
        expect(await expectExactlyOnce(shard)).toBe(landed);
        expect(seen).toBeLessThanOrEqual(landed);
        expect(await rowsOf(shard, 'SELECT n FROM counter')).toEqual([{ n: counter }]);
        await shard.close();
      },
    ),
    { numRuns: rounds(4, 15) },
  );
  expect(counted.renewed).toBeGreaterThanOrEqual(rounds(4, 15));
  expect(counted.failed).toBe(0);
});

test('after kills while the file is opened again, every acknowledged batch is stored once', {
  tags: ['slow'],
  timeout: 300_000,
}, async () => {
  const path = join(tempDir(), 'acme.duckdb');
  let before = 0;
  for (let round = 0; round < rounds(2, 6); round++) {
    const child = startLanding([path, 256, 0, 200, 1, 1]);
    await child.said(({ kind }) => kind === 'landed');
    await sleep(Math.random() * 150);
    await child.kill();
    const shard = await openTestShard({ path });
    const next = await expectExactlyOnce(shard);
    const acknowledged = child.events.flatMap(({ kind, nextOffset = 0 }) =>
      kind === 'landed' ? nextOffset : [],
    );
    expect(next).toBeGreaterThanOrEqual(Math.max(before, ...acknowledged));
    before = next;
    await shard.close();
  }
});

test('a file that was deleted is not opened again, because an empty one would take its place', async () => {
  const { counted, logger } = renewals();
  const shard = await openNamed({ renewAfterTransactions: 1, logger });
  await shard.land(batchOf(0, 10));
  renameSync(shard.path, `${shard.path}.moved`);
  await shard.renewIfDue();
  expect(counted.renewed).toBe(0);
  expect(await rowsOf(shard, 'SELECT count(*)::INTEGER AS n FROM message')).toEqual([{ n: 10 }]);
});

test('a file that cannot be opened again is lost until it can', async () => {
  const options = {
    path: join(tempDir(), 'acme.duckdb'),
    memoryMegabytes: 64,
    threads: 1,
    clock: systemClock,
  };
  let failures = 2;
  const database = createRecoveringDatabase(await openDatabase(options), {
    ...options,
    workgroupId: 'acme',
    logger: silentLogger,
    open: () => (failures-- > 0 ? Promise.reject(new Error('no file handles')) : openDatabase(options)),
    onLost: () => undefined,
    onReopen: () => undefined,
    check: async () => undefined,
  });
  onTestFinished(() => database.close());
  const run = (sql: string) => onConnection(database, (connection) => connection.runAndReadAll(sql));
  await run('CREATE TABLE kept AS SELECT 7 AS n');
  await expect(database.renew()).rejects.toThrow('no file handles');
  await expect(run('FROM kept')).rejects.toThrow('no file handles');
  expect((await run('FROM kept')).getRows()).toEqual([[7]]);
  expect(await database.renew()).toBe(true);
  expect((await run('FROM kept')).getRows()).toEqual([[7]]);
});

test('a database that is closed while its file is opened again stays closed', async () => {
  const options = {
    path: join(tempDir(), 'acme.duckdb'),
    memoryMegabytes: 64,
    threads: 1,
    clock: systemClock,
  };
  const [opening, mayOpen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const database = createRecoveringDatabase(await openDatabase(options), {
    ...options,
    workgroupId: 'acme',
    logger: silentLogger,
    async open() {
      opening.resolve();
      await mayOpen.promise;
      return openDatabase(options);
    },
    onLost: () => undefined,
    onReopen: () => undefined,
    check: async () => undefined,
  });
  const renewed = expect(database.renew()).rejects.toMatchObject({ code: 'WarehouseClosed' });
  await opening.promise;
  const closed = database.close();
  mayOpen.resolve();
  await Promise.all([renewed, closed]);
  await expect(database.connect()).rejects.toMatchObject({ code: 'WarehouseClosed' });
  await (await openDatabase(options)).close();
});
