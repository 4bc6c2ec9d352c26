import { TransientError } from '../lib/errors.ts';

/** A full disk, however it was noticed, as an error that says so; anything else as it is. */
export function fromDiskError(error: unknown, folder: string): unknown {
  if (!isDiskFull(error)) return error;
  return new TransientError(
    'DiskFull',
    `the disk of ${folder} is full; make room, and it goes on by itself`,
    {
      cause: error,
    },
  );
}

function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')) return true;
  // DuckDB tells it in words alone.
  return /No space left on device|Disk quota exceeded/i.test(error.message) || isDiskFull(error.cause);
}
