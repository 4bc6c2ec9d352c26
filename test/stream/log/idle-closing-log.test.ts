import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemClock } from '../../../src/lib/time.ts';
import { createIdleClosingLog } from '../../../src/stream/log/idle-closing-log.ts';
import { openLmdbLog } from '../../../src/stream/log/lmdb-log.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

/** A log on the disk that counts how often it was opened, and announces appends. */
function setUp(beforeOpening: () => Promise<void> = async () => undefined) {
  const path = tempDir();
  const counts = { openings: 0, appended: 0 };
  const log = createIdleClosingLog({
    async open() {
      counts.openings++;
      await beforeOpening();
      return openLmdbLog({
        clock: systemClock,
        retentionMs: 3_600_000,
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
  return { log, counts };
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
  expect([log.isOpen, log.lastHead, counts.openings, log.appends]).toEqual([true, undefined, 2, 1]);
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

test('a log that was used lately, or is in use, stays open', async () => {
  const { log } = setUp();
  await log.append(telemetryBatch(1));
  await log.closeIfIdle(60_000);
  expect(log.isOpen).toBe(true);

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

test('trimming is no use, so that a log that is trimmed regularly is closed', async () => {
  const { log } = setUp();
  await log.append(telemetryBatch(1));
  const usedMs = performance.now();
  await until('it was idle for a while', () => performance.now() - usedMs > 20);
  await log.trim();
  await log.closeIfIdle(20);
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
  await expect(log.append(telemetryBatch(1))).rejects.toThrow();
  await log.closeIfIdle(0);
  await until('it has not been opened again', () => counts.openings === 1);
});
