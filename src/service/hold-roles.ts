import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { type Problem, TerminalError, TransientError } from '../lib/errors.ts';
import { keepFilesPrivate, type Readers, tooOpenMode } from '../lib/private-files.ts';
import type { Clock } from '../lib/time.ts';
import { openDatabase } from '../warehouse/database.ts';
import { requireDataDir } from './require-data-dir.ts';

/** The roles of a process: serve the stream, compute energy, serve reports. */
export type Role = 'stream' | 'worker' | 'report';

/** A lock needs little memory. */
const MEMORY_MEGABYTES = 16;

/**
 * Locks a data folder, because only one process may work on it: a second one would take over the log of the
 * stream and could not open a warehouse. The lock is DuckDB's lock on an empty file. The system releases it
 * when the process ends. Reports need no lock, because they only read. A log in memory needs none, because it
 * belongs to one process. Workers with Redis need none, because they share the workgroups.
 * @returns the unlock
 * @throws TransientError if another process has the lock, InputError if the folder cannot be written
 */
export async function holdRoles(
  { dataDir, dataReaders, stream, queue }: Pick<Config, 'dataDir' | 'dataReaders' | 'stream' | 'queue'>,
  roles: readonly Role[],
  clock: Clock,
): Promise<() => Promise<void>> {
  keepFilesPrivate(dataReaders);
  requireDataDir(dataDir, dataReaders);
  const alone: Readonly<Record<Role, boolean>> = {
    stream: stream.log === 'lmdb',
    worker: queue.backend === 'pglite',
    report: false,
  };
  const held: Array<() => Promise<void>> = [];
  const release = async () => {
    for (const close of held.splice(0)) await close();
  };
  try {
    for (const role of roles.filter((one) => alone[one])) held.push(await hold(dataDir, role, clock));
  } catch (error) {
    await release();
    throw error;
  }
  return release;
}

/**
 * Locks the background tasks of a data folder, because only one process may run them.
 * @returns the unlock; undefined if another process has the lock
 */
export function holdUpkeep(dataDir: string, clock: Clock): Promise<(() => Promise<void>) | undefined> {
  return holdIfFree(dataDir, 'upkeep', clock);
}

/** Like `holdUpkeep`, for one export. */
export function holdExport(
  dataDir: string,
  exportId: string,
  clock: Clock,
): Promise<(() => Promise<void>) | undefined> {
  return holdIfFree(dataDir, `export-${exportId}`, clock);
}

/** Like `holdUpkeep`, for one cache of files of the bucket. */
export function holdCache(
  dataDir: string,
  name: string,
  clock: Clock,
): Promise<(() => Promise<void>) | undefined> {
  return holdIfFree(dataDir, `cache-${name}`, clock);
}

async function holdIfFree(
  dataDir: string,
  what: HeldPart,
  clock: Clock,
): Promise<(() => Promise<void>) | undefined> {
  try {
    return await hold(dataDir, what, clock);
  } catch (error) {
    if (error instanceof TransientError && error.code === 'AlreadyRuns') return undefined;
    throw error;
  }
}

/** The locks of a data folder. */
type HeldPart = Role | 'upkeep' | `export-${string}` | `cache-${string}`;

async function hold(dataDir: string, role: HeldPart, clock: Clock): Promise<() => Promise<void>> {
  const path = join(dataDir, 'lock', `${role}.duckdb`);
  const open = () => openDatabase({ path, memoryMegabytes: MEMORY_MEGABYTES, threads: 1, clock });
  try {
    const { close } = await open().catch((error: unknown) => {
      if (!(error instanceof TerminalError && error.code === 'NotAWarehouse')) throw error;
      // An earlier start left the file incomplete on a full disk. The system's lock comes first, so no other
      // process uses the file.
      rmSync(path);
      return open();
    });
    return close;
  } catch (error) {
    if (!(error instanceof TransientError && error.code === 'WarehouseLocked')) throw error;
    const { holderPid } = error.details;
    throw new TransientError(
      'AlreadyRuns',
      `the ${role} already runs on ${dataDir}, in ${holderPid ? `process ${holderPid}` : 'another process'}; stop that process, or choose another dataDir`,
      { cause: error, details: { dataDir, holderPid } },
    );
  }
}

/**
 * The warning about an existing data folder with more permissions than needed. Undefined if there is no
 * problem.
 */
export function readersWarning({
  dataDir,
  dataReaders,
}: Pick<Config, 'dataDir' | 'dataReaders'>): Problem | undefined {
  const mode = tooOpenMode(dataDir, dataReaders);
  if (mode === undefined) return undefined;
  const chmodMode = dataReaders === 'owner' ? 'go=' : dataReaders === 'group' ? 'g-w,o=' : 'go-w';
  const more = dataReaders === 'everyone' ? '' : ', or set dataReaders to group or everyone';
  return {
    path: 'dataDir',
    message: `other users of this machine can access ${dataDir} (mode ${mode}), which contains the data of all workgroups. New files are private to ${whose[dataReaders]}. Change existing files: chmod -R ${chmodMode} ${dataDir}${more}`,
  };
}

const whose: Readonly<Record<Readers, string>> = {
  owner: 'this user',
  group: 'this user and its group',
  everyone: 'this user to write and everyone to read',
};
