import { TransientError } from '../lib/errors.ts';

/** Converts errors of a full disk to our error. Returns other errors unchanged. */
export function fromDiskError(error: unknown, folder: string): unknown {
  if (!isDiskFull(error)) return error;
  return new TransientError(
    'DiskFull',
    `the disk of ${folder} is full; make room, and the export continues by itself`,
    {
      cause: error,
    },
  );
}

function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) return true;
  // DuckDB has no code for this error.
  return /No space left on device|Disk quota exceeded/i.test(error.message) || isDiskFull(error.cause);
}
