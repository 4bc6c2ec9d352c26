import { statfsSync } from 'node:fs';
import { MEBIBYTE } from '../../lib/units.ts';

/**
 * The log refuses messages if its disk has fewer free bytes. Appends stop before the disk is full, because
 * lmdb 3.5 may end the process if the system refuses a write.
 */
export const appendBytesMin = 64 * MEBIBYTE;
/** Trims continue for longer than appends, because they free space. */
export const trimBytesMin = 4 * MEBIBYTE;

/** The problem and what to do. Also for `status`, which names the same disk. */
export function diskFullWords(path: string, freeBytes: number): string {
  return `the disk of ${path} is full (${Math.floor(freeBytes / MEBIBYTE)} MiB are free, and the log of the stream needs ${appendBytesMin / MEBIBYTE}); free some space, then the service continues by itself`;
}

export function freeBytesOnDisk(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}
