import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MINUTE_MS } from '../../src/lib/time.ts';
import { assignmentOf, warehousePath } from '../../src/pipeline/assignment.ts';
import { idleNoteOf } from '../../src/pipeline/idle-marker.ts';
import { createStatusBook } from '../../src/pipeline/workgroup-status.ts';
import { createHibernation } from '../../src/service/hibernation.ts';
import { createLocalIdleNotes } from '../../src/service/idle-note-store.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

/** A workgroup with everything of the stream in its warehouse, and nothing to do. */
function setUp(settings: Record<string, unknown> = {}) {
  const clock = createTestClock(Date.UTC(2026, 10, 20, 23, 50));
  const config = configSchema.parse({ dataDir: tempDir(), workgroups: [{ id: 'home' }], ...settings });
  const workgroups = createWorkgroups(config);
  const assignment = assignmentOf(config, config.workgroups[0]!);
  const head = { epoch: 'log-1', next: 5n, isEmpty: false };
  /** What the thread of the warehouse would answer. */
  const answers: Record<'importState' | 'backfillState' | 'position' | 'snapshot', unknown> = {
    importState: { kind: 'none' },
    backfillState: { kind: 'none' },
    position: { ask: { kind: 'offset', offset: head.next } },
    snapshot: { sequence: 1 },
  };
  const exporting = { now: false };
  /** What was asked of the stages and of the pipeline, without the questions about the state. */
  const stored: unknown[] = [];
  const status = createStatusBook({ dataDir: config.dataDir, clock, logger: silentLogger });
  const hibernation = createHibernation({
    config,
    workgroups,
    assignmentOf: () => assignment,
    pipeline: {
      async run(_: string, operation: string, given: unknown) {
        if (operation === 'snapshot' || operation === 'noteHibernation') stored.push([operation, given]);
        const answer = answers[operation as keyof typeof answers];
        if (answer instanceof Error) throw answer;
        return answer as never;
      },
    },
    stages: {
      async commit(_workgroupId, _signal, how) {
        stored.push(['commit', how]);
      },
    },
    status,
    news: { onAppended: () => undefined, headOf: async () => head, close: () => undefined },
    idleNotes: createLocalIdleNotes({ clock, logger: silentLogger }),
    isExporting: async () => exporting.now,
    clock,
    logger: silentLogger,
  });
  mkdirSync(dirname(warehousePath(assignment)), { recursive: true });
  writeFileSync(warehousePath(assignment), 'a warehouse');
  return { clock, config, workgroups, assignment, hibernation, status, answers, exporting, stored };
}

test('a day that begins between the last roll-up and the close of a workgroup makes it due', async () => {
  const { clock, hibernation, status } = setUp();
  /** It is rolled up, and closed a while later. */
  async function hibernate(afterMs: number) {
    await hibernation.beforeOpen('home');
    hibernation.noteRollUp('home');
    expect(await hibernation.mayHibernate('home')).toBe(true);
    await clock.advance(afterMs);
    await hibernation.onHibernated('home');
    return hibernation.assess('home');
  }
  expect(await hibernate(9 * MINUTE_MS)).toBe('idle');
  expect(await hibernate(2 * MINUTE_MS)).toBe('due');
  // It was opened for this.
  expect(await hibernate(2 * MINUTE_MS)).toBe('idle');
  await status.close();
});

test('a workgroup does not hibernate before it is rolled up, while it imports, backfills or exports, or is behind the stream', async () => {
  const { hibernation, answers, exporting, status } = setUp();
  const may = () => hibernation.mayHibernate('home');
  expect(await may(), 'not rolled up since it is open').toBe(false);
  hibernation.noteRollUp('home');
  expect(await may()).toBe(true);
  const others: Array<[keyof typeof answers, unknown]> = [
    ['importState', { kind: 'running' }],
    ['backfillState', { kind: 'running' }],
    ['position', { ask: { kind: 'offset', offset: 4n } }],
    ['position', { ask: { kind: 'start' } }],
  ];
  for (const [operation, answer] of others) {
    const before = answers[operation];
    answers[operation] = answer;
    expect(await may(), operation).toBe(false);
    answers[operation] = before;
  }
  exporting.now = true;
  expect(await may()).toBe(false);
  exporting.now = false;
  expect(await may()).toBe(true);
  await status.close();
});

test('a workgroup hibernates with a snapshot of everything, or if it never had anything to publish', async () => {
  const { hibernation, answers, status } = setUp();
  hibernation.noteRollUp('home');
  answers.snapshot = new TransientError('DiskFull', 'the disk is full');
  expect(await hibernation.mayHibernate('home')).toBe(false);
  answers.snapshot = new TransientError('NothingPublished', 'nothing is published yet');
  expect(await hibernation.mayHibernate('home')).toBe(true);
  await status.close();
});

test('the snapshot of a workgroup in a bucket is a complete commit, and its note says up to where', async () => {
  const folder = setUp();
  folder.hibernation.noteRollUp('home');
  expect(await folder.hibernation.mayHibernate('home')).toBe(true);
  expect(folder.stored).toEqual([['snapshot', undefined]]);
  const bucket = setUp({
    storage: {
      s3: { endpoint: 'http://127.0.0.1:9', bucket: 'energy', accessKeyId: 'a', secretAccessKey: 's' },
    },
  });
  const { clock, assignment, hibernation } = bucket;
  const computedAtMs = clock.now();
  hibernation.noteRollUp('home');
  await clock.advance(MINUTE_MS);
  expect(await hibernation.mayHibernate('home')).toBe(true);
  expect(bucket.stored).toEqual([
    ['commit', { isComplete: true }],
    ['noteHibernation', idleNoteOf(assignment, { epoch: 'log-1', next: 5n }, computedAtMs)],
  ]);
  await Promise.all([folder.status.close(), bucket.status.close()]);
});

test('a workgroup that is opened does not hibernate any more, and needs a roll-up before it does again', async () => {
  const { hibernation, status } = setUp();
  hibernation.noteRollUp('home');
  await hibernation.mayHibernate('home');
  await hibernation.onHibernated('home');
  expect(hibernation.statusOf('home')).toMatchObject({ isHibernated: true });
  await hibernation.beforeOpen('home');
  expect(hibernation.statusOf('home')).toBeUndefined();
  // It is closed because another workgroup needs the room, and opened again.
  hibernation.noteRollUp('home');
  await hibernation.beforeOpen('home');
  expect(await hibernation.mayHibernate('home')).toBe(false);
  await status.close();
});

const alerts = { channels: [{ id: 'me', webhook: { url: 'https://example.com/alert' } }] };

test('a workgroup with alerts does not hibernate, because alerts are judged only while it is open', async () => {
  const { hibernation, status } = setUp({ alerts });
  hibernation.noteRollUp('home');
  expect(await hibernation.mayHibernate('home')).toBe(false);
  await status.close();
});

test('a workgroup that gets an alert channel while it hibernates is behind', async () => {
  const { config, workgroups, hibernation, status } = setUp();
  hibernation.noteRollUp('home');
  expect(await hibernation.mayHibernate('home')).toBe(true);
  await hibernation.onHibernated('home');
  expect(await hibernation.assess('home')).toBe('idle');
  workgroups.replace(configSchema.parse({ ...config, alerts }));
  expect(await hibernation.assess('home')).toBe('behind');
  await status.close();
});
