import { readFileSync, statSync } from 'node:fs';
import { cannotBeRead } from './errors.ts';

/**
 * Reads the text of a small file that a person has named. Devices and pipes are refused, because they may
 * have no end.
 * @returns the text, or what is wrong with the file
 */
export function readNamedFile(file: string, bytesMax: number): { text: string } | { problem: string } {
  try {
    const stat = statSync(file);
    if (stat.isDirectory()) return { problem: 'is a folder: name a file' };
    if (!stat.isFile()) return { problem: 'is a device or a pipe: name a regular file' };
    if (stat.size > bytesMax)
      return { problem: `has ${stat.size} bytes, and at most ${bytesMax} are read: name another file` };
    return { text: readFileSync(file, 'utf8') };
  } catch (error) {
    return { problem: cannotBeRead(error) };
  }
}
