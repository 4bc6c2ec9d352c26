import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { type Offset, offsetOf } from '../../../src/contract/offset.ts';
import type { ReadFilter, StreamLog } from '../../../src/stream/log/stream-log.ts';
import { appendMixedBatches, decodeParts, deviceId, telemetryBatch } from '../../support/messages.ts';
import { rounds } from '../../support/rounds.ts';
import {
  allMessages,
  type Batch,
  type LogImplementation,
  type LogSetUp,
  RETENTION_MS,
  rawRead,
  readFrom,
  tinyBatch,
} from './log-under-test.ts';

/** The promises of StreamLog about reads. */
export function testReading(implementation: LogImplementation, setUp: LogSetUp): void {
  describe(`${implementation.name}: reading`, () => {
    test('reading from nextOffset returns every message once, with any limit', async () => {
      const { clock, log } = await setUp({ cacheBytesMax: 3_000 });
      for (let round = 0; round < 12; round++) {
        await log.append(telemetryBatch(1 + (round % 5), { first: round * 10 }));
        if (round % 2 === 0) await clock.advance(1);
      }
      const all = await allMessages(log);
      for (const limit of [1, 2, 3, 7, 100]) expect(await allMessages(log, { limit })).toEqual(all);
      expect(all).toHaveLength(33);
    });

    test('a position is inclusive and the position of the tail is empty, not ahead', async () => {
      const { log } = await setUp();
      const { firstOffset, lastOffset } = await log.append(telemetryBatch(3));
      expect(await readFrom(log, firstOffset + 1n)).toMatchObject({ count: 2, nextOffset: lastOffset + 1n });
      expect(await readFrom(log, lastOffset)).toMatchObject({ count: 1, upToDate: true });
      expect(await readFrom(log, lastOffset + 1n)).toMatchObject({ count: 0, nextOffset: lastOffset + 1n });
    });

    test('an offset between two messages starts at the later one', async () => {
      const { clock, log } = await setUp();
      const first = await log.append(telemetryBatch(1));
      await clock.advance(1_000);
      const second = await log.append(telemetryBatch(1));
      const outcome = await readFrom(log, first.lastOffset + 12_345n);
      expect(decodeParts(outcome.parts).map((message) => message.offset)).toEqual([second.firstOffset]);
    });

    test('an offset past the end is an error and never waits', async () => {
      const { log } = await setUp();
      expect(await rawRead(log, 1n)).toMatchObject({ kind: 'ahead' });
      const { lastOffset } = await log.append(telemetryBatch(1));
      expect(await rawRead(log, lastOffset + 2n)).toMatchObject({
        kind: 'ahead',
        bounds: { next: lastOffset + 1n },
      });
      expect(await rawRead(log, 2n ** 64n - 1n)).toMatchObject({ kind: 'ahead' });
    });

    test('a timestamp returns all messages of its millisecond', async () => {
      const { clock, log } = await setUp();
      await log.append(telemetryBatch(1));
      await clock.advance(10);
      await log.append(telemetryBatch(2));
      await log.append(telemetryBatch(3));
      expect(await readFrom(log, offsetOf(clock.now()))).toMatchObject({ count: 5 });
    });

    test('the byte cap ends a read, except before its first message if one is required', async () => {
      const { log } = await setUp();
      const batch = telemetryBatch(4);
      const messageBytes = batch.starts[1]!;
      await log.append(batch);
      const capped = await readFrom(log, 'oldest', { bytesMax: messageBytes * 2 + 5 });
      expect(capped).toMatchObject({ count: 2, full: true, upToDate: false });
      expect(await readFrom(log, 'oldest', { bytesMax: 5 })).toMatchObject({ count: 1, full: true });
      const none = await readFrom(log, 'oldest', { bytesMax: 5, oneAtLeast: false });
      expect(none).toMatchObject({ count: 0, full: true });
      expect(none.nextOffset).toBe((await log.bounds()).earliest);
    });

    test('filters by table and device return only matching messages, and the position still advances', async () => {
      const { log } = await setUp({ cacheBytesMax: 2_000 });
      for (let round = 0; round < 4; round++) {
        await log.append(telemetryBatch(3, { table: 'solar', device: 1, first: round * 100 }));
        await log.append(telemetryBatch(2, { table: 'wind', device: 2, first: round * 100 + 50 }));
      }
      const { next } = await log.bounds();
      const wind = await readFrom(log, 'oldest', { filter: { table: 'wind' } });
      expect(wind).toMatchObject({ count: 8, nextOffset: next, upToDate: true });
      const one = await readFrom(log, 'oldest', { filter: { devices: new Set([deviceId(1)]) } });
      expect(new Set(decodeParts(one.parts).map((message) => message.table))).toEqual(new Set(['solar']));
      expect(one).toMatchObject({ count: 12, nextOffset: next });
      for (const filter of [
        { table: 'nobody' },
        { devices: new Set<string>() },
        { table: 'wind', devices: new Set([deviceId(1)]) },
      ])
        expect(await readFrom(log, 'oldest', { filter })).toMatchObject({
          count: 0,
          nextOffset: next,
          upToDate: true,
        });
    });

    test('stored chunks can be read one after another and name their devices', async () => {
      const { clock, log, reopen } = await setUp({ cacheBytesMax: 1_000 });
      expect(await log.chunkFrom(0n)).toBeUndefined();
      for (let round = 0; round < 3; round++) {
        await log.append(telemetryBatch(2, { device: round }));
        await clock.advance(1_000);
      }
      const walk = async (from: StreamLog) => {
        const devices: Array<string | null> = [];
        let position = 0n;
        for (;;) {
          const chunk = await from.chunkFrom(position);
          if (chunk === undefined) return { devices, position };
          devices.push(...chunk.devices);
          position = chunk.lastOffset + 1n;
        }
      };
      const whole = { devices: [deviceId(0), deviceId(1), deviceId(2)], position: (await log.bounds()).next };
      expect(await walk(log)).toEqual(whole);
      if (implementation.persists) expect(await walk(await reopen())).toEqual(whole);
    });

    test('messages without a device are hidden by a device filter', async () => {
      const { log } = await setUp();
      await log.append(encodeMessages([{ actor: 'a', action: 'login', event_time: 1 }], 'audit_logs'));
      expect(await readFrom(log, 'oldest', { filter: { table: 'audit_logs' } })).toMatchObject({ count: 1 });
      const restricted = { table: 'audit_logs', devices: new Set([deviceId(1)]) };
      expect(await readFrom(log, 'oldest', { filter: restricted })).toMatchObject({
        count: 0,
        upToDate: true,
      });
    });

    test('a filtered read at its limit stops right after the last returned message', async () => {
      const { log } = await setUp();
      await log.append(telemetryBatch(2, { table: 'solar' }));
      const { firstOffset } = await log.append(telemetryBatch(2, { table: 'wind' }));
      await log.append(telemetryBatch(2, { table: 'solar' }));
      expect(await readFrom(log, 'oldest', { limit: 1, filter: { table: 'wind' } })).toMatchObject({
        count: 1,
        full: true,
        nextOffset: firstOffset + 1n,
      });
    });

    test('a large filtered backlog takes several reads, and each of them advances', {
      tags: ['slow'],
    }, async () => {
      const { log } = await setUp({ cacheBytesMax: 1 });
      const batch = tinyBatch(60_000);
      for (let round = 0; round < 5; round++) await log.append(batch);
      let position: Offset | 'oldest' = 'oldest';
      let reads = 0;
      for (let upToDate = false; !upToDate; reads++) {
        const outcome: Batch = await readFrom(log, position, { filter: { table: 'nobody' } });
        position = outcome.nextOffset;
        upToDate = outcome.upToDate;
      }
      expect(reads).toBeGreaterThan(1);
      expect(position).toBe((await log.bounds()).next);
    });

    test('filters, limits and byte caps give the same result as filtering by hand', async () => {
      const { log } = await setUp({ cacheBytesMax: 4_000 });
      await appendMixedBatches(log);
      const all = await allMessages(log);
      const devices = [0, 1, 2, 3, 4].map(deviceId);
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            start: fc.nat(all.length - 1),
            limit: fc.integer({ min: 1, max: 60 }),
            bytesMax: fc.integer({ min: 1, max: 8_000 }),
            table: fc.option(fc.constantFrom('solar', 'wind', 'hydro', 'other'), { nil: undefined }),
            devices: fc.option(fc.subarray(devices), { nil: undefined }),
          }),
          async ({ start, limit, bytesMax, table, devices }) => {
            const filter: ReadFilter = {
              ...(table !== undefined && { table }),
              ...(devices !== undefined && { devices: new Set(devices) }),
            };
            const visible = all.filter(
              (message) =>
                (table === undefined || message.table === table) &&
                (devices === undefined || ('device' in message && devices.includes(message.device))),
            );
            const from = BigInt(all[start]!.offset);
            const expected = visible.filter((message) => BigInt(message.offset) >= from);
            const read = await allMessages(log, { from, limit, bytesMax, filter });
            expect(read).toEqual(expected);
          },
        ),
        { numRuns: rounds(25, 100) },
      );
    });

    test('returned bytes do not change during later appends', async () => {
      const { clock, log } = await setUp();
      await log.append(telemetryBatch(5));
      const { parts } = await readFrom(log, 'oldest');
      const before = Buffer.concat(parts);
      for (let round = 0; round < 20; round++) await log.append(telemetryBatch(50));
      await clock.advance(RETENTION_MS * 2);
      await log.trim();
      await log.append(telemetryBatch(50));
      expect(Buffer.concat(parts).equals(before)).toBe(true);
    });
  });
}
