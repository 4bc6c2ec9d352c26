import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { TerminalError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import {
  isWorthReferring,
  packsOf,
  type TakenSnapshot,
  takeSnapshot,
} from '../../src/snapshot/take-snapshot.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createRecoveringDatabase } from '../../src/warehouse/recovering-database.ts';
import { openShard, type Shard } from '../../src/warehouse/shard.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { batchOf, columnsOf } from '../warehouse/batches.ts';
import { expectExactlyOnce } from '../warehouse/landed.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { restored, slowReads, snapshotOf } from './snapshot-fixture.ts';

/** A write-ahead log of 12 MiB makes a checkpoint: a few batches of landing do, if nothing holds it back. */
const SMALL_MEMORY = 48;
const EXTRA_SUM = `SELECT count(*) AS n, coalesce(sum(hash(id, value)::HUGEINT), 0)::VARCHAR AS sum FROM extra`;

/**
 * Changes beside landing: rows of a table of the test. Inserts of 150,000 rows are written before they are
 * committed.
 */
type Change = { kind: 'insert'; rows: number } | { kind: 'update' | 'delete'; every: number };
type Step = { kind: 'land'; messages: number } | { kind: 'snapshot' } | Change;

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), rows: fc.constantFrom(0, 10, 5_000, 150_000) }),
  fc.record({
    kind: fc.constantFrom('update' as const, 'delete' as const),
    every: fc.integer({ min: 1, max: 9 }),
  }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('land' as const), messages: fc.integer({ min: 1, max: 5_000 }) }),
  change,
  fc.constant({ kind: 'snapshot' as const }),
);

test('a snapshot taken while everything continues has exactly the rows of its checkpoint', {
  tags: ['slow'],
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), change, async (steps, during) => {
      const shard = await openExtraShard();
      const store = createFolderStore(tempDir());
      const lander = createLander(shard);
      let previous: TakenSnapshot | undefined;
      for (const one of [...steps, { kind: 'snapshot' } as const]) {
        if (one.kind === 'land') await lander.land(one.messages);
        else if (one.kind !== 'snapshot') await apply(shard, one);
        else {
          const extra = await rowsOf(shard, EXTRA_SUM);
          const next = lander.next();
          let isFirst = true;
          const slow = slowReads(shard, async () => {
            await lander.land(3_000);
            if (isFirst) await apply(shard, during);
            isFirst = false;
          });
          const taken = await snapshotOf(slow, store, previous);
          previous = taken;
          await expectRestored(await restored(store, taken), shard, extra, next);
        }
      }
      await shard.close();
    }),
    { numRuns: rounds(3, 100), plugins: [fc.interruptAfterTimeLimit(60_000)] },
  );
});

test.runIf(isSoak)(
  'a commit that would make a checkpoint does not change the file while it is read',
  async () => {
    const shard = await openExtraShard();
    const store = createFolderStore(tempDir());
    const lander = createLander(shard);
    for (let batch = 0; batch < 6; batch++) await lander.land(20_000);
    const next = lander.next();
    const extra = await rowsOf(shard, EXTRA_SUM);
    const wal = () => rowsOf(shard, 'SELECT wal_size FROM pragma_database_size()');
    let pieces = 0;
    const slow = slowReads(shard, async () => {
      // More than the write-ahead log may have usually.
      if (pieces++ === 0) for (let batch = 0; batch < 20; batch++) await lander.land(20_000);
    });
    const taken = await snapshotOf(slow, store, undefined);
    await expectRestored(await restored(store, taken), shard, extra, next);
    await lander.land(20_000);
    expect(await wal()).toEqual([{ wal_size: expect.stringMatching(/^0 bytes|KiB$|^[0-9]\.\d MiB/) }]);
  },
);

test('a store that refuses a pack leaves no file of it on the disk', async () => {
  const shard = await openTestShard();
  const stagingDir = tempDir();
  const store = {
    ...createFolderStore(tempDir()),
    put: () => Promise.reject(new TerminalError('StorageForbidden', 'no permission')),
  };
  const key = 'snapshots/000000000001-refused.pack';
  const taking = takeSnapshot(shard, { store, key, previous: undefined, stagingDir, logger: silentLogger });
  await expect(taking).rejects.toMatchObject({ code: 'StorageForbidden' });
  expect(readdirSync(stagingDir)).toEqual([]);
});

test('a second pack has only changed blocks, and the packs of a snapshot stay few and small', {
  tags: ['slow'],
}, async () => {
  const shard = await openExtraShard();
  const store = createFolderStore(tempDir());
  await apply(shard, { kind: 'insert', rows: 614_400 });
  const first = await snapshotOf(shard, store, undefined);
  expect(first.blocksWritten).toBe(first.blocks);
  const unchanged = await snapshotOf(shard, store, first);
  expect(unchanged.blocksWritten).toBeLessThanOrEqual(3);
  expect((await packsOf(store, unchanged)).map(({ key }) => key)).toEqual([unchanged.pack, first.pack]);

  let last: TakenSnapshot = unchanged;
  for (let round = 0; round < rounds(5, 8); round++) {
    // Less and less is written again, so each pack keeps a few blocks in use.
    const rows = `id < ${(4 - (round % 4)) * 122_880}`;
    await shard.transaction((connection) =>
      connection.run(`UPDATE extra SET value = random() WHERE ${rows}`),
    );
    last = await snapshotOf(shard, store, last);
    const packs = await packsOf(store, last);
    const stored = packs.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(stored).toBeLessThan(3 * last.fileBytes);
  }
  await (await openTestShard({ path: await restored(store, last) })).close();
});

test.runIf(isSoak)(
  'a large snapshot is stored as several objects, and a later one refers to them',
  async () => {
    const shard = await openExtraShard();
    const store = createFolderStore(tempDir());
    await apply(shard, { kind: 'insert', rows: 614_400 });
    const partBytesMax = 1_500_000;
    const first = await snapshotOf(shard, store, undefined, partBytesMax);
    const objects = await packsOf(store, first);
    expect(objects.length).toBeGreaterThan(2);
    expect(objects.map(({ key }) => key)).toEqual([
      first.pack,
      ...objects.slice(1).map((_, at) => first.pack.replace('.pack', `-${at + 1}.pack`)),
    ]);
    // A part ends with the blocks that reach its size.
    for (const { bytes } of objects) expect(bytes).toBeLessThan(partBytesMax + 8 * 262_144);
    const extra = await rowsOf(shard, EXTRA_SUM);
    await expectRestored(await restored(store, first), shard, extra, 0);

    await shard.transaction((connection) =>
      connection.run('UPDATE extra SET value = random() WHERE id < 122880'),
    );
    const second = await snapshotOf(shard, store, first, partBytesMax);
    expect(second.blocksWritten).toBeLessThan(second.blocks / 2);
    expect((await packsOf(store, second)).map(({ key }) => key)).toEqual(
      expect.arrayContaining([second.pack, objects[1]!.key]),
    );
    await expectRestored(await restored(store, second), shard, await rowsOf(shard, EXTRA_SUM), 0);
  },
);

test('a full pack follows when less than half of the packs is in use, or there are many packs', () => {
  const packs = (bytes: number[]) =>
    bytes.map((size, at) => ({ key: `snapshots/${at}.pack`, bytes: size, sha256: '' }));
  const inUse = (bytes: number) => [{ pack: 0, offset: 8, length: bytes, sha256: Buffer.alloc(32) }];
  const map = (sizes: number[], used: number) => ({
    fileBytes: 1e6,
    packs: packs(sizes),
    blocks: inUse(used),
  });
  expect(isWorthReferring(map([1_000, 500], 800))).toBe(true);
  expect(isWorthReferring(map([1_000, 500], 740))).toBe(false);
  expect(isWorthReferring(map(Array(23).fill(10), 230))).toBe(true);
  expect(isWorthReferring(map(Array(24).fill(10), 240))).toBe(false);
  // The parts of a large pack do not count.
  expect(isWorthReferring(map(Array(24).fill(2 ** 30), 24 * 2 ** 30))).toBe(true);
});

test('another process cannot open the warehouse after snapshots, or after it was opened again', {
  tags: ['slow'],
}, async () => {
  const shard = await openExtraShard();
  const store = createFolderStore(tempDir());
  const first = await snapshotOf(shard, store, undefined);
  await snapshotOf(shard, store, first);
  expect(await openElsewhere(shard.path)).toMatchObject({ code: 'WarehouseLocked' });
  await shard.close();

  const { path } = shard;
  const open = () => openDatabase({ path, memoryMegabytes: 256, threads: 1, clock: systemClock });
  const database = createRecoveringDatabase(await open(), {
    path,
    workgroupId: 'acme',
    logger: silentLogger,
    open,
    onLost: () => undefined,
    onReopen: () => undefined,
    check: async () => undefined,
  });
  onTestFinished(() => database.close());
  const before = database.file();
  database.note(
    new Error('FATAL Error: Failed: database has been invalidated because of a previous fatal error'),
  );
  (await database.connect()).closeSync();
  expect(database.file()).not.toBe(before);
  await database.file().read(Buffer.alloc(100), 0, 100, 0);
  expect(await openElsewhere(path)).toMatchObject({ code: 'WarehouseLocked' });
  await database.close();
  expect(await openElsewhere(path)).toBe('opened');
});

test('closing the warehouse ends a snapshot, and a long transaction delays it', {
  tags: ['slow'],
}, async () => {
  const shard = await openExtraShard();
  const store = createFolderStore(tempDir());
  const held = Promise.withResolvers<void>();
  const inside = Promise.withResolvers<void>();
  const transaction = shard.transaction(async (connection) => {
    await connection.run('INSERT INTO extra VALUES (1, 2)');
    inside.resolve();
    await held.promise;
  });
  await inside.promise;
  let isTaken = false;
  const delayed = snapshotOf(shard, store, undefined).finally(() => {
    isTaken = true;
  });
  await createLander(shard).land(100);
  expect(isTaken).toBe(false);
  held.resolve();
  await transaction;
  const path = await restored(store, await delayed);
  expect(await rowsOf(await openTestShard({ path }), 'SELECT id FROM extra')).toEqual([{ id: 1n }]);

  let closing: Promise<void> | undefined;
  const slow = slowReads(shard, async () => {
    closing ??= shard.close();
  });
  await expect(snapshotOf(slow, store, undefined)).rejects.toMatchObject({ code: 'WarehouseClosed' });
  await closing;
  expect(await openElsewhere(shard.path)).toBe('opened');
});

async function openExtraShard(): Promise<Shard> {
  const shard = await openTestShard({ memoryMegabytes: SMALL_MEMORY, threads: 2 });
  await shard.transaction((connection) => connection.run('CREATE TABLE extra (id BIGINT, value DOUBLE)'));
  return shard;
}

function createLander(shard: Shard) {
  let next: number | undefined;
  return {
    next: () => next ?? 0,
    async land(messages: number): Promise<void> {
      next ??= Number((await shard.checkpoint('stream'))?.nextOffset ?? 0);
      const field = shard.names.idOf('test');
      const first = next;
      const columns = columnsOf(
        Array.from({ length: messages }, (_, at) => ({
          offset: BigInt(first + at),
          fields: [[field, first + at]],
        })),
      );
      expect((await shard.land(batchOf(first, messages, { columns }))).kind).toBe('landed');
      next += messages;
    },
  };
}

async function apply(shard: Shard, one: Change): Promise<void> {
  const sql =
    one.kind === 'insert'
      ? `INSERT INTO extra SELECT range, random() FROM range(${one.rows})`
      : one.kind === 'update'
        ? `UPDATE extra SET value = random() WHERE id % ${one.every} = 0`
        : `DELETE FROM extra WHERE id % ${one.every} = 0`;
  await shard.transaction((connection) => connection.run(sql));
}

/**
 * The restored file has every message up to its checkpoint once, at least those before the snapshot, and the
 * rows that the test noted.
 */
async function expectRestored(path: string, live: Shard, extra: unknown, nextBefore: number): Promise<void> {
  const copy = await openShard({
    path,
    workgroupId: 'acme',
    memoryMegabytes: 256,
    threads: 1,
    clock: systemClock,
    logger: silentLogger,
  });
  try {
    const next = await expectExactlyOnce(copy);
    expect(next).toBe(nextBefore);
    expect(await rowsOf(copy, EXTRA_SUM)).toEqual(extra);
    const messages = `SELECT sum(hash(stream_offset, batch_id, numbers)::HUGEINT)::VARCHAR AS sum FROM message WHERE stream_offset < ${next}`;
    expect(await rowsOf(copy, messages)).toEqual(await rowsOf(live, messages));
  } finally {
    await copy.close();
  }
}

async function openElsewhere(path: string): Promise<unknown> {
  const child = join(import.meta.dirname, '../warehouse/open-child.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [child, path]);
  return JSON.parse(stdout);
}
