import { mkdirSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../lib/durable-files.ts';
import { readJsonFile } from '../lib/read-json-file.ts';
import type { UtcMs } from '../lib/time.ts';

const controlFileSchema = z.object({
  port: z.number().int().min(1).max(65_535),
  secret: z.string().min(32),
  pid: z.number().int().positive(),
  /** See `machineName`. Undefined in files of an older version. */
  machine: z.string().optional(),
});
/**
 * The address of the process that owns a workgroup's warehouse, and a secret. Only users who can read the
 * owner's files can read it.
 */
export type ControlFile = z.infer<typeof controlFileSchema>;

/** Writes the address atomically. */
export function writeControlFile(dataDir: string, workgroupId: string, file: ControlFile): void {
  mkdirSync(controlFolder(dataDir), { recursive: true, mode: 0o700 });
  replaceFile(controlPath(dataDir, workgroupId), JSON.stringify(file));
}

/** @returns undefined if the file does not exist or is invalid */
export function readControlFile(dataDir: string, workgroupId: string): ControlFile | undefined {
  return readJsonFile(controlPath(dataDir, workgroupId), controlFileSchema);
}

/** Removes the file, unless another owner has written it. */
export function removeControlFile(dataDir: string, workgroupId: string, own: ControlFile): void {
  if (readControlFile(dataDir, workgroupId)?.secret !== own.secret) return;
  rmSync(controlPath(dataDir, workgroupId), { force: true });
}

/** Writes the address of a worker, which answers for workgroups that hibernate. */
export function writeWorkerFile(dataDir: string, file: ControlFile): void {
  mkdirSync(workersFolder(dataDir), { recursive: true, mode: 0o700 });
  replaceFile(workerPath(dataDir, file), JSON.stringify(file));
}

/** The address of a worker, and when the worker wrote it. */
export type WorkerFile = ControlFile & { writtenAtMs: UtcMs };

/** The addresses of workers, including killed workers. */
export function readWorkerFiles(dataDir: string): WorkerFile[] {
  let names: string[];
  try {
    names = readdirSync(workersFolder(dataDir));
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const path = join(workersFolder(dataDir), name);
    const file = readJsonFile(path, controlFileSchema);
    const written = statSync(path, { throwIfNoEntry: false });
    return file && written ? { ...file, writtenAtMs: written.mtimeMs } : [];
  });
}

export function removeWorkerFile(dataDir: string, file: ControlFile): void {
  rmSync(workerPath(dataDir, file), { force: true });
  try {
    rmdirSync(workersFolder(dataDir));
  } catch {
    // The folder still has the files of other workers.
  }
}

function workersFolder(dataDir: string): string {
  return join(controlFolder(dataDir), 'workers');
}

/** Another process can get the same process id later. It then replaces the file. */
function workerPath(dataDir: string, { pid }: ControlFile): string {
  return join(workersFolder(dataDir), `${pid}.json`);
}

function controlFolder(dataDir: string): string {
  return join(dataDir, 'control');
}

function controlPath(dataDir: string, workgroupId: string): string {
  return join(controlFolder(dataDir), `${workgroupId}.json`);
}
