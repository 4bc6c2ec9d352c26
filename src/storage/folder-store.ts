import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { diskFullError } from '../lib/disk-full.ts';
import { cannotLink, hashFile, sha256Hex, syncPath } from '../lib/durable-files.ts';
import { errorCode, isMissing, TerminalError } from '../lib/errors.ts';
import { MEBIBYTE } from '../lib/units.ts';
import {
  checkKey,
  checkPrefix,
  damagedObject,
  GET_BYTES_MAX,
  type ListedObject,
  type ListOptions,
  type ObjectContent,
  type ObjectStore,
  objectTooLarge,
} from './object-store.ts';
import { receiveFile } from './receive-file.ts';

/** Objects that are not complete yet. They are not objects, so no list contains them. */
const STAGING = 'staging';

/** Objects as files below a folder. The folder is created with the first object. */
export function createFolderStore(folder: string): ObjectStore {
  const root = resolve(folder);
  const pathOf = (key: string) => join(root, ...checkKey(key).split('/'));

  /**
   * Writes a file next to the objects, and gives it its name if the name is free.
   * @returns false if it is not
   */
  async function place(key: string, write: (path: string) => Promise<void>): Promise<boolean> {
    const target = pathOf(key);
    const staged = join(root, STAGING, `${randomUUID()}.part`);
    await makeFolder(dirname(staged));
    try {
      await write(staged);
      await makeFolder(dirname(target));
      await linkOrWrite(staged, target, write);
      await syncPath(dirname(target));
      return true;
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return false;
      throw failure(error, target);
    } finally {
      await rm(staged, { force: true });
    }
  }

  async function* list(
    prefix: string,
    { startAfter = '', keysMax = Number.POSITIVE_INFINITY, signal }: ListOptions = {},
  ): AsyncGenerator<ListedObject> {
    checkPrefix(prefix);
    let left = keysMax;
    yield* walk(prefix.slice(0, prefix.lastIndexOf('/') + 1));

    async function* walk(below: string): AsyncGenerator<ListedObject> {
      signal?.throwIfAborted();
      const entries = await readdir(join(root, below), { withFileTypes: true }).catch((error: unknown) => {
        if (isMissing(error)) return [];
        throw failure(error, join(root, below));
      });
      // A folder is sorted by its name with a slash, as its keys are sorted in a bucket.
      const names = entries
        .filter((entry) => entry.isFile() || entry.isDirectory())
        .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
        .filter((name) => below !== '' || name !== `${STAGING}/`)
        .sort(byBytes);
      for (const name of names) {
        if (left <= 0) return;
        const key = below + name;
        if (!key.startsWith(prefix) && !prefix.startsWith(key)) continue;
        if (name.endsWith('/')) {
          if (startAfter < key || startAfter.startsWith(key)) yield* walk(key);
        } else if (key > startAfter && key.startsWith(prefix)) {
          const found = await stat(join(root, key)).catch(() => undefined);
          if (!found) continue;
          left -= 1;
          yield { key, bytes: found.size, modifiedAtMs: found.mtimeMs };
        }
      }
    }
  }

  return {
    address: root,
    async createKey(key, bytes) {
      const isNew = await place(key, (path) => writeSynced(path, bytes));
      return isNew ? 'created' : 'exists';
    },
    async put(key, content, signal) {
      const isNew = await place(key, (path) => writeContent(path, content, signal));
      if (isNew) return;
      const stored = await hashFile(pathOf(key));
      if (stored !== sha256Of(content))
        throw damagedObject(root, key, 'another object has this name already; delete it if nothing uses it');
    },
    async get(key, { bytesMax = GET_BYTES_MAX } = {}) {
      return withFile(pathOf(key), async (file) => {
        const { size } = await file.stat();
        if (size > bytesMax) throw objectTooLarge(root, key, bytesMax);
        return file.readFile();
      });
    },
    async getRange(key, start, length) {
      return withFile(pathOf(key), async (file) => {
        // A damaged commit can name any length, so the size of the file bounds it.
        const { size } = await file.stat();
        const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - start)));
        let filled = 0;
        while (filled < bytes.length) {
          const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, start + filled);
          if (bytesRead === 0) break;
          filled += bytesRead;
        }
        return bytes.subarray(0, filled);
      });
    },
    async download(key, path, expected, signal) {
      const source = pathOf(key);
      const found = await stat(source).catch((error: unknown) => {
        if (isMissing(error)) return undefined;
        throw failure(error, source);
      });
      if (!found) return false;
      await receiveFile(createReadStream(source, { highWaterMark: MEBIBYTE }), path, expected, {
        damagedError: (what) => damagedObject(root, key, what),
        signal,
      });
      return true;
    },
    list,
    async remove(key) {
      await rm(pathOf(key), { force: true }).catch((error: unknown) => {
        throw failure(error, pathOf(key));
      });
    },
  };

  /** Creates a folder, and makes its name and the names of new folders above it durable. */
  async function makeFolder(path: string): Promise<void> {
    const first = await mkdir(path, { recursive: true }).catch((error: unknown) => {
      throw failure(error, path);
    });
    if (first === undefined) return;
    for (let at = path; at.length >= first.length; at = dirname(at)) await syncPath(dirname(at));
  }
}

async function linkOrWrite(
  staged: string,
  target: string,
  write: (path: string) => Promise<void>,
): Promise<void> {
  try {
    await link(staged, target);
  } catch (error) {
    if (!cannotLink(error)) throw error;
    // Without hard links a crash can leave a part of the object under its name. Its SHA-256 shows that.
    await write(target);
  }
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  await using file = await open(path, 'wx');
  await file.writeFile(bytes);
  await file.sync();
}

async function writeContent(path: string, content: ObjectContent, signal?: AbortSignal): Promise<void> {
  if ('path' in content) {
    await using file = await open(path, 'wx');
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(content.path, { highWaterMark: MEBIBYTE, signal })) {
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    if (hash.digest('hex') !== content.sha256) throw changedFile(content.path);
    await file.sync();
  } else await writeSynced(path, content.bytes);
}

/** The error of a local file that does not have the SHA-256 which its owner has noted. */
export function changedFile(path: string): TerminalError {
  return new TerminalError(
    'FileDamaged',
    `${path} is damaged or has changed: its SHA-256 differs from the recorded one`,
    {
      details: { path },
    },
  );
}

function sha256Of(content: ObjectContent): string {
  return 'path' in content ? content.sha256 : sha256Hex(content.bytes);
}

async function withFile<Result>(
  path: string,
  work: (file: Awaited<ReturnType<typeof open>>) => Promise<Result>,
): Promise<Result | undefined> {
  try {
    await using file = await open(path, 'r');
    return await work(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw failure(error, path);
  }
}

/** S3 sorts keys by their bytes. Keys are ASCII. */
function byBytes(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function failure(error: unknown, path: string): unknown {
  const code = errorCode(error);
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFullError(path, error);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new TerminalError(
        'FolderForbidden',
        `${path}: no permission (${code}); check the owner and the mode of the folder`,
        {
          cause: error,
        },
      );
    case 'ENOTDIR':
    case 'EISDIR':
      return new TerminalError(
        'FolderWrong',
        `${path}: a file is in the place of a folder, or a folder in the place of a file; move it away`,
        {
          cause: error,
        },
      );
    default:
      return error;
  }
}
