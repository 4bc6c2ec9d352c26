import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { findRestorable, parseAt } from '../../src/backup/stored-commits.ts';
import type { Commit } from '../../src/publish/commit-schema.ts';
import { commitKey } from '../../src/publish/lake-layout.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { tempDir } from '../support/temp-dir.ts';

const snapshot = { pack: 'snapshots/000000000001-ab.pack', bytes: 1, sha256: 'ab', fileBytes: 1 };

/** Commits 1 to 5, a second apart. Those with these sequences have a snapshot. */
function storeOf(withSnapshot: number[]) {
  const root = tempDir();
  for (const sequence of [1, 2, 3, 4, 5]) {
    const commit: Commit = {
      format: 2,
      nonce: '0'.repeat(32),
      workgroupId: 'home',
      sequence,
      createdAtMs: sequence * 1_000,
      ownerEpoch: '1',
      warehouseCreatedAtMs: 0,
      batchId: '1',
      rolledUpBatchId: '1',
      checkpoints: [],
      totals: { messages: 0, dailyEnergyWh: 0 },
      files: [],
      ...(withSnapshot.includes(sequence) && { snapshot }),
    };
    const path = join(root, commitKey(sequence));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(commit));
  }
  return createFolderStore(root);
}

test.each([
  ['the newest one', undefined, 4, 5],
  ['a commit with a snapshot itself', '4', 4, undefined],
  ['the one before a commit without a snapshot', '3', 2, 3],
  ['the newest one for a number that does not exist yet', '9', 4, 5],
  ['the commit of exactly this time', '1970-01-01T00:00:04Z', 4, undefined],
  ['the one before this time', '1970-01-01T00:00:03.999Z', 2, 3],
])('%s is restored', async (_, at, sequence, asked) => {
  const found = await findRestorable(storeOf([2, 4]), parseAt(at));
  expect([found.commit.sequence, found.asked]).toEqual([sequence, asked]);
});

test('without a snapshot up to the asked commit nothing is restored, and the error says which commits exist', async () => {
  await expect(findRestorable(storeOf([4]), parseAt('3'))).rejects.toMatchObject({
    code: 'NothingToRestore',
    message: expect.stringContaining(
      'its commits are 1 to 5, and none of them up to the one that you asked for',
    ),
  });
});
