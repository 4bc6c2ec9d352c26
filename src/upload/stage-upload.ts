import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TransientError } from '../lib/errors.ts';
import { type Clock, HOUR_MS } from '../lib/time.ts';
import { type Upload, uploadSchema } from './upload-rows.ts';

/** What a process that was killed has left behind goes after this. */
const KEPT_MS = HOUR_MS;

/**
 * Puts an upload where the process that has the warehouse open finds it: there may be far too much for a question. Remove it once
 * the question was answered.
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
    const { code } = error as NodeJS.ErrnoException;
    throw new TransientError('NotStaged', `what is uploaded cannot be written to ${folder} (${code})`, {
      cause: error,
    });
  }
  return { path, remove };
}

/** @throws where it is not there, or nothing that `stageUpload` has written */
export function readStaged(path: string): Upload {
  return uploadSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
}
