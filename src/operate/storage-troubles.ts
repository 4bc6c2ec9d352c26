import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { errorMessage } from '../lib/errors.ts';
import type { UtcMs } from '../lib/time.ts';
import type { Trouble } from '../pipeline/trouble.ts';
import { checkLmdbFile } from '../stream/log/check-lmdb-file.ts';
import { APPEND_BYTES_MIN, diskFullWords, freeBytesOnDisk } from '../stream/log/log-disk.ts';

/**
 * The problems of the disk and of the log of a workgroup. They are looked up now, because a process with a
 * full disk cannot write its status.
 */
export function storageTroubles(
  { dataDir, stream }: Pick<Config, 'dataDir'> & { stream: Pick<Config['stream'], 'log'> },
  workgroupId: string,
  nowMs: UtcMs,
): Trouble[] {
  const folder = join(dataDir, 'stream');
  if (stream.log !== 'lmdb' || !existsSync(folder)) return [];
  const messages: string[] = [];
  const freeBytes = freeBytesOnDisk(folder);
  if (freeBytes < APPEND_BYTES_MIN) messages.push(diskFullWords(folder, freeBytes));
  try {
    checkLmdbFile(join(folder, workgroupId));
  } catch (error) {
    messages.push(errorMessage(error));
  }
  return messages.map((message) => ({
    workgroupId,
    sinceMs: nowMs,
    stage: 'store',
    state: 'failing',
    message,
  }));
}
