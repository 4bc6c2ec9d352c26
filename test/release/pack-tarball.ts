import { execFileSync } from 'node:child_process';
import { repositoryRoot } from '../support/readme.ts';

/** Writes the tarball of a release into a folder, as a user with private new files. @returns its path */
export function packTarball(folder: string): string {
  const umask = process.umask(0o077);
  try {
    return execFileSync(process.execPath, ['.ci/pack.mjs', folder], {
      cwd: repositoryRoot,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  } finally {
    process.umask(umask);
  }
}
