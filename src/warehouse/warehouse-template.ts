import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, link, mkdir, open, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { cannotLink, syncPath } from '../lib/durable-files.ts';
import { errorCode } from '../lib/errors.ts';
import type { Migration } from './load-sql.ts';

/**
 * Empty warehouses of this process, by schema: the compressed bytes of a file that has all migrations and no
 * owner. The first new warehouse of a process is migrated, and the bytes of its file are kept here. Later
 * warehouses are created from these bytes, because running all migrations takes about 100 ms of CPU time.
 */
const templates = new Map<string, Buffer>();

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/**
 * Keeps the bytes of a file that was just migrated from nothing.
 * @param file the file after a checkpoint, before anything else is written
 */
export async function keepTemplate(file: FileHandle, migrations: readonly Migration[]): Promise<void> {
  const { size } = await file.stat();
  const bytes = Buffer.allocUnsafe(size);
  const { bytesRead } = await file.read(bytes, 0, size, 0);
  if (bytesRead === size) templates.set(schemaOf(migrations), await compress(bytes));
}

/**
 * Creates a warehouse with the schema of these migrations from the template, if there is one and the
 * warehouse does not exist. The file appears as a whole.
 * @returns true if it was created
 */
export async function createFromTemplate(file: string, migrations: readonly Migration[]): Promise<boolean> {
  const path = resolve(file);
  const template = templates.get(schemaOf(migrations));
  // A write-ahead log without its file belongs to another file. Opening reports it.
  if (template === undefined || existsSync(path) || existsSync(`${path}.wal`)) return false;
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    {
      await using handle = await open(draft, 'wx');
      await handle.writeFile(await decompress(template));
      await handle.sync();
    }
    // A link does not replace a file that another process has created meanwhile.
    await link(draft, path);
  } catch (error) {
    if (errorCode(error) === 'EEXIST' || cannotLink(error)) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
  await syncPath(dirname(path));
  return true;
}

function schemaOf(migrations: readonly Migration[]): string {
  return migrations.map(({ checksum }) => checksum).join();
}
