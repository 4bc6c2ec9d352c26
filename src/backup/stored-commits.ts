import { errorMessage, InputError, TerminalError } from '../lib/errors.ts';
import { type Commit, isFormatOne, type StoredCommit } from '../publish/commit-schema.ts';
import { parseCommit } from '../publish/lake-commit.ts';
import { commitKey, parseSequence } from '../publish/lake-layout.ts';
import { damagedObject, type ObjectStore } from '../storage/object-store.ts';

/**
 * The sequences of the commits of a store, ascending.
 * @param from only this one and later ones; default: all
 */
export async function storedSequences(store: ObjectStore, signal?: AbortSignal, from = 1): Promise<number[]> {
  const sequences: number[] = [];
  const startAfter = commitKey(from - 1);
  for await (const { key } of store.list('commits/', { startAfter, ...(signal && { signal }) })) {
    const sequence = parseSequence(/^commits\/(\d{12})\.json$/.exec(key)?.[1] ?? '');
    if (sequence !== undefined) sequences.push(sequence);
  }
  return sequences;
}

/**
 * @param known an earlier commit, see `readCommit`
 * @returns undefined if it does not exist
 * @throws TerminalError `ObjectDamaged` if it cannot be read
 */
export async function readStoredCommit(
  store: ObjectStore,
  sequence: number,
  signal?: AbortSignal,
  known?: StoredCommit,
): Promise<StoredCommit | undefined> {
  const bytes = await store.get(commitKey(sequence), {
    bytesMax: COMMIT_BYTES_MAX,
    ...(signal && { signal }),
  });
  if (bytes === undefined) return undefined;
  try {
    const commit = parseCommit(bytes.toString('utf8'), known);
    if (commit.sequence !== sequence) throw new Error(`it is commit ${commit.sequence}`);
    return commit;
  } catch (error) {
    throw damagedObject(store.address, commitKey(sequence), errorMessage(error).split('\n', 1)[0]!);
  }
}

const COMMIT_BYTES_MAX = 512 * 1024 * 1024;

/** A commit with a snapshot, which can be restored. */
export type RestorableCommit = Commit & Required<Pick<Commit, 'snapshot'>>;

export function isRestorable(commit: StoredCommit | undefined): commit is RestorableCommit {
  return commit !== undefined && !isFormatOne(commit) && commit.snapshot !== undefined;
}

/** The commit that is asked for: the newest one, the one of a sequence, or the newest one of a time. */
export type RestorePoint =
  | { kind: 'newest' }
  | { kind: 'sequence'; sequence: number }
  | { kind: 'time'; ms: number };

/**
 * Finds the commit to restore: the newest one with a snapshot that is not after the asked one.
 * @returns the commit; `asked` is the sequence that was asked for, if that commit has no snapshot
 * @throws TerminalError `NothingToRestore` if the store has none
 */
export async function findRestorable(
  store: ObjectStore,
  at: RestorePoint,
  signal?: AbortSignal,
): Promise<{ commit: RestorableCommit; asked: number | undefined }> {
  const sequences = await storedSequences(store, signal);
  let asked: number | undefined;
  for (const sequence of sequences.toReversed()) {
    if (at.kind === 'sequence' && sequence > at.sequence) continue;
    const commit = await readStoredCommit(store, sequence, signal);
    if (!commit || (at.kind === 'time' && commit.createdAtMs > at.ms)) continue;
    if (isRestorable(commit)) return { commit, asked: asked === sequence ? undefined : asked };
    asked ??= sequence;
  }
  const first = sequences[0];
  const why =
    first === undefined
      ? 'it has no commits; check the place and the workgroup'
      : `its commits are ${first} to ${sequences.at(-1)}, and none of them up to the asked one has a snapshot`;
  throw new TerminalError('NothingToRestore', `${store.address} has nothing to restore: ${why}`);
}

/** Parses `--at`: a sequence, or a time with a zone. @throws InputError */
export function parseAt(text: string | undefined): RestorePoint {
  if (text === undefined) return { kind: 'newest' };
  if (/^\d{1,12}$/.test(text)) return { kind: 'sequence', sequence: Number(text) };
  const ms = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (!Number.isNaN(ms)) return { kind: 'time', ms };
  throw new InputError('--at', [
    { path: '', message: `"${text}" must be the number of a commit, or a time such as 2026-11-22T18:00:00Z` },
  ]);
}
