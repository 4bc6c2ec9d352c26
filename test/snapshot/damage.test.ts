import { createHash } from 'node:crypto';
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { encodeMap, MAGIC, mapBytesMax, TRAILER_BYTES } from '../../src/snapshot/pack-format.ts';
import { readPackMap } from '../../src/snapshot/read-pack.ts';
import { packObject, packsOf, type SnapshotRef } from '../../src/snapshot/take-snapshot.ts';
import { unpack } from '../../src/snapshot/unpack.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { rounds } from '../support/rounds.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { batchOf } from '../warehouse/batches.ts';
import { landedOffsets, openTestShard } from '../warehouse/warehouse-fixture.ts';
import { restored, snapshotOf } from './snapshot-fixture.ts';

async function twoPacks() {
  const shard = await openTestShard();
  const folder = tempDir();
  const store = createFolderStore(folder);
  await shard.land(batchOf(0, 500));
  const first = await snapshotOf(shard, store, undefined);
  await shard.land(batchOf(500, 500));
  const second = await snapshotOf(shard, store, first);
  return { folder, store, first, second };
}

test('a flipped byte anywhere in a pack is refused, and so is a cut', { tags: ['slow'] }, async () => {
  const { folder, store, first, second } = await twoPacks();
  const packs = await packsOf(store, second);
  expect(packs.map(({ key }) => key)).toEqual([second.pack, first.pack]);
  for (const { key, bytes } of packs) {
    const path = join(folder, key);
    const whole = readFileSync(path);
    const everywhere = [0, 7, 8, bytes - 1, bytes - 30, bytes - 52, bytes - 53];
    const between = Array.from({ length: rounds(8, 2_000) }, (_, at) =>
      Math.floor(((at + 0.5) / rounds(8, 2_000)) * bytes),
    );
    for (const position of [...everywhere, ...between]) {
      const spoilt = Buffer.from(whole);
      spoilt[position]! ^= 1 << (position % 8);
      writeFileSync(path, spoilt);
      await expectRefused(store, second, `byte ${position} of ${key}`);
    }
    for (const length of [0, 10, 60, bytes >> 1, bytes - 1]) {
      writeFileSync(path, whole);
      truncateSync(path, length);
      await expectRefused(store, second, `${length} bytes of ${key}`);
    }
    writeFileSync(path, Buffer.concat([whole, Buffer.from('x')]));
    await expectRefused(store, second, `a byte too much in ${key}`);
    writeFileSync(path, whole);
  }
  expect(await restored(store, second)).toBeTruthy();
});

test('a pack that is missing, or of another snapshot, is refused', { tags: ['slow'] }, async () => {
  const { store, first, second } = await twoPacks();
  await expectRefused(store, { ...second, sha256: first.sha256 }, 'another sum');
  await expectRefused(store, { ...second, fileBytes: second.fileBytes + 1 }, 'another size');
  await expectRefused(store, { ...first, pack: second.pack }, 'another pack');
  await store.remove(first.pack);
  await expect(restored(store, second)).rejects.toMatchObject({ code: 'ObjectMissing' });
});

test('a map that has a block of no bytes at the end of its pack is refused', { tags: ['slow'] }, async () => {
  const { folder, store, first } = await twoPacks();
  const map = await readPackMap(store, packObject(first), first);
  const path = join(folder, first.pack);
  const whole = readFileSync(path);
  const mapOffset = whole.readUIntLE(whole.length - TRAILER_BYTES, 6);
  const last = map.blocks.pop()!;
  const packEndingAt = async (offset: number) => {
    const end = await encodeMap(
      { ...map, blocks: [...map.blocks, { ...last, offset, length: 0 }] },
      mapOffset,
    );
    return Buffer.concat([whole.subarray(0, mapOffset), end]);
  };
  // The offset changes how well the map is compressed.
  let offset = whole.length - 50;
  let spoilt = await packEndingAt(offset);
  for (; spoilt.length > offset; spoilt = await packEndingAt(offset)) offset++;
  expect(spoilt).toHaveLength(offset);
  writeFileSync(path, spoilt);
  const sha256 = createHash('sha256').update(spoilt).digest('hex');
  await expectRefused(store, { ...first, bytes: spoilt.length, sha256 }, 'a block of no bytes');
});

test('a damaged older pack makes the next one a full pack, so new snapshots are sound', async () => {
  const { folder, store, first } = await twoPacks();
  const path = join(folder, first.pack);
  const bytes = readFileSync(path);
  bytes[bytes.length - 20]! ^= 1;
  writeFileSync(path, bytes);
  const shard = await openTestShard();
  const next = await snapshotOf(shard, store, first);
  expect(next.blocksWritten).toBe(next.blocks);
  await restored(store, next);
});

test('a pack with impossible sizes is refused before memory is taken for them', {
  tags: ['slow'],
}, async () => {
  const { folder, store, first } = await twoPacks();
  const fileBytes = 2 ** 39;
  const place = { pack: 0, offset: MAGIC.length, length: 1, sha256: Buffer.alloc(32) };
  const many = Array.from({ length: 100_000 }, () => place);
  const sizes = {
    'a map that unpacks to 4.6 MB': packOf(
      await encodeMap({ fileBytes: first.fileBytes, packs: [ownPack], blocks: many }, MAGIC.length),
    ),
    'a file of 512 GiB': packOf(
      await encodeMap({ fileBytes, packs: [ownPack], blocks: [place] }, MAGIC.length),
    ),
  };
  const why: string[] = [];
  for (const bytes of Object.values(sizes)) {
    writeFileSync(join(folder, ownPack.key), bytes);
    const pack = { ...ownPack, bytes: bytes.length };
    for (const noted of [first.fileBytes, fileBytes, 2 ** 52])
      why.push(
        await readPackMap(store, pack, { fileBytes: noted }).then(
          () => 'read',
          ({ message }: Error) => message.slice(message.indexOf('its map')),
        ),
      );
  }
  const { fileBytes: small } = first;
  expect(why).toEqual([
    `its map cannot be read (it has more than ${mapBytesMax(small)} bytes, which is too much for a file of ${small} bytes)`,
    `its map cannot be read (it is of a file of ${small} bytes instead of ${fileBytes})`,
    `its map cannot be read (it is of a file of ${small} bytes instead of ${2 ** 52})`,
    `its map cannot be read (it is of a file of ${fileBytes} bytes instead of ${small})`,
    'its map cannot be read (the map has another number of blocks)',
    `its map cannot be read (it is of a file of ${fileBytes} bytes instead of ${2 ** 52})`,
  ]);
  // A length that only a damaged commit has.
  expect(await store.getRange(ownPack.key, 0, 2 ** 50)).toHaveLength(Object.values(sizes)[1]!.length);
});

const ownPack = { key: 'snapshots/000000000001-beef.pack', bytes: 0, sha256: '' };

/** A pack without blocks. */
function packOf(mapAndTrailer: Buffer): Buffer {
  return Buffer.concat([MAGIC, mapAndTrailer]);
}

test.skipIf(s3Missing)('snapshots go to a bucket and come back', async () => {
  const store = createS3Store(await s3ForTests());
  const shard = await openTestShard();
  await shard.land(batchOf(0, 500));
  const first = await snapshotOf(shard, store, undefined);
  await shard.land(batchOf(500, 500));
  const second = await snapshotOf(shard, store, first);
  const copy = await openTestShard({ path: await restored(store, second) });
  expect((await landedOffsets(copy)).length).toBe(1_000);
});

async function expectRefused(
  store: ReturnType<typeof createFolderStore>,
  snapshot: SnapshotRef,
  what: string,
): Promise<void> {
  const path = join(tempDir(), 'restored.duckdb');
  const { fileBytes } = snapshot;
  const result = await unpack(store, { pack: packObject(snapshot), fileBytes, path }).then(
    () => 'restored',
    (error: { code?: string }) => error.code,
  );
  expect(result, what).toBe('ObjectDamaged');
  expect(existsSync(path), what).toBe(false);
  expect(existsSync(`${path}.restoring`), what).toBe(false);
}
