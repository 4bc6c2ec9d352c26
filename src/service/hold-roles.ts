import { accessSync, constants, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { InputError, type Problem, TerminalError, TransientError } from '../lib/errors.ts';
import { folderMode, keepFilesPrivate, type Readers, tooOpenMode } from '../lib/private-files.ts';
import type { Clock } from '../lib/time.ts';
import { openDatabase } from '../warehouse/database.ts';

/** What a process can do: take messages in and hand them out, turn them into energy, answer reports. */
export type Role = 'stream' | 'worker' | 'report';

/** All that a lock needs of DuckDB. */
const MEMORY_MEGABYTES = 16;

/**
 * Makes sure that a data folder is worked on by one process: a second one would take the stream's log over from the first, and
 * could open no warehouse. A lock is DuckDB's own on a file with nothing in it: the system drops it when the process ends, however it ends.
 * Reports only read, a log in memory is nobody else's, and workers on Redis share the workgroups among themselves.
 * @returns gives the folder back
 * @throws TransientError where another process has it, InputError where it cannot be written
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
 * Takes it upon this process to look after the streams of a data folder, which one process does.
 * @returns gives it up; undefined while another process does it
 */
export function holdUpkeep(dataDir: string, clock: Clock): Promise<(() => Promise<void>) | undefined> {
  return holdIfFree(dataDir, 'upkeep', clock);
}

/** As `holdUpkeep`, of one export of a data folder. */
export function holdExport(
  dataDir: string,
  exportId: string,
  clock: Clock,
): Promise<(() => Promise<void>) | undefined> {
  return holdIfFree(dataDir, `export-${exportId}`, clock);
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

/** What one process of a data folder has to itself. */
type HeldPart = Role | 'upkeep' | `export-${string}`;

async function hold(dataDir: string, role: HeldPart, clock: Clock): Promise<() => Promise<void>> {
  const path = join(dataDir, 'lock', `${role}.duckdb`);
  const open = () => openDatabase({ path, memoryMegabytes: MEMORY_MEGABYTES, threads: 1, clock });
  try {
    const { close } = await open().catch((error: unknown) => {
      if (!(error instanceof TerminalError && error.code === 'NotAWarehouse')) throw error;
      // A full disk cut its making off. The system's lock comes before the content, so nobody else has the file.
      rmSync(path);
      return open();
    });
    return close;
  } catch (error) {
    if (!(error instanceof TransientError && error.code === 'WarehouseLocked')) throw error;
    const { holderPid } = error.details;
    throw new TransientError(
      'AlreadyRuns',
      `the ${role} already runs on ${dataDir}, in ${holderPid ? `process ${holderPid}` : 'another process'}; end that one, or choose another dataDir`,
      { cause: error, details: { dataDir, holderPid } },
    );
  }
}

/** @throws InputError where nothing can be written below the folder */
export function requireDataDir(dataDir: string, readers: Readers = 'owner'): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: folderMode(readers) });
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOSPC')
      throw new TransientError('DiskFull', `the disk of ${dataDir} is full`, { cause: error });
    throw new InputError('the configuration', [
      {
        path: 'dataDir',
        message: `${dataDir} is no folder that can be written to (${code}); name another, or give this user the rights`,
      },
    ]);
  }
}

/** What to do about a data folder that was there before with more rights than it needs; undefined where it is as it should be. */
export function readersWarning({
  dataDir,
  dataReaders,
}: Pick<Config, 'dataDir' | 'dataReaders'>): Problem | undefined {
  const mode = tooOpenMode(dataDir, dataReaders);
  if (mode === undefined) return undefined;
  const wanted = dataReaders === 'owner' ? 'go=' : dataReaders === 'group' ? 'g-w,o=' : 'go-w';
  const more = dataReaders === 'everyone' ? '' : ', or say who may read with dataReaders: group or everyone';
  return {
    path: 'dataDir',
    message: `other users of this machine may use ${dataDir} (mode ${mode}), where the data of all workgroups lie. New files are made for ${whose[dataReaders]} only; for those that are there: chmod -R ${wanted} ${dataDir}${more}`,
  };
}

const whose: Readonly<Record<Readers, string>> = {
  owner: 'this user',
  group: 'this user and its group',
  everyone: 'this user to write and everyone to read',
};
