import { randomBytes } from 'node:crypto';
import { chmod, copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { hashFile, sha256Hex } from '../lib/durable-files.ts';
import { errorMessage, ifMissing, isMissing, TerminalError } from '../lib/errors.ts';
import type { Clock } from '../lib/time.ts';
import { damagedObject, type ObjectStore } from '../storage/object-store.ts';
import { findDamage } from './find-damage.ts';

/** The folder of this state in a place, next to the workgroups. An id of a workgroup cannot contain a dot. */
export const STATE_FOLDER = 'service.state';
/** The folders of a data folder that are not in a warehouse or a lake. The last one has secrets. */
const stateFolders = ['audit', 'exports'] as const;
const SECRET_FOLDER = 'access';

const manifestSchema = z.strictObject({
  format: z.literal(1),
  createdAtMs: z.number().int(),
  files: z.array(
    z.strictObject({
      /** Below the data folder. */
      path: z
        .string()
        .regex(/^(audit|exports|access)(\/[^/\\]+)+$/)
        .refine((path) => !/(^|\/)\.{1,2}(\/|$)/.test(path)),
      bytes: z.number().int().min(0),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
      mode: z.number().int().min(0).max(0o777),
    }),
  ),
});
type Manifest = z.output<typeof manifestSchema>;

interface BackupStateOptions {
  store: ObjectStore;
  dataDir: string;
  /** The folder that has `exports/`. Default: `dataDir`. */
  exportsRoot?: string | undefined;
  withSecrets: boolean;
  /** Files are copied there first, because they can grow. It is deleted at the end. */
  stagingDir: string;
  clock: Clock;
  signal?: AbortSignal;
}

/** The number of small files in a backup, and how many of them were copied now. */
export interface BackedUpState {
  files: number;
  copied: number;
}

/**
 * Stores the small files next to warehouses and lakes: the export ledger with its waiting files, the spool of
 * the audit log and, if asked, keys and tokens. The manifest is stored at the end. Equal content is stored
 * once.
 */
export async function backupState(options: BackupStateOptions): Promise<BackedUpState> {
  const { store, dataDir, exportsRoot = dataDir, withSecrets, stagingDir, clock, signal } = options;
  const rootOf = (path: string) => (isOfExports(path) ? exportsRoot : dataDir);
  await mkdir(stagingDir, { recursive: true });
  try {
    const files: Manifest['files'] = [];
    const stored = new Set<string>();
    for await (const { key } of store.list('objects/')) stored.add(key);
    let copied = 0;
    const folders = [...stateFolders, ...(withSecrets ? [SECRET_FOLDER] : [])];
    const paths: string[] = [];
    for (const folder of folders) paths.push(...(await filesBelow(rootOf(folder), folder)));
    for (const path of paths.sort()) {
      signal?.throwIfAborted();
      const staged = join(stagingDir, 'state');
      try {
        await copyFile(join(rootOf(path), path), staged);
      } catch (error) {
        // A delivered file of an export was deleted meanwhile.
        if (isMissing(error)) continue;
        throw error;
      }
      const [{ size, mode }, sha256] = await Promise.all([stat(join(staged)), hashFile(staged)]);
      const key = objectKey(sha256);
      if (!stored.has(key)) {
        await store.put(key, { path: staged, bytes: size, sha256 }, signal);
        stored.add(key);
        copied++;
      }
      files.push({ path, bytes: size, sha256, mode: mode & 0o777 });
      await rm(staged);
    }
    const manifest: Manifest = { format: 1, createdAtMs: clock.now(), files };
    const name = `${String(manifest.createdAtMs).padStart(15, '0')}-${randomBytes(8).toString('hex')}`;
    await store.createKey(`manifests/${name}.json`, Buffer.from(`${JSON.stringify(manifest)}\n`), signal);
    return { files: files.length, copied };
  } finally {
    await rm(stagingDir, { recursive: true, force: true });
  }
}

interface RestoreStateOptions {
  store: ObjectStore;
  dataDir: string;
  /** The folder that gets `exports/`. Default: `dataDir`. */
  exportsRoot?: string | undefined;
  /** The time of the restored data. The state that was stored with it or after it is used. */
  atMs: number;
  signal?: AbortSignal;
}

/** Restores the files of the state that do not exist. Existing files stay as they are. */
export async function restoreState({
  store,
  dataDir,
  exportsRoot = dataDir,
  atMs,
  signal,
}: RestoreStateOptions): Promise<{ restored: number; kept: number }> {
  const manifest = await findManifest(store, atMs);
  let restored = 0;
  let keptCount = 0;
  for (const { path, mode, ...expected } of manifest?.files ?? []) {
    const target = join(isOfExports(path) ? exportsRoot : dataDir, path);
    if (await stat(target).catch(() => undefined)) {
      keptCount++;
      continue;
    }
    if (!(await store.download(objectKey(expected.sha256), target, expected, signal)))
      throw new TerminalError(
        'ObjectMissing',
        `${store.address}/${objectKey(expected.sha256)} does not exist`,
      );
    await chmod(target, mode);
    restored++;
  }
  return { restored, kept: keptCount };
}

/** Checks every file of every stored state. @returns the number of undamaged files, and the damaged ones */
export async function verifyState(
  store: ObjectStore,
  signal?: AbortSignal,
): Promise<{ files: number; broken: Array<{ key: string; why: string }> }> {
  const broken: Array<{ key: string; why: string }> = [];
  const sound = new Set<string>();
  for await (const { key } of store.list('manifests/')) {
    const damage = await findDamage(async () => {
      for (const { sha256 } of (await readManifest(store, key)).files) {
        if (sound.has(sha256)) continue;
        const bytes = await store.get(objectKey(sha256), {
          bytesMax: 2 ** 31 - 1,
          signal,
        });
        if (bytes === undefined) throw damagedObject(store.address, objectKey(sha256), 'it does not exist');
        if (sha256Hex(bytes) !== sha256)
          throw damagedObject(store.address, objectKey(sha256), 'its SHA-256 is not its name');
        sound.add(sha256);
      }
    });
    if (damage) broken.push({ key: `${STATE_FOLDER}/${key}`, why: errorMessage(damage) });
  }
  return { files: sound.size, broken };
}

/** The first state that was stored at or after a time, or the newest one. */
async function findManifest(store: ObjectStore, atMs: number): Promise<Manifest | undefined> {
  let newestKey: string | undefined;
  for await (const { key } of store.list('manifests/')) {
    newestKey = key;
    if (Number(key.slice('manifests/'.length).slice(0, 15)) >= atMs) break;
  }
  return newestKey === undefined ? undefined : readManifest(store, newestKey);
}

async function readManifest(store: ObjectStore, key: string): Promise<Manifest> {
  try {
    return manifestSchema.parse(JSON.parse(((await store.get(key)) ?? Buffer.alloc(0)).toString('utf8')));
  } catch (error) {
    if (error instanceof TerminalError) throw error;
    throw damagedObject(store.address, key, 'it cannot be read');
  }
}

function objectKey(sha256: string): string {
  return `objects/${sha256}`;
}

function isOfExports(path: string): boolean {
  return /^exports(\/|$)/.test(path);
}

/** The paths of the files of a folder, below its root. */
async function filesBelow(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(
    ifMissing([]),
  );
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.draft'))
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root).length + 1));
}
