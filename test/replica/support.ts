import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { commitSnapshot } from '../../src/backup/commit-snapshot.ts';
import type { RestorableCommit } from '../../src/backup/stored-commits.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { listSequences } from '../../src/publish/lake-commit.ts';
import { lakePaths } from '../../src/publish/lake-layout.ts';
import { openReplicaOwner, type ReplicaOwner } from '../../src/replica/replica-owner.ts';
import { recordIn } from '../../src/replica/replication-state.ts';
import { type TakenOver, takeOverReplica, type UnusedClaims } from '../../src/replica/take-over-replica.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { openShard, type Shard } from '../../src/warehouse/shard.ts';
import { publishAndRenew } from '../publish/publish-and-renew.ts';
import { landMessages, rows, WORKGROUP } from '../publish/support.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';

export const stores = [
  { kind: 'folder', open: async () => createFolderStore(join(tempDir(), 'store')), skip: undefined },
  { kind: 'bucket', open: async () => createS3Store(await s3ForTests()), skip: s3Missing },
];

/** The part of a data folder that a workgroup has. */
export interface Machine {
  warehousePath: string;
  lakeDir: string;
  root: string;
}

export function machine(dataDir: string = tempDir()): Machine {
  const lakeDir = join(dataDir, 'lake');
  return {
    warehousePath: join(dataDir, 'warehouse', `${WORKGROUP}.duckdb`),
    lakeDir,
    root: join(lakeDir, WORKGROUP),
  };
}

export interface Working {
  taken: TakenOver;
  shard: Shard;
  owner: ReplicaOwner;
  /** Lands messages and publishes them with a snapshot. */
  grow(count?: number): Promise<RestorableCommit>;
  snapshot(): Promise<RestorableCommit>;
  /** The number of messages, and a sum of their offsets. */
  content(): Promise<unknown>;
}

export async function takeOver(
  { warehousePath, lakeDir, root }: Machine,
  store: ObjectStore,
  claims?: UnusedClaims,
): Promise<TakenOver> {
  const hasPublished = (await listSequences(lakePaths(lakeDir, WORKGROUP))).length > 0;
  const options = { store, workgroupId: WORKGROUP, warehousePath, root, hasPublished, clock: systemClock };
  return takeOverReplica({ ...options, ...(claims && { claims }) });
}

/** Takes over a workgroup, and opens its warehouse as the owner. */
export async function work(on: Machine, store: ObjectStore, clock = systemClock): Promise<Working> {
  const taken = await takeOver(on, store);
  const { warehousePath: path, lakeDir, root } = on;
  const shard = await openShard({
    path,
    workgroupId: WORKGROUP,
    memoryMegabytes: 512,
    threads: 1,
    folders: [lakeDir],
    epoch: BigInt(taken.claim.ownerEpoch),
    clock: systemClock,
    logger: silentLogger,
  });
  onTestFinished(() => shard.close());
  const record = recordIn(shard);
  const owner = await openReplicaOwner({ store, claim: taken.claim, root, record, clock });
  const snapshot = () => commitSnapshot(shard, { lakeDir, clock: systemClock, logger: silentLogger });
  return {
    taken,
    shard,
    owner,
    snapshot,
    async grow(count = 5) {
      const last = (await shard.checkpoint('stream'))?.lastStoreTimeMs ?? TEST_START_MS;
      await landMessages(shard, { count, storeTimeMs: last + 1_000 });
      await publishAndRenew(shard, { lakeDir, clock: systemClock, logger: silentLogger });
      return snapshot();
    },
    content: () =>
      shard.read((connection) =>
        rows(connection, 'SELECT count(*)::INTEGER, sum(stream_offset)::VARCHAR FROM message'),
      ),
  };
}

export async function keysOf(store: ObjectStore, prefix = ''): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}

/** Makes the objects of a folder older. */
export async function age(store: ObjectStore, ms: number, prefix = ''): Promise<void> {
  for await (const { key, modifiedAtMs } of store.list(prefix)) {
    const seconds = (modifiedAtMs - ms) / 1_000;
    utimesSync(join(store.address, key), seconds, seconds);
  }
}

export function entriesOf(folder: string): string[] {
  return readdirSync(folder).sort();
}
