import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { diskFullError, isDiskFull } from '../lib/disk-full.ts';
import { errorCode, TransientError } from '../lib/errors.ts';
import { type Clock, HOUR_MS } from '../lib/time.ts';
import { type Upload, uploadSchema } from './upload-rows.ts';

/** Files of killed processes are deleted after this time. */
const KEPT_MS = HOUR_MS;

/**
 * Writes an upload to a file for the process that has the warehouse open, because it may be too large for a
 * request. Remove the file after the answer.
 */
export function stageUpload(dataDir: string, upload: Upload, clock: Clock): { path: string; remove(): void } {
  const folder = join(dataDir, 'uploads');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder)) {
    const file = statSync(join(folder, name), { throwIfNoEntry: false });
    if (file && clock.now() - file.mtimeMs > KEPT_MS) rmSync(join(folder, name), { force: true });
  }
  const path = join(folder, `${randomUUID()}.json`);
  const remove = () => rmSync(path, { force: true });
  try {
    writeFileSync(path, JSON.stringify(upload), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    remove();
    if (isDiskFull(error)) throw diskFullError(folder, error);
    const code = errorCode(error);
    throw new TransientError(
      'NotStaged',
      `the upload cannot be written to ${folder} (${code}); check the folder and its permissions`,
      {
        cause: error,
      },
    );
  }
  return { path, remove };
}

/** @throws if the file does not exist, or was not written by `stageUpload` */
export function readStaged(path: string): Upload {
  return uploadSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
}
