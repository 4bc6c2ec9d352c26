import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { linkOrCopyWhole } from '../lib/durable-files.ts';
import type { UtcMs } from '../lib/time.ts';
import type { Commit, FormatOneCommit } from './commit-schema.ts';
import { createCommit, storedFilePath } from './lake-commit.ts';
import { syncFolders } from './lake-file.ts';
import { planCommit, storePublication } from './lake-guard.ts';
import { filePath, type LakePaths, newNonce } from './lake-layout.ts';
import type { PublishableShard } from './publishable-shard.ts';

/**
 * Brings a lake of format 1 to format 2. It gives the files of the head a second name in their Hive folders,
 * and creates a commit of format 2 with the same files. Older generations stay readable, with their files in
 * the old places, until retention deletes them. After a crash at any step the next call starts again.
 */
export async function migrateLake(
  shard: PublishableShard,
  paths: LakePaths,
  head: FormatOneCommit,
  nowMs: UtcMs,
): Promise<Commit> {
  for (const file of head.files) {
    const [from, to] = [storedFilePath(paths, head, file), filePath(paths, file)];
    if (from === to) continue;
    await mkdir(dirname(to), { recursive: true });
    await linkOrCopyWhole(from, to);
  }
  await syncFolders(paths, head.files);
  const commit: Commit = {
    ...head,
    format: 2,
    nonce: newNonce(),
    sequence: head.sequence + 1,
    createdAtMs: nowMs,
    ownerEpoch: String(shard.epoch),
  };
  await planCommit(shard, commit);
  await createCommit(paths, commit);
  await shard.transaction((connection) => storePublication(connection, 'published', commit), {
    isQuiet: true,
  });
  return commit;
}
