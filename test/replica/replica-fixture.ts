import { cpSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { commitSnapshot } from '../../src/backup/commit-snapshot.ts';
import type { RestorableCommit } from '../../src/backup/stored-commits.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { listSequences } from '../../src/publish/lake-commit.ts';
import { lakePaths } from '../../src/publish/lake-layout.ts';
import { publish } from '../../src/publish/publish.ts';
import { openReplicaOwner, type ReplicaOwner } from '../../src/replica/replica-owner.ts';
import { recordIn } from '../../src/replica/replication-state.ts';
import { type TakenOver, takeOverReplica, type UnusedClaims } from '../../src/replica/take-over-replica.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { openShard, type Shard } from '../../src/warehouse/shard.ts';
import { landMessages, rows, WORKGROUP } from '../publish/publish-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { atEnd, shared } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';

const folder = { kind: 'folder', open: async () => createFolderStore(join(tempDir(), 'store')) };
const bucket = { kind: 'bucket', open: async () => createS3Store(await s3ForTests()) };
/**
 * A bucket if there is one, because the other tests of replicas use a folder. Both in `npm run test:soak`.
 */
export const stores = s3Missing ? [folder] : isSoak ? [folder, bucket] : [bucket];

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
  /** Lands messages and publishes them with a snapshot. The views for people do not follow. */
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
  atEnd(() => shard.close());
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
      await publish(shard, { lakeDir, clock: systemClock, logger: silentLogger });
      return snapshot();
    },
    content: () =>
      shard.read((connection) =>
        rows(connection, 'SELECT count(*)::INTEGER, sum(stream_offset)::VARCHAR FROM message'),
      ),
  };
}

/** A store in a folder, and the stopped machine that has mirrored to it. */
export interface Mirrored {
  store: ReturnType<typeof createFolderStore>;
  own: Machine;
  /** The content of each generation: commits 2, 3 and so on. */
  contents: unknown[];
}

/**
 * Mirrors some generations once for all tests of a file. Each call returns a copy, so a test may change
 * everything.
 */
export function sharedMirrored(generations: number): () => Mirrored {
  const image = shared(async () => {
    const folder = tempDir();
    const a = await work(machine(join(folder, 'data')), createFolderStore(join(folder, 'store')));
    const contents: unknown[] = [];
    while (contents.length < generations) {
      await a.owner.mirror(await a.grow());
      contents.push(await a.content());
    }
    await a.shard.close();
    return { folder, contents };
  });
  return () => {
    const { folder, contents } = image();
    const copy = tempDir();
    cpSync(folder, copy, { recursive: true, preserveTimestamps: true });
    return { store: createFolderStore(join(copy, 'store')), own: machine(join(copy, 'data')), contents };
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
