import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../lib/durable-files.ts';

const controlFileSchema = z.object({
  port: z.number().int().min(1).max(65_535),
  secret: z.string().min(32),
  pid: z.number().int().positive(),
});
/** The address of the process that owns a workgroup's warehouse, and a secret. Only users who can read the owner's files can read it. */
export type ControlFile = z.infer<typeof controlFileSchema>;

/** Writes the address atomically. */
export function writeControlFile(dataDir: string, workgroupId: string, file: ControlFile): void {
  mkdirSync(controlFolder(dataDir), { recursive: true, mode: 0o700 });
  replaceFile(controlPath(dataDir, workgroupId), JSON.stringify(file));
}

/** @returns undefined if the file does not exist or is invalid */
export function readControlFile(dataDir: string, workgroupId: string): ControlFile | undefined {
  try {
    return controlFileSchema.parse(JSON.parse(readFileSync(controlPath(dataDir, workgroupId), 'utf8')));
  } catch {
    return undefined;
  }
}

/** Removes the file, unless another owner has written it. */
export function removeControlFile(dataDir: string, workgroupId: string, own: ControlFile): void {
  if (readControlFile(dataDir, workgroupId)?.secret !== own.secret) return;
  rmSync(controlPath(dataDir, workgroupId), { force: true });
}

function controlFolder(dataDir: string): string {
  return join(dataDir, 'control');
}

function controlPath(dataDir: string, workgroupId: string): string {
  return join(controlFolder(dataDir), `${workgroupId}.json`);
}
