import { errorCode, TransientError } from './errors.ts';

/** The codes of the operating system for a disk or a quota that is full, and our own code. */
const CODES: readonly (string | undefined)[] = ['ENOSPC', 'EDQUOT', 'DiskFull'];

/**
 * The texts of DuckDB, which has no codes, and of `copyFile` in Node. `File too large` means that a limit of
 * the size of files (`ulimit -f`) is reached. It has the same effect as a full disk.
 */
const TEXTS = /No space left on device|Disk quota exceeded|File too large/i;

/**
 * The error of a full disk.
 * @param path a file or a folder of the disk
 * @param next what to do
 */
export function diskFullError(path: string, cause: unknown, next = 'free some space'): TransientError {
  return new TransientError('DiskFull', `the disk of ${path} is full; ${next}`, { cause, details: { path } });
}

/** True if the error, or an error that caused it, says that a disk or a quota is full. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return CODES.includes(errorCode(error)) || TEXTS.test(error.message) || isDiskFull(error.cause);
}
