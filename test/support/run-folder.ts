import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorCode } from '../../src/lib/errors.ts';

const MEMORY = '/dev/shm';
/** The least size of the file system. A whole run needs less than a fourth of it. */
const FREE_BYTES_MIN = 4 * 1024 ** 3;

/**
 * Makes the folder for all files of this run. It is in memory if the machine has a file system for that,
 * because tests on a disk spend a part of their time waiting for the disk. The files of a killed process are
 * the same there. The soak uses the disk, and so does a run with `TMPDIR`.
 */
export function makeRunFolder(): string {
  const isOnDisk = process.env.WATTLINE_SOAK === '1' || process.env.TMPDIR !== undefined;
  const parent = !isOnDisk && hasRoomInMemory() ? MEMORY : tmpdir();
  removeFoldersOfEndedRuns(parent);
  // The name is short, because the path of a socket must not have more than 107 bytes.
  const folder = join(parent, `wattline-run-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  return folder;
}

function hasRoomInMemory(): boolean {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const [, , type, options = ''] = mounts.findLast((line) => line.split(' ')[1] === MEMORY)!.split(' ');
    const { bavail, bsize } = statfsSync(MEMORY);
    return type === 'tmpfs' && !options.split(',').includes('noexec') && bavail * bsize >= FREE_BYTES_MIN;
  } catch {
    return false;
  }
}

/** Folders of earlier runs that were killed. These runs could not remove them. */
function removeFoldersOfEndedRuns(parent: string): void {
  for (const name of readdirSync(parent)) {
    const id = /^wattline-run-(\d+)$/.exec(name)?.[1];
    if (id !== undefined && !isRunning(Number(id)))
      rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function isRunning(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}
