// @module-tag slow
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeMap, HEAD_BYTES } from '../../src/snapshot/pack-format.ts';
import { readPackMap } from '../../src/snapshot/read-pack.ts';
import { packObject, packsOf, type SnapshotRef } from '../../src/snapshot/take-snapshot.ts';
import { unpack } from '../../src/snapshot/unpack.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { batchOf } from '../warehouse/batches.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { restored, snapshotOf } from './snapshot-fixture.ts';

/** Three snapshots of a growing warehouse, each with the bytes of its file. */
async function threeSnapshots() {
  const shard = await openTestShard();
  const store = createFolderStore(tempDir());
  const snapshots: Array<{ snapshot: SnapshotRef; bytes: Buffer }> = [];
  for (let round = 0; round < 3; round++) {
    await shard.land(batchOf(round * 500, 500));
    const snapshot = await snapshotOf(shard, store, snapshots.at(-1)?.snapshot);
    snapshots.push({ snapshot, bytes: readFileSync(await restored(store, snapshot)) });
  }
  return { store, snapshots };
}

async function unpackOn(store: ObjectStore, snapshot: SnapshotRef, base: Buffer): Promise<Buffer> {
  const folder = tempDir();
  const options = {
    pack: packObject(snapshot),
    fileBytes: snapshot.fileBytes,
    path: join(folder, 'acme.duckdb'),
    base: join(folder, 'base'),
  };
  writeFileSync(options.base, base);
  await unpack(store, options).catch((error: unknown) => {
    expect(existsSync(options.path)).toBe(false);
    throw error;
  });
  expect(existsSync(options.base)).toBe(false);
  return readFileSync(options.path);
}

test.runIf(isSoak)(
  'whatever the base is, the restored file has the bytes of one without a base',
  async () => {
    const { store, snapshots } = await threeSnapshots();
    const { snapshot, bytes } = snapshots[1]!;
    for (const base of [...snapshots.map((each) => each.bytes), Buffer.alloc(0)])
      expect((await unpackOn(store, snapshot, base)).equals(bytes)).toBe(true);
    const damaged = fc.record({
      of: fc.constantFrom(...snapshots.map((each) => each.bytes)),
      keptShare: fc.double({ min: 0, max: 1, noNaN: true }),
      flips: fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { maxLength: 8 }),
      more: fc.uint8Array({ maxLength: 64 }),
    });
    await fc.assert(
      fc.asyncProperty(damaged, async ({ of, keptShare, flips, more }) => {
        const base = Buffer.concat([of.subarray(0, Math.ceil(of.length * keptShare)), more]);
        for (const at of flips) if (base.length > 0) base[Math.floor(at * base.length)]! ^= 1;
        expect((await unpackOn(store, snapshot, base)).equals(bytes)).toBe(true);
      }),
      { numRuns: rounds(20, 500) },
    );
  },
);

test('only the blocks that the base lacks are read from the packs', async () => {
  const { store, snapshots } = await threeSnapshots();
  const { snapshot, bytes } = snapshots[2]!;
  let reads = 0;
  const counting: ObjectStore = {
    ...store,
    getRange(...range) {
      reads += 1;
      return store.getRange(...range);
    },
  };
  await unpackOn(counting, snapshot, bytes);
  const ofMap = reads;
  const base = Buffer.from(bytes);
  base[HEAD_BYTES]! ^= 1;
  reads = 0;
  await unpackOn(counting, snapshot, base);
  expect(reads).toBe(ofMap + 1);
});

test('a damaged block of a pack is refused, unless the base has it', async () => {
  const { store, snapshots } = await threeSnapshots();
  const { snapshot, bytes } = snapshots[1]!;
  const [newest] = await packsOf(store, snapshot);
  const path = join(store.address, newest!.key);
  const spoilt = readFileSync(path);
  spoilt[8]! ^= 1;
  writeFileSync(path, spoilt);
  await expect(unpackOn(store, snapshot, Buffer.alloc(0))).rejects.toMatchObject({ code: 'ObjectDamaged' });
  expect((await unpackOn(store, snapshot, bytes)).equals(bytes)).toBe(true);
});

test('packs that are kept while they are unpacked are copies, and the file has the same bytes', async () => {
  const { store, snapshots } = await threeSnapshots();
  const { snapshot, bytes } = snapshots[2]!;
  const packs = await packsOf(store, snapshot);
  expect(packs.length).toBeGreaterThan(1);
  const keepIn = tempDir();
  const path = join(tempDir(), 'acme.duckdb');
  const options = { pack: packObject(snapshot), fileBytes: snapshot.fileBytes, path, keepIn };
  await unpack(store, options);
  expect(readFileSync(path).equals(bytes)).toBe(true);
  for (const { key } of packs)
    expect(readFileSync(join(keepIn, key)).equals(readFileSync(join(store.address, key)))).toBe(true);
});

test('a map that differs from the map of the kept pack is refused', async () => {
  const { store, snapshots } = await threeSnapshots();
  const { snapshot } = snapshots[1]!;
  const map = await readPackMap(store, packObject(snapshot), snapshot);
  // It names a pack twice, so all its blocks are sound.
  const other = { ...map, packs: [...map.packs, map.packs[1]!] };
  const mapOffset = snapshot.bytes - (await encodeMap(other, 0)).length;
  const end = await encodeMap(other, mapOffset);
  const changing: ObjectStore = {
    ...store,
    async getRange(key, start, length) {
      const bytes = await store.getRange(key, start, length);
      if (key === snapshot.pack && start > 0) end.copy(bytes!, 0, start - mapOffset);
      return bytes;
    },
  };
  const path = join(tempDir(), 'acme.duckdb');
  const options = { pack: packObject(snapshot), fileBytes: snapshot.fileBytes, path, keepIn: tempDir() };
  await expect(unpack(changing, options)).rejects.toMatchObject({
    code: 'ObjectDamaged',
    message: expect.stringContaining('its map has changed'),
  });
  expect(existsSync(path)).toBe(false);
});
