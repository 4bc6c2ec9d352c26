import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { errorMessage } from '../../lib/errors.ts';
import type { UtcMs } from '../../lib/time.ts';
import type { Trouble } from '../../pipeline/trouble.ts';
import { checkLmdbFile } from '../../stream/log/check-lmdb-file.ts';
import { appendBytesMin, diskFullWords, freeBytesOnDisk } from '../../stream/log/lmdb-log.ts';

/** The problems of the disk and of the log of a workgroup. They are looked up now, because a process with a full disk cannot write its status. */
export function storageTroubles({ dataDir, stream }: Config, workgroupId: string, nowMs: UtcMs): Trouble[] {
  const trouble = (message: string): Trouble => ({
    workgroupId,
    stage: 'store',
    state: 'failing',
    sinceMs: nowMs,
    message,
  });
  const folder = join(dataDir, 'stream');
  if (stream.log !== 'lmdb' || !existsSync(folder)) return [];
  const freeBytes = freeBytesOnDisk(folder);
  const full = freeBytes < appendBytesMin ? [trouble(diskFullWords(folder, freeBytes))] : [];
  try {
    checkLmdbFile(join(folder, workgroupId));
    return full;
  } catch (error) {
    return [...full, trouble(errorMessage(error))];
  }
}
