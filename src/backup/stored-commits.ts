import { z } from 'zod';
import { errorMessage, InputError, TerminalError } from '../lib/errors.ts';
import { parseInstant } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { type Commit, isFormatOne, type StoredCommit } from '../publish/commit-schema.ts';
import { parseCommit } from '../publish/lake-commit.ts';
import { commitKey, parseCommitKey } from '../publish/lake-layout.ts';
import { damagedObject, type ObjectStore } from '../storage/object-store.ts';

/** The sequences of the commits of a store, ascending. */
export async function storedSequences(store: ObjectStore, signal?: AbortSignal): Promise<number[]> {
  const sequences: number[] = [];
  for await (const { key } of store.list('commits/', { signal })) {
    const sequence = parseCommitKey(key);
    if (sequence !== undefined) sequences.push(sequence);
  }
  return sequences;
}

/**
 * Reads a commit of a lake, of a backup or of a replica. A commit of a replica is returned with the nonce of
 * its generation, which its snapshot has.
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
  const parse = (text: string): StoredCommit => {
    const commit = parseCommit(text, known);
    const nonce = generationNonce(text);
    return nonce === undefined || isFormatOne(commit) ? commit : { ...commit, nonce };
  };
  return readCommitObject(store, sequence, parse, signal);
}

/**
 * Reads a commit of any schema.
 * @returns undefined if it does not exist
 * @throws TerminalError as `parseCommitObject` does
 */
export async function readCommitObject<Any extends { sequence: number }>(
  store: ObjectStore,
  sequence: number,
  parse: (text: string) => Any,
  signal?: AbortSignal,
): Promise<Any | undefined> {
  const options = { bytesMax: COMMIT_BYTES_MAX, signal };
  const bytes = await store.get(commitKey(sequence), options);
  return bytes && parseCommitObject(store, sequence, parse, bytes);
}

/** @throws TerminalError `ObjectDamaged` if the bytes are not the commit of this sequence */
export function parseCommitObject<Any extends { sequence: number }>(
  { address }: Pick<ObjectStore, 'address'>,
  sequence: number,
  parse: (text: string) => Any,
  bytes: Buffer,
): Any {
  try {
    const commit = parse(bytes.toString('utf8'));
    if (commit.sequence !== sequence) throw new Error(`it is commit ${commit.sequence}`);
    return commit;
  } catch (error) {
    const [issue] = error instanceof z.ZodError ? error.issues : [];
    const what = issue ? `${issue.path.join('.')}: ${issue.message}` : errorMessage(error).split('\n', 1)[0]!;
    throw damagedObject(address, commitKey(sequence), what);
  }
}

const mirrored = z.object({ generation: z.object({ nonce: z.string() }).nullish() });

/**
 * The nonce of the generation that a commit of a replica is a copy of. The list of files is not parsed again,
 * because it can be long.
 */
function generationNonce(text: string): string | undefined {
  const head = text.indexOf(',"files":[');
  return mirrored.parse(JSON.parse(head === -1 ? text : `${text.slice(0, head)}}`)).generation?.nonce;
}

const COMMIT_BYTES_MAX = 512 * MEBIBYTE;

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
      : `its commits are ${first} to ${sequences.at(-1)}, and none of them up to the one that you asked for has a snapshot`;
  throw new TerminalError('NothingToRestore', `${store.address} has nothing to restore: ${why}`);
}

/** Parses `--at`: a sequence, or a time with a zone. @throws InputError */
export function parseAt(text: string | undefined): RestorePoint {
  if (text === undefined) return { kind: 'newest' };
  if (/^\d{1,12}$/.test(text)) return { kind: 'sequence', sequence: Number(text) };
  const ms = /^\d+$/.test(text) ? undefined : parseInstant(text);
  if (ms !== undefined) return { kind: 'time', ms };
  throw new InputError('--at', [
    { path: '', message: `"${text}" must be the number of a commit, or a time such as 2026-11-22T18:00:00Z` },
  ]);
}
