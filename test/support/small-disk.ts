import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { tempDir } from './temp-dir.ts';

/**
 * A separate file system in memory, until the end of the test; undefined if this user cannot mount one.
 * `enlarge` gives it a gigabyte, and returns false if this fails.
 */
export function mountSmallDisk(megabytes: number): { folder: string; enlarge(): boolean } | undefined {
  const folder = join(tempDir(), 'disk');
  mkdirSync(folder);
  const mount = (...args: string[]) => spawnSync('mount', [...args, folder]).status === 0;
  if (!mount('-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs')) return undefined;
  onTestFinished(() => void spawnSync('umount', ['-l', folder]));
  return { folder, enlarge: () => mount('-o', 'remount,size=1g') };
}
