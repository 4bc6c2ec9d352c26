import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Commit } from '../../src/publish/commit-schema.ts';
import { filePath, type LakePaths, sequenceName } from '../../src/publish/lake-layout.ts';
import { type Fixture, rows } from './publish-fixture.ts';

/**
 * Makes the lake one of format 1: files side by side, a folder of links for each generation, and no nonces.
 * Also in the warehouse.
 */
export async function toFormatOne({ paths, shard }: Fixture): Promise<void> {
  filesToFormatOne(paths);
  await shard.transaction((connection) => rows(connection, 'DELETE FROM publication'));
}

/** The same for the files alone. Nobody may have them open. */
export function filesToFormatOne(paths: LakePaths): void {
  const moved = new Set<string>();
  for (const name of readdirSync(paths.commits).sort()) {
    const path = join(paths.commits, name);
    const { nonce: _, snapshot: _none, ...commit } = JSON.parse(readFileSync(path, 'utf8')) as Commit;
    const generation = join(paths.root, 'generations', sequenceName(commit.sequence));
    for (const file of commit.files) {
      const flat = join(paths.files, file.dataset, file.name);
      if (!moved.has(flat)) renameSync(filePath(paths, file), flat);
      moved.add(flat);
      const linked = join(generation, file.dataset, file.folder, file.name);
      mkdirSync(dirname(linked), { recursive: true });
      linkSync(flat, linked);
    }
    writeFileSync(path, JSON.stringify({ ...commit, format: 1 }));
    linkSync(path, join(generation, 'commit.json'));
    rmSync(paths.current, { force: true });
    symlinkSync(`generations/${sequenceName(commit.sequence)}`, paths.current);
  }
  for (const entry of readdirSync(paths.files, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory() && entry.name.includes('='))
      rmSync(join(entry.parentPath, entry.name), { recursive: true, force: true });
  for (const folder of [paths.trees, paths.analytics]) rmSync(folder, { recursive: true });
  mkdirSync(join(paths.root, 'trash/1763640000000-000000000000'), { recursive: true });
}
