import { bundledFiles, bundledStore } from '../backup/bundled-store.ts';
import type { RestorableCommit } from '../backup/stored-commits.ts';
import { sha256Hex } from '../lib/durable-files.ts';
import { StaleOwnerError } from '../lib/errors.ts';
import { runAtATime } from '../lib/run-at-a-time.ts';
import { type Clock, HOUR_MS } from '../lib/time.ts';
import type { Bundle } from '../publish/commit-schema.ts';
import { fileKey } from '../publish/lake-layout.ts';
import type { PackObject } from '../snapshot/pack-format.ts';
import { throwMissing } from '../snapshot/read-pack.ts';
import { packsOf } from '../snapshot/take-snapshot.ts';
import { createFolderStore } from '../storage/folder-store.ts';
import { damagedObject, type ObjectStore } from '../storage/object-store.ts';
import { type Collected, type CollectOptions, createCollector } from './collect-replica.ts';
import type { IdleNote } from './idle-note.ts';
import { createReplicaChain } from './replica-chain.ts';
import { objectKeys, type ReplicaCommit } from './replica-commit.ts';
import type { RecordReplication } from './replication-state.ts';
import { planBundles, uploadBundle } from './upload-bundle.ts';
import { type LocalObject, UPLOADS_AT_A_TIME, uploadObjects } from './upload-objects.ts';

interface ReplicaOwnerOptions {
  store: ObjectStore;
  /** The own claim. */
  claim: ReplicaCommit;
  /** The folder of the workgroup's local lake. */
  root: string;
  record: RecordReplication;
  clock: Clock;
}

export type Mirrored =
  | { kind: 'unchanged'; sequence: number }
  | { kind: 'mirrored'; sequence: number; objects: number; bytes: number };

/**
 * The owner of a workgroup, which alone adds commits to its replica. Calls run one after the other, except
 * `unbundle`.
 */
export interface ReplicaOwner {
  readonly epoch: bigint;
  /** The newest commit. */
  head(): ReplicaCommit;
  /**
   * Copies a generation of the local lake, with its snapshot: first the objects that the replica lacks, then
   * the commit. Uploads nothing if the newest commit is a copy of it. If it fails, the replica has the commit
   * before, or the new one; the next call finds out.
   * @throws StaleOwnerError if another worker has claimed the workgroup. Then this owner is over
   * @throws TransientError if the same call, or one with a later generation, can succeed later
   */
  mirror(generation: RestorableCommit, signal?: AbortSignal): Promise<Mirrored>;
  /**
   * Copies the bundled files of a commit to separate objects, because views of analysts read each file by its
   * name. Later commits name these objects instead of the bundles. It does not wait for other calls, so that
   * commits do not wait for its copies. It only adds objects, and notes each one after it is stored. A commit
   * that is made meanwhile names a file in its bundle or in its object, and both exist.
   * @returns the number of files
   */
  unbundle(commit: ReplicaCommit, signal?: AbortSignal): Promise<number>;
  /**
   * Looks for a later commit with one request. Later commits are of another owner.
   * @throws StaleOwnerError if it finds one
   */
  look(signal?: AbortSignal): Promise<void>;
  /**
   * Adds a commit with the content of the newest one, which says that the workgroup hibernates.
   * @throws as `mirror` does
   */
  noteHibernation(idle: IdleNote, signal?: AbortSignal): Promise<void>;
  /** True if the last collection of any owner began more than an hour ago. */
  isCollectionDue(): boolean;
  /**
   * Deletes what is no longer needed, see `createCollector`. The next commit says when it began, even if it
   * fails. If it is aborted, it stays due.
   * @throws StaleOwnerError
   */
  collect(options?: CollectOptions): Promise<Collected>;
}

/**
 * A commit names at most about this many bundles. Usually the views of each hour copy their files earlier.
 */
const BUNDLES_MAX = 100;

/** Begins the work of an owner after its claim. Stores the claim in the warehouse. */
export async function openReplicaOwner(options: ReplicaOwnerOptions): Promise<ReplicaOwner> {
  const { store, claim, root, record, clock } = options;
  const epoch = BigInt(claim.ownerEpoch);
  const collector = createCollector(store);
  /** Objects of the newest commit, and objects that were uploaded for a commit that does not exist yet. */
  let stored = new Set(objectKeys(claim));
  /** The same for bundles. */
  let bundles: readonly Bundle[] = claim.bundles ?? [];
  // A new replica has nothing to delete.
  let collectedAtMs = claim.collectedAtMs ?? clock.now();
  const chain = createReplicaChain({
    store,
    claim,
    record,
    clock,
    onAdded(commit) {
      stored = new Set(objectKeys(commit));
      bundles = commit.bundles ?? [];
      collector.add(commit);
    },
  });
  await record('replicated', claim);

  async function mirror(generation: RestorableCommit, signal?: AbortSignal): Promise<Mirrored> {
    await chain.settle(signal);
    const head = chain.head();
    if (head.generation?.nonce === generation.nonce) return { kind: 'unchanged', sequence: head.sequence };
    if (BigInt(generation.ownerEpoch) > epoch)
      throw new StaleOwnerError(generation.workgroupId, epoch, BigInt(generation.ownerEpoch));
    const packs = await packsOf(createFolderStore(root), generation.snapshot, signal);
    if (bundles.length >= BUNDLES_MAX) await unbundle(head, signal);
    const uploaded = await upload(generation, packs, signal);
    const { sequence, nonce } = generation;
    const commit: ReplicaCommit = {
      ...generation,
      ...chain.next(),
      ownerEpoch: claim.ownerEpoch,
      bundles: bundlesOf(generation),
      generation: { sequence, nonce, packs },
      collectedAtMs,
    };
    await chain.add(commit, signal);
    return { kind: 'mirrored', sequence: commit.sequence, ...uploaded };
  }

  /**
   * Uploads what the store lacks of a generation: several small files as one bundle.
   * @returns the number of new objects, and their bytes
   */
  async function upload(
    generation: RestorableCommit,
    packs: readonly PackObject[],
    signal?: AbortSignal,
  ): Promise<{ objects: number; bytes: number }> {
    const bundled = new Set(bundles.flatMap(({ places }) => places.map(({ name }) => name)));
    const plan = planBundles(
      generation.files.filter((file) => !stored.has(fileKey(file)) && !bundled.has(file.name)),
    );
    const objects: LocalObject[] = [
      ...plan.others.map((file) => ({ key: fileKey(file), bytes: file.bytes, sha256: file.sha256 })),
      ...packs.filter(({ key }) => !stored.has(key)),
    ];
    let bytes = objects.reduce((sum, object) => sum + object.bytes, 0);
    for (const files of plan.bundles) {
      const options = { sequence: chain.head().sequence + 1, signal };
      const bundle = await uploadBundle(store, root, files, options);
      bundles = [...bundles, bundle];
      bytes += bundle.bytes;
    }
    await uploadObjects(store, root, objects, {
      onStored: ({ key }) => stored.add(key),
      signal,
    });
    return { objects: plan.bundles.length + objects.length, bytes };
  }

  /** The bundles that a generation needs, with the files that are not separate objects. */
  function bundlesOf({ files }: RestorableCommit): Bundle[] {
    const needed = new Set(files.filter((file) => !stored.has(fileKey(file))).map(({ name }) => name));
    return bundles
      .map((bundle) => ({ ...bundle, places: bundle.places.filter(({ name }) => needed.has(name)) }))
      .filter((bundle) => bundle.places.length > 0);
  }

  async function unbundle(commit: ReplicaCommit, signal?: AbortSignal): Promise<number> {
    const bundled = [...bundledFiles(commit).keys()].filter((key) => !stored.has(key));
    const files = new Map(commit.files.map((file) => [fileKey(file), file]));
    const source = bundledStore(store, commit);
    await runAtATime(bundled, UPLOADS_AT_A_TIME, async (key) => {
      const bytes = (await source.get(key, { signal })) ?? throwMissing(store, key);
      if (sha256Hex(bytes) !== files.get(key)!.sha256)
        throw damagedObject(store.address, key, 'its SHA-256 differs from the recorded one');
      await store.put(key, { bytes }, signal);
      stored.add(key);
    });
    return bundled.length;
  }

  async function noteHibernation(idle: IdleNote, signal?: AbortSignal): Promise<void> {
    await chain.settle(signal);
    await chain.add({ ...chain.head(), ...chain.next(), idle, collectedAtMs }, signal);
  }

  return {
    epoch,
    head: chain.head,
    noteHibernation: (idle, signal) => chain.inTurn(() => noteHibernation(idle, signal)),
    mirror: (generation, signal) => chain.inTurn(() => mirror(generation, signal)),
    unbundle,
    look: (signal) => chain.inTurn(() => chain.look(signal)),
    isCollectionDue() {
      const ageMs = clock.now() - collectedAtMs;
      return ageMs < 0 || ageMs >= HOUR_MS;
    },
    collect: (collectOptions = {}) =>
      chain.inTurn(async () => {
        const before = collectedAtMs;
        collectedAtMs = clock.now();
        try {
          await chain.settle(collectOptions.signal);
          return await collector.collect(chain.head(), {
            ...collectOptions,
            onLater: chain.loseTo,
            onDeleted(key) {
              stored.delete(key);
              bundles = bundles.filter((bundle) => bundle.key !== key);
            },
          });
        } finally {
          if (collectOptions.signal?.aborted) collectedAtMs = before;
        }
      }),
  };
}
