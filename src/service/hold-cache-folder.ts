import { existsSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing, TransientError } from '../lib/errors.ts';
import { type Clock, DAY_MS, type UtcMs } from '../lib/time.ts';
import { holdCache } from './hold-roles.ts';

/** The folder of a cache that no other process uses. */
interface CacheFolder {
  folder: string;
  /** Releases the folder. The cache of a command is deleted. */
  release(): Promise<void>;
}

/** The processes of a data folder have a cache each. */
const CACHES_MAX = 64;
/** A service that starts again within this time finds its cache. */
const UNUSED_MS_MAX = DAY_MS;
const COMMAND = 'command-';

/**
 * Takes a free cache folder, and deletes the caches that dead processes have left: of a command at once, of a
 * service after a day.
 * @param isCommand true for a process that ends soon. A command has another kind of folder than a service,
 * because it deletes the folder at its end
 * @throws TransientError TooManyCaches
 */
export async function holdCacheFolder(
  dataDir: string,
  isCommand: boolean,
  clock: Clock,
): Promise<CacheFolder> {
  const held = await takeFirst(dataDir, isCommand ? COMMAND : '', clock);
  await removeUnused(dataDir, held.name, clock);
  const folder = join(dataDir, 'cache', held.name);
  return {
    folder,
    async release() {
      if (isCommand) await rm(folder, { recursive: true, force: true });
      await held.release();
    },
  };
}

async function takeFirst(dataDir: string, prefix: string, clock: Clock) {
  for (let number = 1; number <= CACHES_MAX; number++) {
    const name = `${prefix}${number}`;
    const release = await holdCache(dataDir, name, clock);
    if (release) return { name, release };
  }
  throw new TransientError(
    'TooManyCaches',
    `${CACHES_MAX} processes already read with the data folder ${dataDir}; stop some of them`,
  );
}

async function removeUnused(dataDir: string, ownName: string, clock: Clock): Promise<void> {
  const parent = join(dataDir, 'cache');
  if (!existsSync(parent)) return;
  for (const name of await readdir(parent)) {
    if (name === ownName || !/^(command-)?\d{1,2}$/.test(name)) continue;
    const folder = join(parent, name);
    if (!name.startsWith(COMMAND) && clock.now() - (await lastUseMs(folder)) < UNUSED_MS_MAX) continue;
    const release = await holdCache(dataDir, name, clock);
    if (!release) continue;
    try {
      await rm(folder, { recursive: true, force: true });
    } finally {
      await release();
    }
  }
}

/** When a file of the cache was last used, or the folder last changed. */
async function lastUseMs(folder: string): Promise<UtcMs> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const times = await Promise.all(
    // Its process can delete a file meanwhile.
    [folder, ...files].map((path) =>
      stat(path).then(({ mtimeMs }) => mtimeMs, ifMissing(Number.NEGATIVE_INFINITY)),
    ),
  );
  return times.reduce((newest, one) => Math.max(newest, one));
}
