import { TransientError } from '../lib/errors.ts';
import { DAY_MS } from '../lib/time.ts';
import { commitKey, fileKey, parseAnalyticsKey } from '../publish/lake-layout.ts';
import type { ListedObject, ObjectStore } from '../storage/object-store.ts';
import { listReplicaCommits, objectKeys, type ReplicaCommit, readReplicaCommit } from './replica-commit.ts';

/** Readers can use a commit for this time after the next commit was created. Its files and packs are kept. */
export const CONTENT_MS = DAY_MS;
/** The keys of commits are kept for this time. They refuse commits of earlier owners. */
const KEYS_MS = 7 * DAY_MS;
/** Objects that no commit names are kept for this time. A restore that copies a large backup needs it. */
const UNNAMED_MS = DAY_MS;

/** Other times than the usual ones. */
export interface CollectOptions {
  contentMs?: number;
  keysMs?: number;
  unnamedMs?: number;
  signal?: AbortSignal;
}

export interface Collected {
  commits: number;
  objects: number;
  bytes: number;
}

type StoredKey = ListedObject & { sequence: number };

interface CollectCallbacks {
  /** Called if another worker has claimed the workgroup. Nothing is deleted then. */
  onLater: (commit: ReplicaCommit) => never;
  /** Called before an object is deleted. */
  onDeleted: (key: string) => void;
}

/**
 * Deletes objects that no kept commit names, the views of commits that are not kept, and the keys of old
 * commits.
 *
 * All ages are measured from the owner's newest commit, by the clock of the store. So an owner that was
 * replaced, and does not know it, deletes nothing of the later owner. Everything that the later owner has
 * uploaded is younger than its claim, and the claim is younger than this commit.
 */
export function createCollector(store: ObjectStore) {
  /** The last commit that names an object. Only of commits in `seen`. */
  const lastNamed = new Map<string, number>();
  const seen = new Set<number>();

  function add(commit: ReplicaCommit): void {
    seen.add(commit.sequence);
    // The views of a commit read copies of its bundled files.
    for (const key of [...objectKeys(commit), ...commit.files.map(fileKey)])
      lastNamed.set(key, Math.max(commit.sequence, lastNamed.get(key) ?? 0));
  }

  /** Reads the commits from `first` on that were not read yet, and forgets earlier ones. */
  async function learn(sequences: readonly number[], signal?: AbortSignal): Promise<void> {
    const first = sequences[0]!;
    for (const sequence of sequences) {
      if (seen.has(sequence)) continue;
      const commit = await readReplicaCommit(store, sequence, signal);
      if (commit) add(commit);
    }
    for (const sequence of seen) if (sequence < first) seen.delete(sequence);
    for (const [key, sequence] of lastNamed) if (sequence < first) lastNamed.delete(key);
  }

  /**
   * The views of commits that are not kept: files of these commits can be deleted. The newest views stay,
   * because the owner replaces them soon.
   */
  async function oldViews(kept: ReadonlySet<number>, signal?: AbortSignal): Promise<ListedObject[]> {
    const views: StoredKey[] = [];
    for await (const object of store.list('analytics/', { signal })) {
      const sequence = parseAnalyticsKey(object.key);
      if (sequence !== undefined) views.push({ ...object, sequence });
    }
    return views.slice(0, -1).filter(({ sequence }) => !kept.has(sequence));
  }

  async function collect(
    head: ReplicaCommit,
    options: CollectOptions & CollectCallbacks,
  ): Promise<Collected> {
    const { contentMs = CONTENT_MS, keysMs = KEYS_MS, unnamedMs = UNNAMED_MS, signal } = options;
    const collected = { commits: 0, objects: 0, bytes: 0 };
    const commits: StoredKey[] = [];
    for await (const commit of listReplicaCommits(store, 0, { signal })) commits.push(commit);
    const own = commits.find(({ sequence }) => sequence === head.sequence);
    const newest = commits.at(-1);
    if (newest && newest.sequence > head.sequence) {
      const later = await readReplicaCommit(store, newest.sequence, signal);
      if (later) options.onLater(later);
    }
    if (!own)
      throw new TransientError(
        'ReplicaChanged',
        `${store.address}/${commitKey(head.sequence)}, the newest commit, is missing; nothing was deleted`,
      );
    // While the replica has no generation, every worker can use the objects that it has uploaded before.
    if (!head.generation) return collected;
    const ageOf = ({ modifiedAtMs }: { modifiedAtMs: number }) => own.modifiedAtMs - modifiedAtMs;
    // A commit was the newest one until the next commit was created.
    const keptSequences = commits
      .filter((one, index) => one === own || ageOf(commits[index + 1]!) <= contentMs)
      .map(({ sequence }) => sequence);
    await learn(keptSequences, signal);
    for (const { key, bytes } of await oldViews(new Set(keptSequences), signal)) {
      await store.remove(key, signal);
      collected.objects++;
      collected.bytes += bytes;
    }
    for (const prefix of ['files/', 'bundles/', 'snapshots/'])
      for await (const object of store.list(prefix, { signal })) {
        if (lastNamed.has(object.key) || ageOf(object) <= unnamedMs) continue;
        options.onDeleted(object.key);
        await store.remove(object.key, signal);
        collected.objects++;
        collected.bytes += object.bytes;
      }
    for (const { key } of commits.filter((one) => one !== own && ageOf(one) > keysMs)) {
      await store.remove(key, signal);
      collected.commits++;
    }
    return collected;
  }

  return { add, collect };
}
