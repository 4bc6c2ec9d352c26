import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../lib/durable-files.ts';
import { errorCode } from '../lib/errors.ts';
import { readJsonFile } from '../lib/read-json-file.ts';
import { isAlive } from './control.ts';

const processFileSchema = z.object({
  port: z.number().int().min(1).max(65_535),
  secret: z.string().min(32),
  pid: z.number().int().positive(),
  host: z.string(),
  roles: z.array(z.string()),
});
/**
 * The address of a process of the service, and a secret. Only users who can read the files of the service can
 * read it.
 */
type ProcessFile = z.infer<typeof processFileSchema>;

/**
 * Writes the file of this process. Files of ended processes of this machine are removed.
 * @returns removes the file
 */
export function writeProcessFile(
  dataDir: string,
  file: Omit<ProcessFile, 'pid' | 'host'>,
): { remove: () => void } {
  const folder = processFolder(dataDir);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const { path, file: other } of listProcessFiles(dataDir))
    if (other.host === hostname() && !isAlive(other.pid)) rmSync(path, { force: true });
  const path = join(folder, `${randomUUID()}.json`);
  replaceFile(path, JSON.stringify({ ...file, pid: process.pid, host: hostname() }));
  return {
    remove() {
      rmSync(path, { force: true });
      try {
        rmdirSync(folder);
      } catch {
        // Another process uses it.
      }
    },
  };
}

/** The files of all processes that were started on a data folder, including killed processes. */
export function listProcessFiles(dataDir: string): Array<{ path: string; file: ProcessFile }> {
  let names: string[];
  try {
    names = readdirSync(processFolder(dataDir));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
  return names.flatMap((name) => {
    const path = join(processFolder(dataDir), name);
    const file = readJsonFile(path, processFileSchema);
    return file ? [{ path, file }] : [];
  });
}

function processFolder(dataDir: string): string {
  return join(dataDir, 'control', 'processes');
}
