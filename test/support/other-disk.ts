import { accessSync, constants, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from './shared.ts';

/**
 * A folder on another file system than `tempDir`, where no hard link of a file of `tempDir` can be. Undefined
 * if there is none that can be written.
 */
export const otherDisk = ['/dev/shm', '/var/tmp', process.cwd()].find((path) => {
  try {
    accessSync(path, constants.W_OK);
    return statSync(path).dev !== statSync(tmpdir()).dev;
  } catch {
    return false;
  }
});

/** A new empty folder of `otherDisk`. It is removed when the test has finished. */
export function otherDiskDir(): string {
  const path = mkdtempSync(join(otherDisk!, 'wattline-test-'));
  atEnd(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
