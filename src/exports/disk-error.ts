import { isDiskFull } from '../lib/disk-full.ts';
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
