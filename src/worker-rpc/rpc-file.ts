import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../lib/durable-files.ts';

const controlFileSchema = z.object({
  port: z.number().int().min(1).max(65_535),
  secret: z.string().min(32),
  pid: z.number().int().positive(),
});
/** Where the owner of a workgroup's warehouse is asked, and what shows that the asker may read the owner's files. */
export type ControlFile = z.infer<typeof controlFileSchema>;

/** Tells where the owner is, to whoever may read this user's files: at once or not at all. */
export function writeControlFile(dataDir: string, workgroupId: string, file: ControlFile): void {
  mkdirSync(controlFolder(dataDir), { recursive: true, mode: 0o700 });
  replaceFile(controlPath(dataDir, workgroupId), JSON.stringify(file));
}

/** @returns undefined where there is none, or nothing that an owner has written */
export function readControlFile(dataDir: string, workgroupId: string): ControlFile | undefined {
  try {
    return controlFileSchema.parse(JSON.parse(readFileSync(controlPath(dataDir, workgroupId), 'utf8')));
  } catch {
    return undefined;
  }
}

/** Removes the file unless another owner has written its own by now. */
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
