import { expect, test } from 'vitest';
import type { Offset } from '../../../src/contract/offset.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import type { Chunk } from '../../../src/stream/log/chunk.ts';
import type { ChunkStore } from '../../../src/stream/log/chunk-store.ts';
import { createSequencedLog } from '../../../src/stream/log/sequenced-log.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { createTestClock, settle } from '../../support/test-clock.ts';

/** A store. Its writes end when the test says so, and it shows a chunk before its sync ends. */
function controlledStore() {
  const chunks: Chunk[] = [];
  const syncs: Array<PromiseWithResolvers<void>> = [];
  const find = (offset: Offset) => chunks.find((chunk) => chunk.lastOffset >= offset);
  const store: ChunkStore = {
    epoch: 'epoch',
    tail: () => ({
      lastOffset: chunks.at(-1)?.lastOffset,
      trimmedThrough: undefined,
      nextOrdinal: chunks.reduce((sum, chunk) => sum + chunk.count, 0),
    }),
    append(chunk) {
      chunks.push(chunk);
      const sync = Promise.withResolvers<void>();
      syncs.push(sync);
      return sync.promise;
    },
    chunkFrom: find,
    spanFrom: find,
    trimBefore: async () => undefined,
    close: async () => undefined,
  };
  return { store, chunks, syncs };
}

function setUp() {
  const clock = createTestClock();
  const controlled = controlledStore();
  const log = createSequencedLog(controlled.store, {
    clock,
    retentionMs: 3_600_000,
    cacheBytesMax: 1,
    logger: silentLogger,
  });
  const readAll = () => log.read({ from: 'oldest', limit: 100, bytesMax: 1e6, oneAtLeast: true });
  return { ...controlled, log, readAll };
}

test('a chunk that the store shows before it is durable is not served, counted or waited for', async () => {
  const { log, readAll, syncs } = setUp();
  let acknowledged = false;
  const appended = log.append(telemetryBatch(3)).then(() => {
    acknowledged = true;
  });
  let woken = false;
  const waited = log.waitFor(0n, new AbortController().signal).then(() => {
    woken = true;
  });
  await settle();
  expect(await readAll()).toMatchObject({ kind: 'batch', count: 0, upToDate: true });
  expect(await log.bounds()).toMatchObject({ earliest: 0n, next: 0n });
  expect(await log.countFrom(0n)).toBe(0);
  expect([acknowledged, woken]).toEqual([false, false]);
  syncs[0]!.resolve();
  await Promise.all([appended, waited]);
  expect(await readAll()).toMatchObject({ count: 3, upToDate: true });
});

test('appends that arrive during a sync share the next one, in order', async () => {
  const { log, chunks, syncs } = setUp();
  const first = log.append(telemetryBatch(1));
  const others = [2, 3, 4].map((count) => log.append(telemetryBatch(count)));
  await settle();
  expect(chunks.map((chunk) => chunk.count)).toEqual([1]);
  syncs[0]!.resolve();
  await first;
  await settle();
  expect(chunks.map((chunk) => chunk.count)).toEqual([1, 9]);
  syncs[1]!.resolve();
  const appended = await Promise.all(others);
  const start = chunks[1]!.firstOffset;
  expect(appended.map(({ firstOffset, count }) => [firstOffset - start, count])).toEqual([
    [0n, 2],
    [2n, 3],
    [5n, 4],
  ]);
});

test('offsets of a failed write are not used again, and none of its messages is served', async () => {
  const { log, chunks, readAll, syncs } = setUp();
  const failing = log.append(telemetryBatch(3));
  await settle();
  const [lost] = chunks.splice(0);
  syncs[0]!.reject(new Error('disk fault'));
  await expect(failing).rejects.toMatchObject({ code: 'StorageUnavailable', retryAfterSeconds: 1 });
  expect(await readAll()).toMatchObject({ count: 0, upToDate: true });
  const next = log.append(telemetryBatch(2));
  await settle();
  syncs[1]!.resolve();
  expect((await next).firstOffset).toBe(lost!.lastOffset + 1n);
  expect(await readAll()).toMatchObject({ count: 2 });
});

test('a write that failed after its messages were stored is served once', async () => {
  const { log, readAll, syncs } = setUp();
  const before = log.append(telemetryBatch(1));
  await settle();
  syncs[0]!.resolve();
  await before;
  const failing = log.append(telemetryBatch(3));
  await settle();
  syncs[1]!.reject(new Error('fault after the commit'));
  await expect(failing).rejects.toMatchObject({ code: 'StorageUnavailable' });
  expect(await readAll()).toMatchObject({ count: 4, upToDate: true });
  const after = log.append(telemetryBatch(2));
  await settle();
  syncs[2]!.resolve();
  await after;
  expect(await readAll()).toMatchObject({ count: 6, upToDate: true });
  expect(await log.countFrom(0n)).toBe(6);
});

test('appends beyond the queue limit are refused at once, and accepted when the disk has caught up', async () => {
  const { log, syncs } = setUp();
  const large = { ...telemetryBatch(1), starts: Uint32Array.of(0, 100 * 1024 * 1024) };
  const first = log.append(telemetryBatch(1));
  await settle();
  const waiting = log.append(large);
  waiting.catch(() => undefined);
  await expect(log.append(large)).rejects.toMatchObject({ code: 'StorageUnavailable' });
  await expect(Promise.race([log.append(telemetryBatch(1)), settle().then(() => 'waits')])).resolves.toBe(
    'waits',
  );
  syncs[0]!.resolve();
  await first;
});

test('a stored announcement blocks the next one of the same position, and an announcement that was not stored does not', async () => {
  const { log, chunks, syncs } = setUp();
  const failed = expect(log.announce(telemetryBatch(1), 0n)).rejects.toMatchObject({
    code: 'StorageUnavailable',
  });
  await settle();
  chunks.pop();
  syncs[0]!.reject(new Error('ENOSPC'));
  await failed;
  const again = log.announce(telemetryBatch(1), 0n);
  await settle();
  syncs[1]!.resolve();
  const { lastOffset } = (await again) as { lastOffset: Offset };
  const late = expect(log.announce(telemetryBatch(1), lastOffset + 1n)).rejects.toMatchObject({
    code: 'StorageUnavailable',
  });
  await settle();
  syncs[2]!.reject(new Error('EIO'));
  await late;
  expect(await log.announce(telemetryBatch(1), lastOffset + 1n)).toBe('outdated');
});
