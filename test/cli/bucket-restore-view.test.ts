import { expect, test } from 'vitest';
import { describeBucketRestore } from '../../src/cli/backup/bucket-restore-view.ts';

const createdAtMs = Date.UTC(2026, 4, 1, 12);

test('each workgroup has its commit, the one before can be brought back, and a missing one is named', () => {
  const text = describeBucketRestore(
    {
      workgroups: [
        { workgroup: 'acme', commit: 1_235, from: 1_200, createdAtMs, isNew: true, replaced: 1_234 },
        { workgroup: 'beta', commit: 7, from: 7, createdAtMs, isNew: false },
      ],
      missing: ['gone'],
      state: undefined,
    },
    100,
  );
  expect(text.split('\n')).toEqual([
    'workgroup  restored commit  data until                        new commit',
    'acme                 1,200  2026-05-01 12:00:00Z                   1,235',
    'beta                     7  2026-05-01 12:00:00Z  none, it is the newest',
    'acme: commit 1234 was the newest one before. "wattline restore --at 1234 -w acme" brings it back within a day.',
    'gone: there is no such commit of it.',
    '',
    'A running service stops with the data that it has, and continues from the restored data and the stream.',
    '',
  ]);
});

test('what came from a backup beside the commits is counted', () => {
  const state = { runs: { copied: 1, kept: 2 }, files: 3, filesKept: 1 };
  const text = describeBucketRestore({ workgroups: [], missing: [], state }, 100);
  expect(text).toContain(
    'Restored into the bucket: 1 run of exports. Left as they were: 2 existing runs.\nRestored on this machine: 3 files of audit and access. Left as they were: 1 existing file.\n',
  );
});
