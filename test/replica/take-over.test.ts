import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { publish } from '../../src/publish/publish.ts';
import { claimReplica } from '../../src/replica/claim-replica.ts';
import { takeOverReplica, type UnusedClaims } from '../../src/replica/take-over-replica.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { onConnection } from '../../src/warehouse/recovering-database.ts';
import { openShard } from '../../src/warehouse/shard.ts';
import { landMessages, rows, WORKGROUP } from '../publish/publish-fixture.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { keysOf, type Machine, machine, sharedMirrored, stores, takeOver, work } from './replica-fixture.ts';

const mirrored = sharedMirrored(1);

describe.each(stores)('a replica in a $kind', ({ open }) => {
  test('another machine continues with all that was mirrored, and the first one is fenced', {
    tags: ['slow'],
  }, async () => {
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
  });
});

test('the same machine continues with its own warehouse, also with what was not mirrored', {
  tags: ['slow'],
}, async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const own = machine();
  const a = await work(own, store);
  await a.owner.mirror(await a.grow());
  await a.owner.mirror(await a.grow());
  await a.grow();
  const content = await a.content();
  await expect(takeOver(own, store)).rejects.toMatchObject({ code: 'WarehouseLocked' });
  await a.shard.close();
  // Two takeovers that end before the warehouse is opened.
  expect(await takeOver(own, store)).toMatchObject({ warehouse: 'local' });
  expect(await takeOver(own, store)).toMatchObject({ warehouse: 'local' });
  const b = await work(own, store);
  expect(b.taken).toMatchObject({ warehouse: 'local', movedAway: [], claim: { sequence: 6 } });
  expect(await b.content()).toEqual(content);
  expect(await b.owner.mirror(await b.snapshot())).toMatchObject({ kind: 'mirrored', sequence: 7 });
});

test('an older copy of the warehouse is not used, also beside the file of planned claims', {
  tags: ['slow'],
}, async () => {
  const { store, own } = mirrored();
  const folder = dirname(own.warehousePath);
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

test('a warehouse from before its replica is its first content', { tags: ['slow'] }, async () => {
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

test('a machine without the data does not begin a new history before the first copy of another machine', {
  tags: ['slow'],
}, async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const old = machine();
  const before = await work(old, createFolderStore(join(tempDir(), 'other')));
  await before.grow(50);
  const content = await before.content();
  await before.shard.close();
  // The bucket is new. The old machine claims the workgroup, and stops before its first copy is complete.
  expect((await takeOver(old, store)).claim).toMatchObject({ sequence: 1, hasPublished: true });
  await expect(takeOver(machine(), store)).rejects.toMatchObject({ code: 'FirstCopyMissing' });
  expect(await keysOf(store)).toHaveLength(1);
  const again = await work(old, store);
  expect(again.taken.warehouse).toBe('local');
  await again.owner.mirror(await again.snapshot());
  const other = await work(machine(), store);
  expect(await other.content()).toEqual(content);
});

test('published data that was never in the bucket is not moved away', { tags: ['slow'] }, async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const old = machine();
  const before = await landedAndPublished(old);
  const b = await work(machine(), store);
  await b.owner.mirror(await b.grow());
  const keys = await keysOf(store);
  await expect(takeOver(old, store)).rejects.toMatchObject({ code: 'OtherHistory' });
  expect(await keysOf(store)).toEqual(keys);
  expect(await before()).toBe(50);
});

test.runIf(isSoak)(
  'a warehouse that was restored from the bucket, and never opened, is no other history',
  async () => {
    const store = createFolderStore(join(tempDir(), 'store'));
    const old = machine();
    await landedAndPublished(old);
    const a = await work(old, store);
    await a.owner.mirror(await a.snapshot());
    await a.shard.close();
    const fresh = machine();
    expect(await takeOver(fresh, store)).toMatchObject({ warehouse: 'restored' });
    await forgetReplica(fresh);
    const b = await work(machine(), store);
    await b.owner.mirror(await b.grow());
    expect(await takeOver(fresh, store)).toMatchObject({ warehouse: 'restored' });
  },
);

/** A machine from before it had a bucket, with 50 messages. @returns counts the messages of its warehouse */
async function landedAndPublished({
  warehousePath: path,
  lakeDir,
}: Machine): Promise<() => Promise<unknown>> {
  const open = () =>
    openShard({
      path,
      workgroupId: WORKGROUP,
      memoryMegabytes: 512,
      threads: 1,
      folders: [lakeDir],
      clock: systemClock,
      logger: silentLogger,
    });
  const shard = await open();
  await landMessages(shard, { count: 50, storeTimeMs: TEST_START_MS });
  await publish(shard, { lakeDir, clock: systemClock, logger: silentLogger });
  await shard.close();
  return async () => {
    const again = await open();
    const [row] = await again.read((connection) => rows(connection, 'SELECT count(*)::INTEGER FROM message'));
    await again.close();
    return row![0];
  };
}

/** Makes a restored warehouse one of a backup that was made without a bucket. */
async function forgetReplica({ warehousePath }: Machine): Promise<void> {
  const database = await openDatabase({
    path: warehousePath,
    memoryMegabytes: 256,
    threads: 1,
    clock: systemClock,
  });
  await onConnection(database, (connection) =>
    connection.run("DELETE FROM publication WHERE state IN ('replicated', 'replica_planned')"),
  );
  await database.close();
}

test.each([
  { name: 'a damaged warehouse', damage: ({ warehousePath }: Machine) => overwriteStart(warehousePath) },
  { name: 'a deleted lake', damage: ({ root }: Machine) => rmSync(root, { recursive: true }) },
  {
    name: 'a lake with an unreadable commit',
    damage: ({ root }: Machine) => writeFileSync(join(root, 'commits/000000000009.json'), '{'),
  },
])('$name is replaced from the bucket', { tags: ['slow'] }, async ({ damage }) => {
  const {
    store,
    own,
    contents: [content],
  } = mirrored();
  damage(own);
  const b = await work(own, store);
  expect(b.taken).toMatchObject({ warehouse: 'restored', localFault: expect.any(String) });
  for (const path of b.taken.movedAway) expect(existsSync(path)).toBe(true);
  expect(await b.content()).toEqual(content);
  expect(await b.owner.mirror(await b.grow())).toMatchObject({ kind: 'mirrored' });
});

test('a damaged warehouse that the bucket does not have claims nothing', { tags: ['slow'] }, async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const own = machine();
  await landedAndPublished(own);
  overwriteStart(own.warehousePath);
  await expect(takeOver(own, store)).rejects.toMatchObject({ code: expect.stringMatching(/Warehouse/) });
  expect(await keysOf(store)).toEqual([]);
  expect(existsSync(own.warehousePath)).toBe(true);
});

function overwriteStart(path: string): void {
  const bytes = readFileSync(path);
  bytes.fill(7, 0, 12_288);
  writeFileSync(path, bytes);
}

test('the epoch is higher than the epochs of the replica and of the local file', {
  tags: ['slow'],
}, async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const own = machine();
  const a = await work(own, store);
  expect(a.owner.epoch).toBe(1n);
  await a.owner.noteHibernation({ logEpoch: 'e', nextOffset: '0', settings: 's', closedAtMs: 1 });
  await a.shard.close();
  const { claim } = await takeOver(own, store);
  // An owner that has claimed it does not hibernate.
  expect([claim.ownerEpoch, claim.idle]).toEqual(['2', undefined]);
  const b = await work(own, store);
  expect(b.owner.epoch).toBe(3n);
  await b.shard.close();
  rmSync(join(store.address, 'commits'), { recursive: true });
  expect((await takeOver(own, store)).claim.ownerEpoch).toBe('4');
});

test('a claim that was not used is used again, unless the local file has its epoch or a later one', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const options = { workgroupId: WORKGROUP, clock: systemClock };
  const { commit } = await claimReplica(store, options);
  const unused = commit.nonce;
  expect((await claimReplica(store, { ...options, unused })).commit).toEqual(commit);
  const later = await claimReplica(store, { ...options, unused, epochAbove: 1n });
  expect(later.commit).toMatchObject({ sequence: 2, ownerEpoch: '2' });
});

test.runIf(isSoak)(
  'attempts that fail after the claim leave one claim, and another worker can still take over',
  async () => {
    const { store } = mirrored();
    const content = readFileSync(join(store.address, (await packOf(store))!));
    const damaged = Buffer.from(content);
    damaged[100]! ^= 1;
    writeFileSync(join(store.address, (await packOf(store))!), damaged);
    const keys = await keysOf(store);
    const claims: UnusedClaims = new Map();
    const own = machine();
    for (let attempt = 0; attempt < rounds(8, 50); attempt++)
      await expect(takeOver(own, store, claims)).rejects.toMatchObject({ code: 'ObjectDamaged' });
    expect((await keysOf(store)).length).toBe(keys.length + 1);
    expect(existsSync(own.warehousePath)).toBe(false);
    writeFileSync(join(store.address, (await packOf(store))!), content);

    // It restores once, however often the warehouse cannot be opened afterwards.
    const first = await takeOver(own, store, claims);
    const second = await takeOver(own, store, claims);
    expect([first, second]).toMatchObject([
      { warehouse: 'restored' },
      { warehouse: 'restored', movedAway: [] },
    ]);
    expect(second.claim).toEqual(first.claim);
    expect((await keysOf(store)).length).toBe(keys.length + 1);
    const other = await takeOver(machine(), store);
    expect(BigInt(other.claim.ownerEpoch)).toBe(BigInt(first.claim.ownerEpoch) + 1n);
    // The own claim is not the newest one any more.
    const third = await takeOver(own, store, claims);
    expect(third).toMatchObject({ warehouse: 'restored', movedAway: [expect.anything(), expect.anything()] });
    expect(BigInt(third.claim.ownerEpoch)).toBe(BigInt(first.claim.ownerEpoch) + 2n);
  },
);

async function packOf(store: ObjectStore): Promise<string | undefined> {
  return (await keysOf(store, 'snapshots/')).at(-1);
}

test.skipIf(s3Missing)('a claim that a bucket does not answer fails in time', async () => {
  const settings = await s3ForTests();
  let fate: Fate = 'hang';
  const endpoint = await startLossyProxy(settings.endpoint, ({ method }) =>
    method === 'PUT' ? fate : 'pass',
  );
  const store = createS3Store({ ...settings, endpoint });
  const { warehousePath, root } = machine();
  const options = { store, workgroupId: WORKGROUP, warehousePath, root, clock: systemClock };
  await expect(takeOverReplica({ ...options, claimWithinMs: 1_000 })).rejects.toMatchObject({
    code: 'StorageBusy',
    retryable: true,
  });
  fate = 'pass';
  expect(await takeOverReplica(options)).toMatchObject({ warehouse: 'new' });
});

test('a store of another workgroup is refused', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  await claimReplica(store, { workgroupId: 'other', clock: systemClock });
  await expect(takeOver(machine(), store)).rejects.toMatchObject({ code: 'ForeignReplica' });
});
