import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packObject, packsOf, type SnapshotRef } from '../../src/snapshot/take-snapshot.ts';
import { unpack } from '../../src/snapshot/unpack.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { rounds } from '../support/rounds.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { batchOf } from '../warehouse/batches.ts';
import { landedOffsets, openTestShard } from '../warehouse/support.ts';
import { restored, snapshotOf } from './support.ts';

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

test('a flipped byte anywhere in a pack is refused, and so is a cut', async () => {
  const { folder, store, first, second } = await twoPacks();
  const packs = await packsOf(store, second);
  expect(packs.map(({ key }) => key)).toEqual([second.pack, first.pack]);
  for (const { key, bytes } of packs) {
    const path = join(folder, key);
    const whole = readFileSync(path);
    const everywhere = [0, 7, 8, bytes - 1, bytes - 30, bytes - 52, bytes - 53];
    const between = Array.from({ length: rounds(40, 2_000) }, (_, at) =>
      Math.floor(((at + 0.5) / rounds(40, 2_000)) * bytes),
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

test('a pack that is missing, or of another snapshot, is refused', async () => {
  const { store, first, second } = await twoPacks();
  await expectRefused(store, { ...second, sha256: first.sha256 }, 'another sum');
  await expectRefused(store, { ...second, fileBytes: second.fileBytes + 1 }, 'another size');
  await expectRefused(store, { ...first, pack: second.pack }, 'another pack');
  await store.remove(first.pack);
  await expect(restored(store, second)).rejects.toMatchObject({ code: 'ObjectMissing' });
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
