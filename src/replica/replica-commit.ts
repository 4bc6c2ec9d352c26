import { z } from 'zod';
import { bundledFiles } from '../backup/bundled-store.ts';
import { newestSequence } from '../backup/newest-sequence.ts';
import { parseCommitObject, type RestorableCommit, readCommitObject } from '../backup/stored-commits.ts';
import { TransientError } from '../lib/errors.ts';
import { commitSchema } from '../publish/commit-schema.ts';
import { commitKey, fileKey, parseCommitKey } from '../publish/lake-layout.ts';
import type { PackObject } from '../snapshot/pack-format.ts';
import type { ListedObject, ListOptions, ObjectStore } from '../storage/object-store.ts';
import { idleNoteSchema } from './idle-note.ts';

/**
 * A commit of a replica. The numbers of its commits have no gaps. A claim has the content of the commit
 * before, and the next epoch. A mirrored generation has the epoch of the commit before.
 */
const replicaCommitSchema = commitSchema.extend({
  /** The nonce of the commit before. Null in the first commit. */
  previousNonce: commitSchema.shape.nonce.nullable(),
  /** The local generation that this commit is a copy of. Null until a generation was mirrored. */
  generation: z
    .object({
      sequence: z.number().int().min(1),
      nonce: commitSchema.shape.nonce,
      /** All packs that a restore of its snapshot reads. */
      packs: z.array(
        z.object({
          key: z.string().regex(/^snapshots\/[0-9a-z-]+\.pack$/),
          bytes: z.number().int().min(1),
          sha256: z.string().regex(/^[0-9a-f]{64}$/),
        }),
      ),
    })
    .nullable(),
  /**
   * When an owner last began to delete objects that are not needed. Undefined before the first generation.
   */
  collectedAtMs: z.number().optional(),
  /** Set if the owner closed the warehouse with nothing to do. No later commit repeats it. */
  idle: idleNoteSchema.optional(),
});

export type ReplicaCommit = z.output<typeof replicaCommitSchema>;

const parse = (text: string): ReplicaCommit => replicaCommitSchema.parse(JSON.parse(text));

/** @throws TerminalError `ObjectDamaged` if it is not the commit of this sequence */
export function parseReplicaCommit(store: ObjectStore, sequence: number, bytes: Buffer): ReplicaCommit {
  return parseCommitObject(store, sequence, parse, bytes);
}

/** @returns undefined if the commit does not exist. @throws TerminalError `ObjectDamaged` */
export function readReplicaCommit(
  store: ObjectStore,
  sequence: number,
  signal?: AbortSignal,
): Promise<ReplicaCommit | undefined> {
  return readCommitObject(store, sequence, parse, signal);
}

/** The stored commits after a sequence, ascending. */
export async function* listReplicaCommits(
  store: ObjectStore,
  after: number,
  options: Pick<ListOptions, 'keysMax' | 'signal'> = {},
): AsyncGenerator<ListedObject & { sequence: number }> {
  const startAfter = after > 0 ? { startAfter: commitKey(after) } : {};
  for await (const object of store.list('commits/', { ...options, ...startAfter })) {
    const sequence = parseCommitKey(object.key);
    if (sequence !== undefined) yield { ...object, sequence };
  }
}

/**
 * Reads the newest commit of a replica.
 * @param known a sequence that existed. Only later commits are listed.
 * @returns undefined if the replica has no commit
 */
export async function readReplicaHead(
  store: ObjectStore,
  { known = 0, signal }: { known?: number; signal?: AbortSignal } = {},
): Promise<ReplicaCommit | undefined> {
  const newest = (await newestSequence(store, { from: known + 1, signal })) ?? known;
  if (newest === 0) return undefined;
  const head = await readReplicaCommit(store, newest, signal);
  if (head) return head;
  if (known > 0) return readReplicaHead(store, { signal });
  throw new TransientError(
    'ReplicaChanged',
    `${store.address}/${commitKey(newest)} was deleted while it was read; try again`,
  );
}

/**
 * All objects that a commit needs: its files, the bundles with files that are not separate objects, and its
 * packs.
 */
export function objectsNeeded(commit: ReplicaCommit): PackObject[] {
  const { files, bundles = [], generation } = commit;
  const bundled = bundledFiles(commit);
  return [
    ...files
      .map((file) => ({ key: fileKey(file), bytes: file.bytes, sha256: file.sha256 }))
      .filter(({ key }) => !bundled.has(key)),
    ...bundles.map(({ key, bytes, sha256 }) => ({ key, bytes, sha256 })),
    ...(generation?.packs ?? []),
  ];
}

/** The keys of `objectsNeeded`. */
export function objectKeys(commit: ReplicaCommit): string[] {
  return objectsNeeded(commit).map(({ key }) => key);
}

/**
 * The local generation that a commit is a copy of, to restore it. Undefined if the replica has no generation
 * yet.
 */
export function generationOf({
  previousNonce: _,
  collectedAtMs: _collectedAtMs,
  idle: __,
  generation,
  snapshot,
  ...commit
}: ReplicaCommit): RestorableCommit | undefined {
  if (!generation || !snapshot) return undefined;
  return { ...commit, snapshot, sequence: generation.sequence, nonce: generation.nonce };
}
