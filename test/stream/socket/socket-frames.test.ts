import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import type { ReadFilter, StreamLog } from '../../../src/stream/log/stream-log.ts';
import { createFrameSource, type FrameOutcome } from '../../../src/stream/socket/socket-frames.ts';
import { decodeParts, deviceId, telemetryBatch } from '../../support/messages.ts';
import { createTestClock } from '../../support/test-clock.ts';

const RETENTION_MS = 60_000;

function setUp() {
  const clock = createTestClock();
  const log = createMemoryLog({ clock, retentionMs: RETENTION_MS, bytesMax: 1e8, logger: silentLogger });
  let reads = 0;
  const counted: StreamLog = {
    ...log,
    read: (request) => {
      reads++;
      return log.read(request);
    },
  };
  const frames = createFrameSource(counted, { clock, retentionMs: RETENTION_MS });
  return { clock, log, frames, reads: () => reads };
}

function idsOf(frame: FrameOutcome): number[] {
  if (frame.kind !== 'batch') throw new Error(frame.kind);
  return decodeParts([frame.messages]).map((message) => (message as { msg_id?: number }).msg_id ?? -1);
}

describe('frames of a log', () => {
  test('are read once for all subscriptions with one position and equal filters', async () => {
    const { log, frames, reads } = setUp();
    const { firstOffset: from } = await log.append(telemetryBatch(10));
    const readAll = (filter: () => ReadFilter, limit = 1_000) =>
      Promise.all([1, 2, 3].map(() => frames.read({ from, limit, filter: filter() })));
    await readAll(() => ({}));
    await readAll(() => ({}));
    expect(reads()).toBe(1);
    await readAll(() => ({ devices: new Set([deviceId(2), deviceId(1)]) }));
    await readAll(() => ({ devices: new Set([deviceId(1), deviceId(2)]) }));
    expect(reads()).toBe(2);
    await readAll(() => ({ devices: new Set([deviceId(1)]) }));
    await readAll(() => ({ table: 'solar' }));
    await readAll(() => ({ exceptTable: 'solar' }));
    await readAll(() => ({}), 5);
    expect(reads()).toBe(6);
  });

  test('are never older than an append that a reader waited for, and report that there is more', async () => {
    const { log, frames } = setUp();
    const { next } = await log.bounds();
    const read = (from: bigint) => frames.read({ from, limit: 1_000, filter: {} });
    expect(idsOf(await read(next))).toEqual([]);
    const { firstOffset: from } = await log.append(telemetryBatch(2));
    expect(idsOf(await read(next))).toEqual([0, 1]);
    expect(await read(from)).toMatchObject({ upToDate: true });
    await log.append(telemetryBatch(2, { first: 2 }));
    await read(from + 2n);
    expect(await read(from)).toMatchObject({ count: 2, upToDate: false });
  });

  test('are not used any more once a message in them is too old', async () => {
    const { clock, log, frames } = setUp();
    const { firstOffset: from } = await log.append(telemetryBatch(2));
    const read = () => frames.read({ from, limit: 1_000, filter: {} });
    expect(idsOf(await read())).toEqual([0, 1]);
    await clock.advance(RETENTION_MS);
    expect(idsOf(await read())).toEqual([0, 1]);
    await clock.advance(1);
    expect(await read()).toMatchObject({ kind: 'expired' });
  });

  test('are read again after a fault', async () => {
    const { log, clock } = setUp();
    await log.append(telemetryBatch(1));
    let faults = 1;
    const faulty: StreamLog = {
      ...log,
      read: async (request) => {
        if (faults-- > 0) throw new Error('gone for a moment');
        return log.read(request);
      },
    };
    const frames = createFrameSource(faulty, { clock, retentionMs: RETENTION_MS });
    const { earliest: from } = await log.bounds();
    const read = () => frames.read({ from, limit: 1_000, filter: {} });
    const [first, second] = await Promise.allSettled([read(), read()]);
    expect([first.status, second.status]).toEqual(['rejected', 'rejected']);
    expect(idsOf(await read())).toEqual([0]);
  });

  test('give every reader the whole log, whatever other readers read in between', async () => {
    const step = fc.oneof(
      { weight: 1, arbitrary: fc.record({ append: fc.integer({ min: 1, max: 30 }), device: fc.nat(2) }) },
      { weight: 4, arbitrary: fc.record({ reader: fc.nat(5) }) },
      { weight: 1, arbitrary: fc.record({ advanceMs: fc.nat(200) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const { clock, log, frames } = setUp();
        const { next } = await log.bounds();
        const readers = [0, 1, 2, 3, 4, 5].map((number) => ({
          position: next,
          limit: number < 3 ? 7 : 1_000,
          filter: number % 3 === 2 ? { devices: new Set([deviceId(1)]) } : {},
          ids: [] as number[],
        }));
        const stored: Array<{ id: number; device: number }> = [];
        const readOn = async (reader: (typeof readers)[number]) => {
          const { position: from, limit, filter } = reader;
          const frame = await frames.read({ from, limit, filter });
          reader.ids.push(...idsOf(frame));
          if (frame.kind === 'batch') reader.position = frame.nextOffset;
        };
        for (const each of steps) {
          if ('reader' in each) await readOn(readers[each.reader]!);
          else if ('advanceMs' in each) await clock.advance(each.advanceMs);
          else {
            const first = stored.length;
            await log.append(telemetryBatch(each.append, { first, device: each.device }));
            for (let id = first; id < first + each.append; id++) stored.push({ id, device: each.device });
          }
        }
        for (const reader of readers) {
          while (reader.position < (await log.bounds()).next) await readOn(reader);
          const visible = stored.filter(({ device }) => reader.filter.devices === undefined || device === 1);
          expect(reader.ids).toEqual(visible.map(({ id }) => id));
        }
      }),
      { numRuns: 60 },
    );
  });
});
