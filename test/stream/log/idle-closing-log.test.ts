import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/lib/logger.ts';
import { type Clock, SECOND_MS, systemClock } from '../../../src/lib/time.ts';
import { createIdleClosingLog } from '../../../src/stream/log/idle-closing-log.ts';
import { openLmdbLog } from '../../../src/stream/log/lmdb-log.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { createTestClock } from '../../support/test-clock.ts';

const RETENTION_MS = 3_600_000;

/** A log on the disk that counts how often it was opened, and announces appends. */
function setUp(
  beforeOpening: () => Promise<void> = async () => undefined,
  { clock = systemClock, fileBytesReadMax }: { clock?: Clock; fileBytesReadMax?: number } = {},
) {
  const path = tempDir();
  const counts = { openings: 0, appended: 0 };
  const log = createIdleClosingLog({
    clock,
    ...(fileBytesReadMax !== undefined && { fileBytesReadMax }),
    async open() {
      counts.openings++;
      await beforeOpening();
      return openLmdbLog({
        clock,
        retentionMs: RETENTION_MS,
        cacheBytesMax: 1e6,
        logger: silentLogger,
        path,
      });
    },
    onAppended: () => {
      counts.appended++;
    },
  });
  onTestFinished(() => log.close());
  return { log, counts, path };
}

/** The part of the log's file that the system counts as memory of this process (kB). */
function residentKilobytes(path: string): number {
  const file = join(path, 'data.mdb');
  const mappings = readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const resident = mappings
    .filter((mapping) => mapping.split('\n', 1)[0]!.endsWith(file))
    .map((mapping) => Number(/^Rss:\s+(\d+) kB/m.exec(mapping)![1]));
  return resident.reduce((sum, one) => sum + one, 0);
}

const read = { from: 0n, limit: 100, bytesMax: 1e6, oneAtLeast: true };

test('the log is opened with its first use, closed when it is idle, and opened again with all messages', async () => {
  const { log, counts } = setUp();
  expect([log.isOpen, log.lastHead, counts.openings]).toEqual([false, undefined, 0]);
  const { lastOffset } = await log.append(telemetryBatch(3));
  expect([log.isOpen, log.lastHead, counts]).toEqual([true, undefined, { openings: 1, appended: 1 }]);
  const { epoch } = await log.bounds();

  await log.closeIfIdle(0);
  expect(log.isOpen).toBe(false);
  expect(log.lastHead).toEqual({ epoch, next: lastOffset + 1n, isEmpty: false });
  expect(await log.countFrom(0n)).toBe(3);
  expect(await log.read(read)).toMatchObject({ kind: 'batch', count: 3 });
  expect((await log.bounds()).epoch).toBe(epoch);
  expect([log.isOpen, log.lastHead, counts.openings]).toEqual([true, undefined, 2]);
});

test('appended messages are counted, and a trim notes the oldest one', async () => {
  const { log } = setUp();
  expect([log.messagesAppended, log.oldest]).toEqual([0, undefined]);
  const { firstOffset } = await log.append(telemetryBatch(3));
  await log.announce(telemetryBatch(1), firstOffset);
  await log.trim();
  expect([log.messagesAppended, log.oldest]).toEqual([3, firstOffset]);
  await log.closeIfIdle(0);
  // Known without opening the log again.
  expect([log.isOpen, log.oldest]).toEqual([false, firstOffset]);
});

test('the end of a log without messages says that it is empty', async () => {
  const { log } = setUp();
  await log.open();
  await log.closeIfIdle(0);
  expect(log.lastHead).toMatchObject({ isEmpty: true });
});

test('a log is closed once nobody has used it for the idle time', async () => {
  const clock = createTestClock();
  const { log } = setUp(undefined, { clock });
  await log.append(telemetryBatch(1));
  await clock.advance(10 * SECOND_MS);
  await log.bounds();
  await clock.advance(20 * SECOND_MS - 1);
  await log.closeIfIdle(20 * SECOND_MS);
  expect(log.isOpen).toBe(true);
  // Setting the clock of the machine is not time that passes.
  clock.set(clock.now() + RETENTION_MS / 2);
  await log.closeIfIdle(20 * SECOND_MS);
  expect(log.isOpen).toBe(true);
  await clock.advance(1);
  await log.closeIfIdle(20 * SECOND_MS);
  expect(log.isOpen).toBe(false);
});

test('a log that is in use stays open', async () => {
  const { log } = setUp();
  await log.append(telemetryBatch(1));
  const { next } = await log.bounds();
  const waiting = new AbortController();
  const waited = log.waitFor(next, waiting.signal);
  await log.closeIfIdle(0);
  expect(log.isOpen).toBe(true);
  waiting.abort();
  await waited;
  await log.closeIfIdle(0);
  expect(log.isOpen).toBe(false);
});

test('the idle time begins at the end of a use', async () => {
  const clock = createTestClock();
  const { log } = setUp(undefined, { clock });
  await log.open();
  const { next } = await log.bounds();
  const waiting = new AbortController();
  const waited = log.waitFor(next, waiting.signal);
  await clock.advance(30 * SECOND_MS);
  waiting.abort();
  await waited;
  await log.closeIfIdle(20 * SECOND_MS);
  expect(log.isOpen).toBe(true);
});

test('trimming is no use, so that a log that is trimmed regularly is closed', async () => {
  const clock = createTestClock();
  const { log } = setUp(undefined, { clock });
  await log.append(telemetryBatch(1));
  await clock.advance(20 * SECOND_MS);
  await log.trim();
  await log.closeIfIdle(20 * SECOND_MS);
  expect(log.isOpen).toBe(false);
});

test('concurrent callers share one opening, and a failed opening is tried again with the next use', async () => {
  let fails = true;
  const { log, counts } = setUp(async () => {
    if (fails) throw new Error('the disk is away');
  });
  const failed = await Promise.allSettled([log.bounds(), log.bounds(), log.append(telemetryBatch(1))]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect([counts.openings, counts.appended, log.isOpen]).toEqual([1, 0, false]);
  // The caller of waitFor reads again and gets the error there.
  await log.waitFor(0n, new AbortController().signal);

  fails = false;
  await Promise.all([log.bounds(), log.append(telemetryBatch(1)), log.countFrom(0n)]);
  expect([counts.openings, counts.appended]).toEqual([3, 1]);
});

test('a use while the log is being closed waits, and opens it again', async () => {
  const { log, counts } = setUp();
  await log.append(telemetryBatch(2));
  const closing = log.closeIfIdle(0);
  const counted = log.countFrom(0n);
  await closing;
  expect(await counted).toBe(2);
  expect(counts.openings).toBe(2);
});

test('a closed log refuses its callers, and is not opened again', async () => {
  const { log, counts } = setUp();
  await log.append(telemetryBatch(1));
  await log.close();
  await log.close();
  const refused = () => expect(log.append(telemetryBatch(1))).rejects.toThrow('the log is closed');
  await refused();
  await log.closeIfIdle(0);
  await refused();
  expect(counts.openings).toBe(1);
});

test('a log that is closed while it is not open is not opened any more', async () => {
  const unused = setUp();
  await unused.log.close();
  const idle = setUp();
  await idle.log.append(telemetryBatch(1));
  await idle.log.closeIfIdle(0);
  await idle.log.close();
  const overtaken = setUp();
  await overtaken.log.append(telemetryBatch(1));
  const closing = overtaken.log.closeIfIdle(0);
  // It waits until the idle log is closed, and would open it again.
  const waiting = overtaken.log.countFrom(0n);
  await Promise.all([closing, overtaken.log.close(), expect(waiting).rejects.toThrow('the log is closed')]);

  for (const { log } of [unused, idle, overtaken]) {
    await expect(log.append(telemetryBatch(1))).rejects.toThrow('the log is closed');
    await expect(log.bounds()).rejects.toThrow('the log is closed');
    await log.waitFor(0n, new AbortController().signal);
    expect(log.isOpen).toBe(false);
  }
  expect([unused, idle, overtaken].map(({ counts }) => counts.openings)).toEqual([0, 1, 1]);
});

test.runIf(process.platform === 'linux')(
  'what a trim has read of the file is memory of the process only until the log is opened again',
  async () => {
    for (const fileBytesReadMax of [Number.POSITIVE_INFINITY, undefined]) {
      const clock = createTestClock();
      const { log, counts, path } = setUp(undefined, {
        clock,
        ...(fileBytesReadMax !== undefined && { fileBytesReadMax }),
      });
      for (let part = 0; part < 100; part++) await log.append(telemetryBatch(400));
      await clock.advance(RETENTION_MS + 1);
      const { lastOffset } = await log.append(telemetryBatch(3));
      await log.trim();
      expect(await log.read({ ...read, from: lastOffset })).toMatchObject({ kind: 'batch', count: 1 });
      if (fileBytesReadMax === undefined) {
        expect(counts.openings).toBe(2);
        expect(residentKilobytes(path)).toBeLessThan(1_000);
      } else {
        expect(counts.openings).toBe(1);
        expect(residentKilobytes(path)).toBeGreaterThan(5_000);
      }
      await log.close();
    }
  },
);

test('a log that is opened again after a trim loses no message, and wakes who waits', async () => {
  const clock = createTestClock();
  const { log, counts } = setUp(undefined, { clock, fileBytesReadMax: 1 });
  const signal = new AbortController().signal;
  const appended: Array<Promise<{ count: number }>> = [];
  for (let round = 1; round <= 20; round++) {
    const { lastOffset } = await log.append(telemetryBatch(3));
    await clock.advance(RETENTION_MS + 1);
    const { next } = await log.bounds();
    const waited = log.waitFor(next, signal);
    for (let part = 0; part < 3; part++) appended.push(log.append(telemetryBatch(2)));
    const trimmed = log.trim();
    for (let part = 0; part < 3; part++) appended.push(log.append(telemetryBatch(2)));
    await Promise.all([trimmed, waited, ...appended]);
    expect(await log.countFrom(0n)).toBe(12);
    expect((await log.bounds()).earliest).toBeGreaterThan(lastOffset);
    expect(counts.openings).toBeGreaterThan(round);
  }
  expect(log.messagesAppended).toBe(20 * 15);

  // Nothing new comes, so only the closing of the log ends this wait.
  await log.trim();
  const { next } = await log.bounds();
  await clock.advance(RETENTION_MS + 1);
  const waited = log.waitFor(next, signal);
  await log.trim();
  await waited;
});

test('an append at any moment of such a closing is stored', async () => {
  const { log, counts } = setUp(undefined, { fileBytesReadMax: 1 });
  await log.append(telemetryBatch(1));
  await log.closeIfIdle(0);
  expect(await log.read(read)).toMatchObject({ count: 1 });
  const appended: Array<Promise<unknown>> = [];
  const trimmed = log.trim();
  for (let moment = 0; moment < 50; moment++) {
    appended.push(log.append(telemetryBatch(1)));
    await Promise.resolve();
  }
  await Promise.all([trimmed, ...appended]);
  expect(counts.openings).toBe(3);
  expect(await log.countFrom(0n)).toBe(51);
});
