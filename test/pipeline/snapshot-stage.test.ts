// @module-tag slow
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { mappingSchema } from '../../src/import/import-mapping.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { lakeFolder } from '../../src/pipeline/assignment.ts';
import { closeAssignment, openAssignment } from '../../src/pipeline/open-assignment.ts';
import type { OpenShard } from '../../src/pipeline/open-shard.ts';
import { operations } from '../../src/pipeline/operations.ts';
import { takeSnapshotNow } from '../../src/pipeline/snapshot-stage.ts';
import { isFormatOne } from '../../src/publish/commit-schema.ts';
import { readHead } from '../../src/publish/lake-commit.ts';
import { lakePaths } from '../../src/publish/lake-layout.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { stageUpload } from '../../src/upload/stage-upload.ts';
import { restored } from '../snapshot/snapshot-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { answerOf, assignmentOf } from './answers.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

/** An open workgroup with 10 messages. `during` runs while a snapshot reads the file, once. */
async function openWorkgroup() {
  const assignment = assignmentOf(tempDir());
  const open = await openAssignment(assignment, systemClock, silentLogger);
  onTestFinished(() => closeAssignment(open));
  await operations.land(open, { ask: { kind: 'oldest' }, answer: answerOf(0, 10) });
  let during: (() => Promise<unknown>) | undefined;
  const slow: OpenShard = {
    ...open,
    shard: {
      ...open.shard,
      readFrozen: (work) =>
        open.shard.readFrozen((file) =>
          work({
            ...file,
            async read(target, position) {
              const now = during;
              during = undefined;
              await now?.();
              await file.read(target, position);
            },
          }),
        ),
    },
  };
  return {
    open: slow,
    meanwhile(work: () => Promise<unknown>) {
      during = work;
    },
    /** The rows of a table in the newest snapshot. */
    async restoredCount(table: string): Promise<number> {
      const { root, ...paths } = lakePaths(lakeFolder(assignment), 'acme');
      const head = await readHead({ root, ...paths });
      if (!head || isFormatOne(head) || !head.snapshot) throw new Error('the head has no snapshot');
      const shard = await openTestShard({ path: await restored(createFolderStore(root), head.snapshot) });
      const [row] = await rowsOf(shard, `SELECT count(*)::INTEGER AS n FROM ${table}`);
      await shard.close();
      return row!.n as number;
    },
  };
}

async function upload(open: OpenShard): Promise<void> {
  const row = { line: 2, meter: 'PV', start: '2026-01-01', end: '2026-01-31', energyWh: 5, scenario: 'P50' };
  const { path } = stageUpload(open.assignment.dataDir, { kind: 'budget', rows: [row] }, systemClock);
  await operations.upload(open, { path, name: 'budget.csv', actor: 'test', again: false });
}

function importOf(open: OpenShard, text: string | undefined) {
  const path = join(open.assignment.dataDir, 'import.csv');
  if (text !== undefined) writeFileSync(path, text);
  const mapping = mappingSchema.parse({
    time: { column: 'time' },
    device: { id: DEVICE },
    fields: { total: 'total' },
  });
  return operations.importStart(open, { path, table: 'solar', mapping });
}

test.runIf(isSoak)('an upload while a snapshot is taken asks for another one, which has it', async () => {
  const { open, meanwhile, restoredCount } = await openWorkgroup();
  meanwhile(() => upload(open));
  await operations.snapshot(open, undefined);
  expect(await restoredCount('upload')).toBe(0);
  expect(open.snapshots.isWanted).toBe(true);
  await operations.maintain(open, { dryRun: false });
  expect(await restoredCount('upload')).toBe(1);
  expect(open.snapshots.isWanted).toBe(false);
  const sequence = (await operations.snapshot(open, undefined)).sequence;
  await operations.maintain(open, { dryRun: false });
  expect((await operations.snapshot(open, undefined)).sequence).toBe(sequence);
});

test('an upload is in a snapshot although the running snapshot failed', async () => {
  const { open, meanwhile, restoredCount } = await openWorkgroup();
  await upload(open);
  meanwhile(() => Promise.reject(new Error('the disk is full')));
  await expect(operations.snapshot(open, undefined)).rejects.toThrow('the disk is full');
  expect(open.snapshots.isWanted).toBe(true);
  await operations.maintain(open, { dryRun: false });
  expect(await restoredCount('upload')).toBe(1);
});

test.runIf(isSoak)(
  'an import that runs while a snapshot begins asks for another one, even if it ends before the snapshot',
  async () => {
    const { open, meanwhile, restoredCount } = await openWorkgroup();
    const ended = () =>
      until(
        'the import has ended',
        async () => (await operations.importState(open, undefined)).kind === 'ended',
      );
    const lines = Array.from({ length: 300 }, (_, at) => {
      const time = new Date(Date.UTC(2024, 5, 1) + at * 900_000).toISOString();
      return `${time},${at}`;
    });
    await operations.publish(open, undefined);
    await importOf(open, ['time,total', ...lines, ''].join('\n'));
    meanwhile(ended);
    await takeSnapshotNow(open);
    expect(open.snapshots.isWanted).toBe(true);
    await operations.maintain(open, { dryRun: false });
    expect(await restoredCount('message')).toBe(310);
    expect(open.snapshots.isWanted).toBe(false);
  },
);

test('snapshots continue after an import that failed', async () => {
  const { open, restoredCount } = await openWorkgroup();
  await importOf(open, undefined);
  await until('the import has failed', () =>
    operations.importState(open, undefined).then(
      () => false,
      () => true,
    ),
  );
  await operations.snapshot(open, undefined);
  expect(await restoredCount('message')).toBe(10);
});
