import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** A user without a name and without rights. */
const USER = 10_001;
/** The whole file system is read-only for a command, except for the folder that is its first argument. */
const READ_ONLY = `mount --bind "$1" "$1" && mount -o remount,bind,ro / && cd "$1" && shift && exec "$@"`;

/** Puts a command into a read-only file system, as another user. Only root can do that. */
function asAppliance(folder: string): string[] {
  const user = ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'];
  return ['unshare', '--mount', 'sh', '-c', READ_ONLY, 'sh', folder, ...user];
}

const canBeAppliance = () =>
  spawnSync('unshare', ['--mount', 'true']).status === 0 &&
  spawnSync('setpriv', [`--reuid=${USER}`, '--clear-groups', process.execPath, '--version']).status === 0;

/**
 * Prepares a folder. A service of another user runs there in a read-only file system.
 * @returns what stands before its command; nothing if this machine cannot do that
 */
export function preparePlace(cwd: string): string[] {
  const isAppliance = canBeAppliance();
  for (const name of isAppliance ? ['data', 'tmp'] : ['tmp']) mkdirSync(join(cwd, name));
  if (!isAppliance) return [];
  for (const name of ['.', 'data', 'tmp']) chownSync(join(cwd, name), USER, USER);
  return asAppliance(cwd);
}
