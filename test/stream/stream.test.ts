import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { openLmdbLog, readLmdbHead } from '../../src/stream/log/lmdb-log.ts';
import { createMemoryLog } from '../../src/stream/log/memory-log.ts';
import type { StreamLog } from '../../src/stream/log/stream-log.ts';
import { createStream } from '../../src/stream/stream.ts';
import { telemetryBatch } from '../support/messages.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, settle, TEST_START_MS } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

function setUp(openLog?: (workgroupId: string) => StreamLog | Promise<StreamLog>) {
  const clock = createTestClock();
  const opened: string[] = [];
  const memoryLog = () =>
    createMemoryLog({ clock, retentionMs: 60_000, bytesMax: 1e6, logger: silentLogger });
  const stream = createStream({
    openLog: (workgroupId) => {
      opened.push(workgroupId);
      return openLog?.(workgroupId) ?? memoryLog();
    },
    retentionMs: 60_000,
    clock,
    startTimer: clock.startTimer,
    logger: silentLogger,
  });
  return { clock, stream, opened, memoryLog };
}

test('a log is opened once for each workgroup, at its first use', async () => {
  const { stream, opened } = setUp();
  const [a, b] = await Promise.all([stream.logOf('acme'), stream.logOf('acme')]);
  expect(a).toBe(b);
  expect(await stream.logOf('other')).not.toBe(a);
  expect(opened).toEqual(['acme', 'other']);
  await stream.close();
});

test('a log that cannot be opened gives 503, and the next request tries again', async () => {
  let attempts = 0;
  const { stream, memoryLog } = setUp(() => {
    if (++attempts === 1) throw new Error('locked');
    return memoryLog();
  });
  const callers = [stream.logOf('acme'), stream.logOf('acme'), stream.logOf('acme')];
  for (const outcome of await Promise.allSettled(callers))
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'StorageUnavailable' } });
  await stream.logOf('acme');
  expect(attempts).toBe(2);
  await stream.close();
});

test('old messages are trimmed regularly, also after a trim that failed', async () => {
  const { clock, stream } = setUp();
  const log = await stream.logOf('acme');
  const broken = await stream.logOf('broken');
  broken.trim = async () => {
    throw new Error('no space');
  };
  let trims = 0;
  const trim = log.trim;
  log.trim = async () => {
    trims++;
    await trim();
  };
  await log.append(telemetryBatch(3));
  await clock.advance(75_000);
  expect(trims).toBe(5);
  await stream.close();
  expect(clock.timersPending).toBe(0);
});

/** A stream with one log on the disk, which is closed when nobody has used it since the last look. */
function onDisk(path: string, clock = createTestClock()) {
  const settings = { clock, retentionMs: 60_000, logger: silentLogger };
  let opened = 0;
  const stream = createStream({
    ...settings,
    openLog: (_, retentionFrom) => {
      opened++;
      return openLmdbLog({ ...settings, retentionFrom, path, cacheBytesMax: 1e6 });
    },
    readHead: () => readLmdbHead(path),
    closeIdleAfterMs: 0,
    startTimer: clock.startTimer,
  });
  return {
    clock,
    stream,
    log: stream.lazyLogOf('acme'),
    opened: () => opened,
    /** Passes time in steps, so that each trim ends before the next one begins. */
    async pass(ms: number) {
      for (let passedMs = 0; passedMs < ms; passedMs += 15_000) {
        await clock.advance(15_000);
        await sleep(20);
      }
    },
  };
}

test('an idle log is closed, and its messages count until they are too old', async () => {
  const { stream, clock, log, opened } = onDisk(tempDir());
  await log.append(telemetryBatch(3));
  await log.trim();
  await clock.advance(15_000);
  await until('the idle log is closed', () => !log.isOpen);
  await clock.advance(44_000);
  expect(stream.counts()).toMatchObject([{ messagesAppended: 3, oldestMs: TEST_START_MS }]);
  expect(opened()).toBe(1);
  await clock.advance(2_000);
  expect(stream.counts()).toMatchObject([{ messagesAppended: 3, oldestMs: undefined }]);
  await stream.close();
});

/** The log is closed while it is idle. It is opened once more, to free its messages, and then never again. */
async function expectOneOpening({ log, pass, opened }: ReturnType<typeof onDisk>): Promise<void> {
  await pass(45_000);
  await until('the idle log is closed', () => !log.isOpen);
  expect([log.lastHead?.isEmpty, opened()]).toEqual([false, 1]);
  await pass(90_000);
  await until('the messages are freed', () => log.lastHead?.isEmpty === true);
  await pass(90_000);
  expect([log.isOpen, opened()]).toEqual([false, 2]);
}

test('an idle log is opened once to free its messages when they are too old, and not again', async () => {
  const at = onDisk(tempDir());
  await at.log.append(telemetryBatch(3));
  await expectOneOpening(at);
  await at.stream.close();
});

test('after a start the same holds, although nobody knows how old the messages are', async () => {
  const path = tempDir();
  const before = onDisk(path);
  await before.log.append(telemetryBatch(3));
  await before.stream.close();
  await before.clock.advance(3_600_000);
  const at = onDisk(path, before.clock);
  await at.log.open();
  await expectOneOpening(at);
  await at.stream.close();
});

test('closing ends held reads, finishes appends and refuses later requests', async () => {
  const { stream } = setUp();
  const log = await stream.logOf('acme');
  const request = {
    start: { kind: 'oldest' },
    limit: 10,
    bytesMax: 1e6,
    holdMs: 20_000,
    filter: {},
  } as const;
  const held = stream.poll(log, request, new AbortController().signal);
  await settle();
  const appended = log.append(telemetryBatch(1));
  await stream.close();
  await stream.close();
  await expect(appended).resolves.toMatchObject({ count: 1 });
  expect((await held).count).toBeLessThanOrEqual(1);
  await expect(stream.logOf('acme')).rejects.toMatchObject({ code: 'Draining' });
  expect(stream.draining.aborted).toBe(true);
});
