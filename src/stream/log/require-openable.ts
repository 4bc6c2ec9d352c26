import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { errorCode, TerminalError, TransientError } from '../../lib/errors.ts';
import { checkLmdbFile } from './check-lmdb-file.ts';

/**
 * LMDB needs four descriptors. The rest is for other threads, which can open files between this check and the
 * opening.
 */
const SPARE_DESCRIPTORS = 16;
/** Each open log takes 16 GiB of address space, or more if its file is larger. A process has 128 TiB. */
const LOGS_MAX = 6_000;

/**
 * Checks everything that can make LMDB fail to open a log, because such a failure is not safe: lmdb-js 3.5
 * then frees its state twice and locks a mutex in freed memory, which ends the process.
 * @param path the folder of the log
 * @param openLogs logs that are open in this process
 * @throws TransientError TooManyFiles if the process has no file descriptors left, TooManyLogs if it has no
 *   address space left
 * @throws TerminalError DamagedLog if the file is not a complete log, NoPermission if this user cannot read
 *   and write it
 */
export function requireOpenable(path: string, openLogs: number): void {
  requireDescriptors(path);
  if (openLogs >= LOGS_MAX)
    throw new TransientError(
      'TooManyLogs',
      `the log ${path} cannot be opened: this process has ${openLogs} logs open already; move some workgroups to another service`,
    );
  for (const name of ['data.mdb', 'lock.mdb']) requireUsableFile(join(path, name));
  checkLmdbFile(path);
}

function requireDescriptors(path: string): void {
  const descriptors: number[] = [];
  try {
    while (descriptors.length < SPARE_DESCRIPTORS) descriptors.push(openSync(devNull, 'r'));
  } catch (error) {
    if (errorCode(error) !== 'EMFILE' && errorCode(error) !== 'ENFILE') throw error;
    throw new TransientError(
      'TooManyFiles',
      `the log ${path} cannot be opened: this process has too many files open; raise the limit (ulimit -n, or LimitNOFILE of systemd), about 10 files for each workgroup`,
      { cause: error },
    );
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

/**
 * A missing file is no problem. The file is not opened here: closing lock.mdb would release the locks of this
 * process.
 */
function requireUsableFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isFile()) throw new TerminalError('DamagedLog', `${file} is not a file: move it aside`);
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw new TerminalError(
      'NoPermission',
      `${file} cannot be read and written: give this user the permissions for the file and its folder`,
      { cause: error },
    );
  }
}
