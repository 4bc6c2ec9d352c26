import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { sha256Hex } from '../../src/lib/durable-files.ts';
import { createForwardingLogger } from '../../src/lib/logger.ts';
import { INCOMPLETE_FILE, isLakeComplete, missingFiles } from '../../src/publish/is-lake-complete.ts';
import { fileKey, lakePaths } from '../../src/publish/lake-layout.ts';
import { startLakeFill } from '../../src/replica/start-lake-fill.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { commitOf } from './plain-commit.ts';

test('files that are gone from the bucket do not keep the others from being copied, and are logged once', async () => {
  const folder = createFolderStore(join(tempDir(), 'store'));
  // Answers come in another order with each attempt.
  const store: ObjectStore = {
    ...folder,
    async download(key, ...rest) {
      if (key === fileKey(files[attempts % 2]!)) await setTimeout(5);
      return folder.download(key, ...rest);
    },
  };
  const content = Buffer.from('x');
  const files = [1, 2, 3, 4].flatMap((sequence) =>
    commitOf(sequence, sequence).files.map((file) => ({ ...file, sha256: sha256Hex(content) })),
  );
  for (const file of files.slice(2)) await store.put(fileKey(file), { bytes: content });
  const paths = lakePaths(tempDir(), 'acme');
  mkdirSync(paths.root, { recursive: true });
  writeFileSync(join(paths.root, INCOMPLETE_FILE), '');
  let attempts = 0;
  const events: string[] = [];
  const fill = startLakeFill({
    storeNow: () => store,
    workgroupId: 'acme',
    paths,
    filesNow: async () => {
      attempts += 1;
      return files;
    },
    pauseMs: 1,
    logger: createForwardingLogger((line) => void events.push(JSON.parse(line).msg)),
  });
  onTestFinished(() => fill.stop());
  await until('it was tried again', () => attempts > 3);
  expect(missingFiles(paths, files)).toEqual(files.slice(0, 2));
  expect(fill.state()).toMatchObject({ missingFiles: 2, error: expect.stringContaining('does not exist') });
  expect(isLakeComplete(paths)).toBe(false);
  expect(events).toEqual(['lake.not-filled']);
  for (const file of files.slice(0, 2)) await store.put(fileKey(file), { bytes: content });
  await until('the lake is complete', () => fill.state() === undefined);
  expect(isLakeComplete(paths)).toBe(true);
});
