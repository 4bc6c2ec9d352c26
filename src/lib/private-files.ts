import { statSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Who can read stored files: the user of the process, its group, or all users of the machine. */
export const readerNames = ['owner', 'group', 'everyone'] as const;
export type Readers = (typeof readerNames)[number];

/** The permissions that new files and folders do not get. Other users can never write. */
const withheld: Readonly<Record<Readers, number>> = { owner: 0o077, group: 0o027, everyone: 0o022 };

/** The umask before `keepFilesPrivate` changed it. Undefined until then. */
let umaskAtStart: number | undefined;

/**
 * Restricts all files and folders that this process writes from now on, also files of libraries (DuckDB,
 * LMDB). Keys and tokens are always private.
 */
export function keepFilesPrivate(readers: Readers): void {
  // The umask belongs to the whole process, and only the main thread may set it.
  if (!isMainThread) return;
  umaskAtStart ??= process.umask(withheld[readers]);
  process.umask(umaskAtStart | withheld[readers]);
}

/**
 * The mode of a file that is delivered to a place outside the data folder. It follows the umask that the
 * process had at its start.
 */
export function handedOverMode(): number {
  return 0o666 & ~(umaskAtStart ?? 0o022);
}

/** The mode of a new data folder. */
export function folderMode(readers: Readers): number {
  return 0o777 & ~withheld[readers];
}

/** @returns the excess permissions of a folder, as `0755`; undefined if there are none */
export function tooOpenMode(folder: string, readers: Readers): string | undefined {
  const mode = statSync(folder).mode & 0o777;
  return (mode & withheld[readers]) === 0 ? undefined : `0${mode.toString(8)}`;
}
