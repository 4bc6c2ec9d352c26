import { statSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Who may read what is kept: the user that the process runs as, its group too, or everyone on the machine. */
export const readerNames = ['owner', 'group', 'everyone'] as const;
export type Readers = (typeof readerNames)[number];

/** The rights that are taken from new files and folders. Nobody else ever writes. */
const taken: Readonly<Record<Readers, number>> = { owner: 0o077, group: 0o027, everyone: 0o022 };

/** What the process was started with. */
let given: number | undefined;

/**
 * Makes every file and folder that this process writes from now on private, as far as others are not to read them: those of libraries too
 * (DuckDB, LMDB). Keys and tokens are private whatever is configured.
 */
export function keepFilesPrivate(readers: Readers): void {
  // The rights are those of the whole process; only its main thread may set them.
  if (!isMainThread) return;
  given ??= process.umask(taken[readers]);
  process.umask(given | taken[readers]);
}

/** The mode of a file that is handed over to others, outside of what is kept: as whoever started the process has set it. */
export function handedOverMode(): number {
  return 0o666 & ~(given ?? 0o022);
}

/** The mode of the folder that all is kept in, where it is made. */
export function folderMode(readers: Readers): number {
  return 0o777 & ~taken[readers];
}

/** @returns the rights of a folder that go beyond who may read it, as `0755`; undefined where there are none */
export function tooOpenMode(folder: string, readers: Readers): string | undefined {
  const mode = statSync(folder).mode & 0o777;
  return (mode & taken[readers]) === 0 ? undefined : `0${mode.toString(8)}`;
}
