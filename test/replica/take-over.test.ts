import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/time.ts';
import { claimReplica } from '../../src/replica/claim-replica.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { WORKGROUP } from '../publish/support.ts';
import { tempDir } from '../support/temp-dir.ts';
import { machine, stores, takeOver, work } from './support.ts';

describe.each(stores)('a replica in a $kind', ({ open, skip }) => {
  test.skipIf(skip)(
    'another machine continues with all that was mirrored, and the first one is fenced',
    async () => {
      const store = await open();
      const first = machine();
      const a = await work(first, store);
      expect(a.taken).toMatchObject({ warehouse: 'new', claim: { sequence: 1, ownerEpoch: '1' } });
      expect(await a.owner.mirror(await a.grow())).toMatchObject({ kind: 'mirrored', sequence: 2 });
      expect(await a.owner.mirror(await a.grow())).toMatchObject({ kind: 'mirrored', sequence: 3 });
      const content = await a.content();
      await a.grow();

      const b = await work(machine(), store);
      expect(b.taken).toMatchObject({ warehouse: 'restored', claim: { sequence: 4, ownerEpoch: '2' } });
      expect(await b.content()).toEqual(content);
      expect(b.taken.movedAway).toEqual([]);

      const late = { code: 'StaleOwner', details: { ownEpoch: '1', currentEpoch: '2' } };
      await expect(a.owner.mirror(await a.snapshot())).rejects.toMatchObject(late);
      await expect(a.owner.collect()).rejects.toMatchObject(late);
      expect(await b.owner.mirror(await b.snapshot())).toMatchObject({ kind: 'unchanged' });
      expect(await b.owner.mirror(await b.grow())).toMatchObject({ kind: 'mirrored', sequence: 5 });
      await a.shard.close();
      await b.shard.close();

      // The first machine has what another one has continued without.
      const again = await work(first, store);
      expect(again.taken).toMatchObject({ warehouse: 'restored', claim: { sequence: 6, ownerEpoch: '3' } });
      expect(again.taken.movedAway).toHaveLength(2);
      for (const path of again.taken.movedAway) expect(existsSync(path)).toBe(true);
      expect(await again.owner.mirror(await again.grow())).toMatchObject({ kind: 'mirrored', sequence: 7 });
    },
  );
});

test('the same machine continues with its own warehouse, also with what was not mirrored', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const own = machine();
  const a = await work(own, store);
  await a.owner.mirror(await a.grow());
  await a.grow();
  const content = await a.content();
  await expect(takeOver(own, store)).rejects.toMatchObject({ code: 'WarehouseLocked' });
  await a.shard.close();
  // Two takeovers that end before the warehouse is opened.
  expect(await takeOver(own, store)).toMatchObject({ warehouse: 'local' });
  expect(await takeOver(own, store)).toMatchObject({ warehouse: 'local' });
  const b = await work(own, store);
  expect(b.taken).toMatchObject({ warehouse: 'local', movedAway: [], claim: { sequence: 5 } });
  expect(await b.content()).toEqual(content);
  expect(await b.owner.mirror(await b.snapshot())).toMatchObject({ kind: 'mirrored', sequence: 6 });
});

test('an older copy of the warehouse is not used, also beside the file of planned claims', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const own = machine();
  const folder = dirname(own.warehousePath);
  const a = await work(own, store);
  await a.owner.mirror(await a.grow());
  await a.shard.close();
  const copy = join(tempDir(), 'copy');
  cpSync(own.warehousePath, copy);
  const b = await work(own, store);
  await b.owner.mirror(await b.grow());
  const content = await b.content();
  await b.shard.close();
  await takeOver(own, store);
  expect(existsSync(join(folder, `${WORKGROUP}.duckdb.claims.json`))).toBe(true);
  renameSync(copy, own.warehousePath);
  const c = await work(own, store);
  expect(c.taken.warehouse).toBe('restored');
  expect(await c.content()).toEqual(content);
});

test('a warehouse from before its replica is its first content', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const own = machine();
  const a = await work(own, createFolderStore(join(tempDir(), 'other')));
  await a.grow();
  const content = await a.content();
  await a.shard.close();
  const b = await work(own, store);
  expect(b.taken.warehouse).toBe('local');
  expect(await b.owner.mirror(await b.snapshot())).toMatchObject({ kind: 'mirrored', sequence: 2 });
  const c = await work(machine(), store);
  expect(await c.content()).toEqual(content);
});

test('the epoch is higher than those of the replica, of the lease and of the local file', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const own = machine();
  const a = await work(own, store);
  expect(a.owner.epoch).toBe(1n);
  await a.shard.close();
  expect((await takeOver(own, store, 40n)).claim.ownerEpoch).toBe('41');
  const b = await work(own, store);
  expect(b.owner.epoch).toBe(42n);
  await b.shard.close();
  rmSync(join(store.address, 'commits'), { recursive: true });
  expect((await takeOver(own, store)).claim.ownerEpoch).toBe('43');
});

test('a store of another workgroup is refused', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  await claimReplica(store, { workgroupId: 'other', clock: systemClock });
  await expect(takeOver(machine(), store)).rejects.toMatchObject({ code: 'ForeignReplica' });
});
