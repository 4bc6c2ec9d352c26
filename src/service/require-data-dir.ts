import { accessSync, constants, mkdirSync } from 'node:fs';
import { diskFullError, isDiskFull } from '../lib/disk-full.ts';
import { errorCode, InputError } from '../lib/errors.ts';
import { folderMode, type Readers } from '../lib/private-files.ts';

/** @throws InputError if the folder cannot be written */
export function requireDataDir(dataDir: string, readers: Readers = 'owner'): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: folderMode(readers) });
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (isDiskFull(error)) throw diskFullError(dataDir, error);
    throw new InputError('the configuration', [
      {
        path: 'dataDir',
        message: `${dataDir} is not a writable folder (${errorCode(error)}); choose another folder, or give this user the permissions`,
      },
    ]);
  }
}
