import { diskFullError, isDiskFull } from '../lib/disk-full.ts';

/** Converts errors of a full disk to our error. Returns other errors unchanged. */
export function fromDiskError(error: unknown, folder: string): unknown {
  if (!isDiskFull(error)) return error;
  return diskFullError(folder, error, 'free some space, and the export continues by itself');
}
