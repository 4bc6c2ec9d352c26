import { type StatsFs, statfsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { MEBIBYTE } from '../../lib/units.ts';

/**
 * The log refuses messages if its disk has fewer free bytes. Appends stop before the disk is full, because
 * lmdb 3.5 may end the process if the system refuses a write.
 */
export const APPEND_BYTES_MIN = 64 * MEBIBYTE;
/** Trims continue for longer than appends, because they free space. */
export const TRIM_BYTES_MIN = 4 * MEBIBYTE;

/** The problem and what to do. Also for `status`, which names the same disk. */
export function diskFullWords(path: string, freeBytes: number): string {
  return `the disk of ${path} is full (${Math.floor(freeBytes / MEBIBYTE)} MiB are free, and the log of the stream needs ${APPEND_BYTES_MIN / MEBIBYTE}); free some space, then the service continues by itself`;
}

/** For appends, which cannot wait for a thread. */
export function freeBytesOnDisk(path: string): number {
  return freeBytesOf(statfsSync(path));
}

/** For checks of the health: a disk that does not answer must not stop the process. */
export async function readFreeBytes(path: string): Promise<number> {
  return freeBytesOf(await statfs(path));
}

function freeBytesOf({ bavail, bsize }: StatsFs): number {
  return bavail * bsize;
}
