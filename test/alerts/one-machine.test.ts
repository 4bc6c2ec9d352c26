import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openAlertBook } from '../../src/alerts/alert-book.ts';
import { createSendAlert } from '../../src/alerts/send-alert.ts';
import { startAlerts } from '../../src/alerts/start-alerts.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { SECOND_MS } from '../../src/lib/time.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { startReceiver } from './watch-fixture.ts';

const ids = ['first', 'second', 'third'] as const;

/**
 * The alerts of a worker with three workgroups on one disk. `ops` receives all of them, and `owner` only two.
 */
async function setUp() {
  const [ops, owner] = [await startReceiver(), await startReceiver()];
  const dir = tempDir();
  const clock = createTestClock();
  const channels = [
    { id: 'ops', webhook: { url: ops.url } },
    { id: 'owner', webhook: { url: owner.url }, workgroups: ['second', 'third'] },
  ];
  const config = configSchema.parse({ workgroups: ids.map((id) => ({ id })), alerts: { channels } });
  const disk = { freeBytes: 1, sizeBytes: 100, folder: '/data', machine: 'plant-1' };
  const owned = new Set<string>(ids);
  const rounds = new Map<string, number>();
  const start = (has: ReadonlySet<string> = owned, beside: ReadonlySet<string> = new Set()) => {
    const alerts = startAlerts({
      workgroups: createWorkgroups(config),
      send: createSendAlert(undefined),
      startTimer: clock.startTimer,
      clock,
      logger: silentLogger,
      hasBeside: (id) => beside.has(id),
      open: (id) => ({
        book: openAlertBook(createFolderStore(join(dir, id)), silentLogger),
        isOwner: () => has.has(id),
        async readFacts() {
          rounds.set(id, (rounds.get(id) ?? 0) + 1);
          return { nowMs: clock.now(), retentionMs: 1, nameOf: (device) => device, disk: { ...disk } };
        },
      }),
    });
    let stopping: Promise<void> | undefined;
    const stop = () => (stopping ??= alerts.stop());
    onTestFinished(stop);
    return stop;
  };
  /** Waits until each workgroup of this worker has looked `times` times. */
  async function look(times: number): Promise<void> {
    const before = new Map(rounds);
    await until('all have looked', async () => {
      await clock.advance(30 * SECOND_MS);
      return [...owned].every((id) => (rounds.get(id) ?? 0) >= (before.get(id) ?? 0) + times);
    });
  }
  return { ops, owner, disk, owned, start, look };
}

test('the disk of several workgroups is reported once to each channel, also over a restart, and its end once', {
  tags: ['slow'],
}, async () => {
  const { ops, owner, disk, owned, start, look } = await setUp();
  const stop = start();
  await look(12);
  await until('both channels know it', () => ops.received.length > 0 && owner.received.length > 0);
  await look(3);
  await stop();
  // After the restart another workgroup is opened first.
  owned.delete('first');
  const stopNext = start();
  await look(2);
  owned.add('first');
  await look(12);
  expect([ops.titles(), owner.titles()]).toEqual([['Disk nearly full'], ['Disk nearly full']]);
  expect([ops.received[0]!.json.workgroup, owner.received[0]!.json.workgroup]).toEqual(['first', 'second']);
  expect(ops.received[0]!.json.body).toBe(
    'less than 10 % of the disk of dataDir, /data on plant-1, is free; free some space or enlarge it, because the stream refuses messages before the disk is full',
  );
  disk.freeBytes = 50;
  await look(1);
  await until('both channels know the end', () => ops.received.length > 1 && owner.received.length > 1);
  await look(3);
  await stopNext();
  const both = ['Disk nearly full', 'over: Disk nearly full'];
  expect([ops.titles(), owner.titles()]).toEqual([both, both]);
});

test('the disk is reported with another workgroup if another worker has the first', async () => {
  const { ops, owned, start, look } = await setUp();
  owned.delete('first');
  const stop = start();
  await look(12);
  await until('it is reported', () => ops.received.length > 0);
  await look(3);
  await stop();
  expect(ops.received.map(({ json }) => json.workgroup)).toEqual(['second']);
});

test('the disk of two workers is reported once to each channel', async () => {
  const { ops, owner, start, look } = await setUp();
  const [one, other] = [new Set(['first']), new Set(['second', 'third'])];
  start(one, other);
  start(other, one);
  await look(12);
  await until('both channels know it', () => ops.received.length > 0 && owner.received.length > 0);
  await look(3);
  expect(ops.received.map(({ json }) => json.workgroup)).toEqual(['first']);
  expect(owner.received.map(({ json }) => json.workgroup)).toEqual(['second']);
});
