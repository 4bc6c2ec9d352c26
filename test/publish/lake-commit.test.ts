import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Commit } from '../../src/publish/commit-schema.ts';
import { createCommit, listSequences, readCommit } from '../../src/publish/lake-commit.ts';
import { lakePaths } from '../../src/publish/lake-layout.ts';
import { otherDisk, otherDiskDir } from '../support/other-disk.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { WORKGROUP } from './publish-fixture.ts';

const commit = (nonce: string): Commit => ({
  format: 2,
  nonce: nonce.repeat(32),
  workgroupId: WORKGROUP,
  sequence: 7,
  createdAtMs: TEST_START_MS,
  ownerEpoch: '1',
  warehouseCreatedAtMs: TEST_START_MS,
  batchId: '0',
  rolledUpBatchId: '0',
  checkpoints: [],
  totals: { messages: 0, dailyEnergyWh: 0 },
  files: [],
});

test.each(otherDisk ? ['one disk', 'two disks'] : ['one disk'])(
  'of several publishers of a generation one succeeds, on %s',
  async (disks) => {
    const paths = lakePaths(tempDir(), WORKGROUP);
    mkdirSync(paths.staging, { recursive: true });
    // There is no hard link between two disks.
    if (disks === 'two disks') symlinkSync(otherDiskDir(), paths.commits);
    else mkdirSync(paths.commits);
    const commits = ['a', 'b', 'c', 'd'].map(commit);
    const outcomes = await Promise.allSettled(commits.map((one) => createCommit(paths, one)));
    const conflict = { status: 'rejected', reason: expect.objectContaining({ code: 'PublishConflict' }) };
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([conflict, conflict, conflict]);
    const winner = outcomes.findIndex(({ status }) => status === 'fulfilled');
    expect(await readCommit(paths, 7)).toEqual(commits[winner]);
    expect(await listSequences(paths)).toEqual([7]);
    expect(readdirSync(paths.staging)).toEqual([]);
  },
);
