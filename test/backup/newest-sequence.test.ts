import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newestSequence } from '../../src/backup/newest-sequence.ts';
import { analyticsKey, commitKey } from '../../src/publish/lake-layout.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A folder with empty commits, and a count of its lists. */
function folderWith(keys: Iterable<string>) {
  const root = tempDir();
  const add = (more: Iterable<string>) => {
    for (const key of more) {
      mkdirSync(dirname(join(root, key)), { recursive: true });
      writeFileSync(join(root, key), '');
    }
  };
  add(keys);
  const store = createFolderStore(root);
  let lists = 0;
  return {
    store: {
      ...store,
      list(...args: Parameters<typeof store.list>) {
        lists += 1;
        return store.list(...args);
      },
    },
    lists: () => lists,
    add,
  };
}

function* commitKeys(first: number, last: number): Generator<string> {
  for (let sequence = first; sequence <= last; sequence++) yield commitKey(sequence);
}

test('no commit, one commit, and a full page', { tags: ['slow'] }, async () => {
  expect(await newestSequence(folderWith([]).store)).toBeUndefined();
  expect(await newestSequence(folderWith([commitKey(7)]).store)).toBe(7);
  const { store, add } = folderWith([]);
  let last = 0;
  for (const count of [999, 1_000, 1_001, 2_000, 2_001]) {
    add(commitKeys(last + 1, count));
    last = count;
    expect(await newestSequence(store)).toBe(count);
  }
});

test('a week of commits, after its oldest keys were deleted, needs two lists with views and a few lists without views', {
  tags: ['slow'],
}, async () => {
  const [first, last] = [31_337, 41_500];
  const { store, lists, add } = folderWith(commitKeys(first, last));
  expect(await newestSequence(store)).toBe(last);
  // One list for the views, the others for the search. Lists from the oldest commit on would be eleven.
  const plain = lists();
  expect(plain).toBeLessThanOrEqual(9);
  add([0, 60, 120].map((before) => analyticsKey(last - 30 - before)));
  expect(await newestSequence(store)).toBe(last);
  expect(lists() - plain).toBe(2);
  expect(await newestSequence(store, { from: last })).toBe(last);
  expect(await newestSequence(store, { from: last + 1 })).toBeUndefined();
  expect(lists() - plain).toBe(4);
});

test('views without later commits do not hide the commits', async () => {
  const { store } = folderWith([commitKey(1), commitKey(2), analyticsKey(9)]);
  expect(await newestSequence(store)).toBe(2);
});

test('any commits, also with gaps as in a backup, have their newest found', {
  tags: ['slow'],
  timeout: 240_000,
}, async () => {
  const ranges = fc.array(fc.tuple(fc.integer({ min: 0, max: 4_000 }), fc.integer({ min: 1, max: 1_500 })), {
    minLength: 1,
    maxLength: 3,
  });
  await fc.assert(
    fc.asyncProperty(ranges, fc.integer({ min: 1, max: 3_000 }), async (chosen, from) => {
      const keys: string[] = [];
      let last = 0;
      for (const [gap, count] of chosen) {
        keys.push(...commitKeys(last + gap + 1, last + gap + count));
        last += gap + count;
      }
      const { store } = folderWith(keys);
      expect(await newestSequence(store, { from })).toBe(from <= last ? last : undefined);
    }),
    { numRuns: rounds(3, 30), endOnFailure: true },
  );
});
