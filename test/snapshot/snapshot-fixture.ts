import { join } from 'node:path';
import { silentLogger } from '../../src/lib/logger.ts';
import {
  packObject,
  type SnapshotRef,
  type TakenSnapshot,
  takeSnapshot,
} from '../../src/snapshot/take-snapshot.ts';
import { unpack } from '../../src/snapshot/unpack.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { tempDir } from '../support/temp-dir.ts';

let taken = 0;

export function snapshotOf(
  shard: Pick<Shard, 'readFrozen' | 'workgroupId'>,
  store: ObjectStore,
  previous: SnapshotRef | undefined,
  partBytesMax?: number,
): Promise<TakenSnapshot> {
  const key = `snapshots/${String(++taken).padStart(12, '0')}-test.pack`;
  return takeSnapshot(shard, {
    store,
    key,
    previous,
    stagingDir: tempDir(),
    ...(partBytesMax !== undefined && { partBytesMax }),
    logger: silentLogger,
  });
}

/** @returns the path of the restored warehouse */
export async function restored(store: ObjectStore, snapshot: SnapshotRef): Promise<string> {
  const path = join(tempDir(), 'acme.duckdb');
  await unpack(store, { pack: packObject(snapshot), fileBytes: snapshot.fileBytes, path });
  return path;
}

/** Lets `before` run before each piece of the warehouse file is read. */
export function slowReads(
  shard: Shard,
  before: () => Promise<void>,
): Pick<Shard, 'readFrozen' | 'workgroupId'> {
  return {
    workgroupId: shard.workgroupId,
    readFrozen: (work) =>
      shard.readFrozen((file) =>
        work({
          ...file,
          async read(target, position) {
            await before();
            await file.read(target, position);
          },
        }),
      ),
  };
}
