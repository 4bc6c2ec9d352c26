// @module-tag slow
import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/time.ts';
import { preparedAt, prepareTakeOver, removeAllPrepared } from '../../src/replica/prepare-take-over.ts';
import { takeOverReplica } from '../../src/replica/take-over-replica.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { entriesOf, keysOf, type Machine, machine, stores, takeOver, work } from './replica-fixture.ts';

const openFolder = () => createFolderStore(join(tempDir(), 'store'));

async function prepare(on: Machine, store: ObjectStore): Promise<number | undefined> {
  return prepareTakeOver({ ...on, store, fileBytesMin: 0 });
}

/** The keys that a takeover reads as a whole. */
async function takeOverPrepared(on: Machine, store: ObjectStore) {
  const fetched: string[] = [];
  const counting: ObjectStore = {
    ...store,
    download(key, ...rest) {
      fetched.push(key);
      return store.download(key, ...rest);
    },
    getRange(key, start, ...rest) {
      if (start === 0) fetched.push(key);
      return store.getRange(key, start, ...rest);
    },
  };
  const prepared = preparedAt(on.warehousePath, on.root);
  const options = { ...on, store: counting, workgroupId: WORKGROUP, prepared, clock: systemClock };
  return { taken: await takeOverReplica(options), fetched };
}

/** Opens what was restored, and reads the messages that it has. */
async function contentOf(on: Machine, store: ObjectStore): Promise<unknown> {
  const working = await work(on, store);
  const content = await working.content();
  await working.shard.close();
  return content;
}

/**
 * Two machines. The first has committed, the second has prepared, and the first commits once more and stops.
 */
async function handedOver(store: ObjectStore) {
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow(500));
  const keys = await keysOf(store);
  const next = machine();
  expect(await prepare(next, store)).toBeGreaterThan(0);
  // Nothing is claimed, and nothing is visible.
  expect(await keysOf(store)).toEqual(keys);
  expect(existsSync(next.warehousePath) || existsSync(next.root)).toBe(false);
  const last = await a.grow();
  await a.owner.mirror(last);
  const content = await a.content();
  await a.shard.close();
  return { next, content, last, prepared: preparedAt(next.warehousePath, next.root) };
}

test.each(stores)(
  'a prepared successor of a $kind fetches only the last pack, and has the same warehouse',
  async ({ open }) => {
    const store = await open();
    const { next, content, last, prepared } = await handedOver(store);
    const { taken, fetched } = await takeOverPrepared(next, store);
    expect(taken).toMatchObject({ warehouse: 'restored', claim: { ownerEpoch: '2' } });
    expect(fetched).toEqual([last.snapshot.pack]);
    expect([existsSync(prepared.root), existsSync(prepared.warehouse)]).toEqual([false, false]);
    const plain = machine();
    await takeOver(plain, store);
    expect(entriesOf(join(next.root, 'snapshots'))).toEqual(entriesOf(join(plain.root, 'snapshots')));
    expect(await contentOf(next, store)).toEqual(content);
  },
);

test.runIf(isSoak)('a prepared warehouse that is damaged is mended', async () => {
  const store = openFolder();
  const { next, content, prepared } = await handedOver(store);
  const bytes = readFileSync(prepared.warehouse);
  writeFileSync(prepared.warehouse, bytes.fill(7, 0, 20_000).subarray(0, bytes.length / 2));
  const { taken } = await takeOverPrepared(next, store);
  expect(taken).toMatchObject({ warehouse: 'restored', claim: { ownerEpoch: '2' } });
  expect(taken.rolledBack).toBeUndefined();
  expect(await contentOf(next, store)).toEqual(content);
});

test('a prepared pack that is damaged is not used, and rolls nothing back', async () => {
  const store = openFolder();
  const { next, content, last, prepared } = await handedOver(store);
  truncateSync(prepared.warehouse, 0);
  for (const name of readdirSync(join(prepared.root, 'snapshots')))
    truncateSync(join(prepared.root, 'snapshots', name), 100);
  const { taken, fetched } = await takeOverPrepared(next, store);
  expect(taken.rolledBack).toBeUndefined();
  expect(new Set(fetched)).toContain(last.snapshot.pack);
  expect(fetched.length).toBeGreaterThan(1);
  expect(await contentOf(next, store)).toEqual(content);
});

test.runIf(isSoak)('files that were prepared long ago, or of a later commit, change nothing', async () => {
  const store = openFolder();
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow(500));
  const [early, late] = [machine(), machine()];
  await prepare(early, store);
  for (let round = 0; round < 3; round++) await a.owner.mirror(await a.grow(200));
  const content = await a.content();
  await prepare(late, store);
  await a.shard.close();
  await takeOverPrepared(early, store);
  expect(await contentOf(early, store)).toEqual(content);
  await takeOverPrepared(late, store);
  expect(await contentOf(late, store)).toEqual(content);
});

test('a small warehouse, and a new workgroup, are not fetched', async () => {
  const store = openFolder();
  expect(await prepare(machine(), store)).toBeUndefined();
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow());
  const next = machine();
  expect(await prepareTakeOver({ ...next, store })).toBeUndefined();
  expect(existsSync(preparedAt(next.warehousePath, next.root).warehouse)).toBe(false);
});

test('what a killed process has prepared is removed at the next start, and nothing else', async () => {
  const store = openFolder();
  const { next, prepared } = await handedOver(store);
  writeFileSync(`${prepared.warehouse}.restoring`, 'x');
  const other = join(dirname(next.root), 'other');
  mkdirSync(other, { recursive: true });
  await removeAllPrepared([dirname(next.warehousePath), next.lakeDir, join(tempDir(), 'missing')]);
  expect(entriesOf(dirname(next.warehousePath))).toEqual([]);
  expect(entriesOf(next.lakeDir)).toEqual(['other']);
});

test('an interrupted preparation leaves nothing', async () => {
  const store = openFolder();
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow(500));
  const next = machine();
  const abort = new AbortController();
  const aborting: ObjectStore = {
    ...store,
    async getRange(key, start, ...rest) {
      const bytes = await store.getRange(key, start, ...rest);
      if (start === 0) abort.abort(new Error('the worker stops'));
      return bytes;
    },
  };
  const options = { ...next, store: aborting, fileBytesMin: 0, signal: abort.signal };
  await expect(prepareTakeOver(options)).rejects.toThrow('the worker stops');
  const { root, warehouse } = preparedAt(next.warehousePath, next.root);
  expect([existsSync(root), existsSync(warehouse), existsSync(`${warehouse}.restoring`)]).toEqual([
    false,
    false,
    false,
  ]);
});
