import { rmSync } from 'node:fs';
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import PQueue from 'p-queue';
import { diskFullError, isDiskFull } from '../lib/disk-full.ts';
import { hashFile } from '../lib/durable-files.ts';
import { ifMissing, isRetryable, TerminalError, TransientError } from '../lib/errors.ts';
import { formatCount } from '../lib/format-count.ts';
import { growingWaitMs } from '../lib/growing-wait.ts';
import { createSharing } from '../lib/sharing.ts';
import { MINUTE_MS } from '../lib/time.ts';
import { checkKey, type ExpectedObject, type ObjectStore } from './object-store.ts';

/** An immutable object of a store, and its name in the cache. */
export interface CachedObject extends ExpectedObject {
  store: ObjectStore;
  key: string;
  /** Its path below the folder of the cache. */
  name: string;
}

/** Copies of immutable objects on this disk. */
export interface FileCache {
  readonly folder: string;
  /**
   * Fetches the objects that are not here, and keeps all of them until the result is disposed.
   * @throws TerminalError `CacheTooSmall` if they are larger than the cache, `ObjectDamaged`
   * @throws TransientError `CacheBusy` if files of other callers fill the cache, `DiskFull`, `ObjectMissing`,
   *   errors of the store
   */
  pin(objects: readonly CachedObject[], signal?: AbortSignal): Promise<Disposable>;
  /** The files that the cache has or is fetching, and the files that callers hold. */
  usage(): { files: number; bytes: number; heldBytes: number };
  /** Stops fetches and waits for them. The files stay for the next process. */
  close(): Promise<void>;
}

interface FileCacheOptions {
  /** Only one process uses it at a time. It can be deleted while no process uses it. */
  folder: string;
  /** The maximum number of bytes of all files together. */
  bytesMax: number;
  /** The maximum number of concurrent fetches. Default: 8. */
  fetchesMax?: number;
  /** The pause after the first failed fetch. It doubles with each failure. Default: 200. */
  pauseMs?: number;
}

interface Entry {
  path: string;
  bytes: number;
  /** The number of callers and fetches that need it. Without any it can be deleted. */
  pins: number;
  /**
   * `none`: it is not on the disk yet. `found`: an earlier process has fetched it. `checked`: its SHA-256 was
   * checked by this process.
   */
  state: 'none' | 'found' | 'checked';
  /** The modification time of the checked file. With another one its SHA-256 is checked again. */
  checkedMtimeMs: number;
  touchedAtMs: number;
}

const ATTEMPTS_MAX = 3;
/** The modification time of a file is its last use. It is exact to a minute. */
const TOUCH_MS = MINUTE_MS;
/** The ending of files that `ObjectStore.download` has not completed. */
const DRAFT = '.part';

/** Opens the cache with the files that an earlier process has fetched. Deletes incomplete files. */
export async function openFileCache(options: FileCacheOptions): Promise<FileCache> {
  const { bytesMax, fetchesMax = 8, pauseMs = 200 } = options;
  const folder = resolve(options.folder);
  /** By name, the least recently used one first. */
  const entries = await findEntries(folder);
  let bytes = [...entries.values()].reduce((sum, entry) => sum + entry.bytes, 0);
  const fetches = new PQueue({ concurrency: fetchesMax });
  const sharing = createSharing();
  const closing = new AbortController();
  free(bytesMax);

  /** Deletes files that nobody holds until at most `most` bytes are left. @returns false if more are held */
  function free(most: number): boolean {
    for (const [name, entry] of entries) {
      if (bytes <= most) break;
      if (entry.pins === 0) forget(name, entry);
    }
    return bytes <= most;
  }

  function forget(name: string, entry: Entry): void {
    entries.delete(name);
    bytes -= entry.bytes;
    // Synchronous, so that the same file cannot be fetched again before it is deleted.
    rmSync(entry.path, { force: true });
  }

  function pin({ name, bytes: expected }: CachedObject): Entry {
    const path = join(folder, ...name.split('/'));
    const entry = entries.get(name) ?? {
      path,
      bytes: 0,
      pins: 0,
      state: 'none',
      checkedMtimeMs: 0,
      touchedAtMs: 0,
    };
    entry.pins += 1;
    bytes += expected - entry.bytes;
    entry.bytes = expected;
    // The last entry is the most recently used one.
    entries.delete(name);
    entries.set(name, entry);
    return entry;
  }

  function unpin(name: string, entry: Entry): void {
    entry.pins -= 1;
    if (entry.pins > 0 || entry.state !== 'none') return;
    entries.delete(name);
    bytes -= entry.bytes;
  }

  /** Makes sure that a held file is on the disk. Concurrent callers share one fetch. */
  async function provide(object: CachedObject, entry: Entry, signal: AbortSignal): Promise<void> {
    if (await isUnchanged(entry, object.bytes)) return touch(entry);
    await sharing.take(
      object.name,
      (stop) => {
        // The fetch has its own pin, because all callers can leave before it has ended.
        entry.pins += 1;
        return fetches
          .add(() => check(object, entry, AbortSignal.any([stop, closing.signal])))
          .finally(() => unpin(object.name, entry));
      },
      signal,
    );
  }

  async function check(object: CachedObject, entry: Entry, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const isSound = async () =>
      (await mtimeOf(entry.path, object.bytes)) !== undefined &&
      (await hashFile(entry.path)) === object.sha256;
    if (!(await isUnchanged(entry, object.bytes)) && (entry.state === 'none' || !(await isSound()))) {
      signal.throwIfAborted();
      entry.state = 'none';
      await rm(entry.path, { force: true });
      await fetchObject(object, entry, signal);
    }
    entry.checkedMtimeMs = (await mtimeOf(entry.path, object.bytes)) ?? 0;
    entry.state = 'checked';
    await touch(entry);
  }

  async function fetchObject(object: CachedObject, { path }: Entry, signal: AbortSignal): Promise<void> {
    const { store, key, sha256, bytes: size } = object;
    for (let attempt = 1; ; attempt++) {
      try {
        await mkdir(dirname(path), { recursive: true });
        if (await store.download(key, path, { bytes: size, sha256 }, signal)) return;
        throw missing(object);
      } catch (error) {
        signal.throwIfAborted();
        if (attempt === ATTEMPTS_MAX || !isWorthwhile(error)) throw diskError(error, folder);
        // Other files can be fetched again later.
        if (isDiskFull(error)) free(Math.max(0, bytes - 2 * size));
        else await sleep(growingWaitMs(attempt, pauseMs), undefined, { signal });
      }
    }
  }

  return {
    folder,
    async pin(objects, signal) {
      closing.signal.throwIfAborted();
      const uniqueObjects = [...new Map(objects.map((object) => [object.name, object])).values()];
      for (const { name } of uniqueObjects) checkKey(name);
      const wantedBytes = uniqueObjects.reduce((sum, object) => sum + object.bytes, 0);
      if (wantedBytes > bytesMax) throw tooSmall(folder, wantedBytes, bytesMax);
      const held = uniqueObjects.map((object) => ({ object, entry: pin(object) }));
      const release = () => {
        for (const { object, entry } of held.splice(0)) unpin(object.name, entry);
      };
      const failing = new AbortController();
      const stop = AbortSignal.any([failing.signal, closing.signal, ...(signal ? [signal] : [])]);
      try {
        if (!free(bytesMax)) throw busyError(folder, bytesMax);
        const provided = held.map(({ object, entry }) => provide(object, entry, stop));
        await Promise.all(provided).catch(async (error: unknown) => {
          // Without this file, the other ones are not needed.
          failing.abort(error);
          await Promise.allSettled(provided);
          throw error;
        });
      } catch (error) {
        release();
        throw error;
      }
      return { [Symbol.dispose]: release };
    },
    usage() {
      const held = [...entries.values()].filter(({ pins }) => pins > 0);
      return { files: entries.size, bytes, heldBytes: held.reduce((sum, entry) => sum + entry.bytes, 0) };
    },
    async close() {
      closing.abort(new TransientError('CacheClosed', `the cache ${folder} was closed`));
      await fetches.onIdle();
    },
  };
}

/** The complete files of a folder by name, the least recently used one first. */
async function findEntries(folder: string): Promise<Map<string, Entry>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const entries: Array<[name: string, entry: Entry]> = [];
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath, file.name);
    if (file.name.endsWith(DRAFT)) await rm(path, { force: true });
    else {
      const { size, mtimeMs } = await stat(path);
      const state = { state: 'found' as const, checkedMtimeMs: 0, touchedAtMs: mtimeMs };
      const entry: Entry = { path, bytes: size, pins: 0, ...state };
      entries.push([relative(folder, path).replaceAll('\\', '/'), entry]);
    }
  }
  return new Map(entries.sort(([, a], [, b]) => a.touchedAtMs - b.touchedAtMs));
}

/** True if the file was checked, and nobody has changed it since. */
async function isUnchanged({ path, state, checkedMtimeMs }: Entry, bytes: number): Promise<boolean> {
  return state === 'checked' && (await mtimeOf(path, bytes)) === checkedMtimeMs;
}

/** The modification time of a file of this size (ms). Undefined if there is none. */
async function mtimeOf(path: string, bytes: number): Promise<number | undefined> {
  return stat(path).then(({ size, mtimeMs }) => (size === bytes ? mtimeMs : undefined), ifMissing(undefined));
}

/** Notes the use of a file for the next process. */
async function touch(entry: Entry): Promise<void> {
  const nowMs = Date.now();
  if (Math.abs(nowMs - entry.touchedAtMs) < TOUCH_MS) return;
  entry.touchedAtMs = nowMs;
  // Every file system stores whole seconds exactly.
  const seconds = Math.floor(nowMs / 1_000);
  try {
    await utimes(entry.path, seconds, seconds);
    entry.checkedMtimeMs = seconds * 1_000;
  } catch {
    // If the use cannot be noted, the file is only deleted earlier.
  }
}

/** True if the same fetch can succeed. Bytes can be damaged on the way. */
function isWorthwhile(error: unknown): boolean {
  if (error instanceof TransientError && error.code === 'ObjectMissing') return false;
  return isRetryable(error) || (error instanceof TerminalError && error.code === 'ObjectDamaged');
}

function diskError(error: unknown, folder: string): unknown {
  return isDiskFull(error) ? diskFullError(`the cache ${folder}`, error) : error;
}

function missing({ store, key }: CachedObject): TransientError {
  return new TransientError(
    'ObjectMissing',
    `${store.address}/${key} does not exist (any more); a newer commit may not need it`,
  );
}

function tooSmall(folder: string, wantedBytes: number, bytesMax: number): TerminalError {
  const [wanted, most] = [wantedBytes, bytesMax].map((bytes) => formatCount(bytes));
  return new TerminalError(
    'CacheTooSmall',
    `one query needs files of ${wanted} bytes, but the cache ${folder} may have ${most}; make it larger`,
  );
}

function busyError(folder: string, bytesMax: number): TransientError {
  return new TransientError(
    'CacheBusy',
    `running queries use all ${formatCount(bytesMax)} bytes of the cache ${folder}; the same may succeed later`,
  );
}
