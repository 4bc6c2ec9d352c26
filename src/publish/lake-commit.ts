import { link, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { cannotLink, syncPath, writeSharedFile } from '../lib/durable-files.ts';
import { errorCode, ifMissing, TerminalError, TransientError } from '../lib/errors.ts';
import {
  type Commit,
  commitSchema,
  formatOneSchema,
  type LakeFile,
  lakeFileSchema,
  type StoredCommit,
} from './commit-schema.ts';
import {
  commitPath,
  type FilePlace,
  filePath,
  type LakePaths,
  parseSequence,
  uniqueName,
} from './lake-layout.ts';

/** The sequences of all commits, ascending. */
export async function listSequences(paths: Pick<LakePaths, 'commits'>): Promise<number[]> {
  const names = await readdir(paths.commits).catch(ifMissing([]));
  return names
    .flatMap((name) => (name.endsWith('.json') ? (parseSequence(name.slice(0, -5)) ?? []) : []))
    .sort((a, b) => a - b);
}

/**
 * @param known an earlier commit. Its files are not checked again, because files never change. This makes a
 *   commit with many files cheap to read.
 * @returns undefined if the commit does not exist (any more)
 * @throws TerminalError `CommitUnreadable`
 */
export async function readCommit(
  paths: LakePaths,
  sequence: number,
  known?: StoredCommit,
): Promise<StoredCommit | undefined> {
  const text = await readFile(commitPath(paths, sequence), 'utf8').catch(ifMissing(undefined));
  if (text === undefined) return undefined;
  try {
    return parseCommit(text, known);
  } catch (cause) {
    throw new TerminalError('CommitUnreadable', `the commit ${commitPath(paths, sequence)} cannot be read`, {
      cause,
      details: { workgroup: basename(paths.root), sequence },
    });
  }
}

const anyCommit = z.discriminatedUnion('format', [commitSchema, formatOneSchema]);
const namedFile = z.looseObject({ name: z.string() });
const looseCommit = z.looseObject({ files: z.array(z.unknown()) });

/** Parses the text of a commit. @throws ZodError, SyntaxError */
export function parseCommit(text: string, known?: StoredCommit): StoredCommit {
  const document: unknown = JSON.parse(text);
  if (!known) return anyCommit.parse(document);
  const { files, ...rest } = looseCommit.parse(document);
  const checked = new Map(known.files.map((file) => [file.name, file]));
  return {
    ...anyCommit.parse({ ...rest, files: [] }),
    files: files.map((file) => checked.get(namedFile.parse(file).name) ?? lakeFileSchema.parse(file)),
  };
}

/** The newest generation. Undefined if nothing was published. */
export async function readHead(paths: LakePaths): Promise<StoredCommit | undefined> {
  const newest = (await listSequences(paths)).at(-1);
  return newest === undefined ? undefined : readCommit(paths, newest);
}

/** The path of a file of a commit of any format. */
export function storedFilePath(paths: LakePaths, { format }: StoredCommit, file: FilePlace): string {
  return filePath(paths, format === 1 ? flatPlace(file) : file);
}

/** The place of a file of a commit of format 1. */
export function flatPlace({ dataset, name }: FilePlace): FilePlace {
  return { dataset, folder: '', name };
}

/** The sequence that `current` points at. Undefined if nothing was published. */
export async function readCurrent(paths: Pick<LakePaths, 'current'>): Promise<number | undefined> {
  const target = await readlink(paths.current).catch(ifMissing(undefined));
  return target === undefined ? undefined : parseSequence(basename(target));
}

/**
 * Creates the commit atomically and durably. This creates the generation, and decides between publishers: if
 * two write the same sequence, one fails.
 * @throws TransientError `PublishConflict` if the sequence is taken; nothing is visible then
 */
export async function createCommit(paths: LakePaths, commit: Commit): Promise<void> {
  const target = commitPath(paths, commit.sequence);
  const staged = join(paths.staging, `${uniqueName(commit.sequence)}.json`);
  const text = commitText(commit);
  try {
    await writeSharedFile(staged, text);
    await link(staged, target).catch((error: unknown) => {
      if (!cannotLink(error)) throw error;
      return writeSharedFile(target, text);
    });
    await syncPath(paths.commits);
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST') throw cause;
    throw new TransientError(
      'PublishConflict',
      `another publisher has committed generation ${commit.sequence} of workgroup ${commit.workgroupId}; nothing of this one was published`,
      { cause, details: { workgroupId: commit.workgroupId, sequence: commit.sequence } },
    );
  } finally {
    await rm(staged, { force: true });
  }
}

/**
 * The text of each file's entry. Commits share most of their files, and a commit of 2,400 files has 600 kB.
 */
const entries = new WeakMap<LakeFile, string>();

/** The document of a commit. It has one line, which ends with a line feed. */
export function commitText({ files, ...rest }: Commit): string {
  const texts = files.map((file) => {
    const entry = entries.get(file) ?? JSON.stringify(file);
    entries.set(file, entry);
    return entry;
  });
  return `${JSON.stringify(rest).slice(0, -1)},"files":[${texts.join(',')}]}\n`;
}

/** True if another publisher was first. */
export function isPublishConflict(error: unknown): boolean {
  return error instanceof TransientError && error.code === 'PublishConflict';
}
