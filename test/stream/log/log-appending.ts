import { describe, expect, test } from 'vitest';
import { type Offset, offsetOf } from '../../../src/contract/offset.ts';
import { type Logger, silentLogger } from '../../../src/lib/logger.ts';
import { decodeParts, deviceId, telemetryBatch } from '../../support/messages.ts';
import { TEST_START_MS } from '../../support/test-clock.ts';
import {
  allMessages,
  ascending,
  type LogImplementation,
  type LogSetUp,
  RETENTION_MS,
  rawRead,
  readFrom,
  SEQUENCES_PER_MS,
  tinyBatch,
} from './log-under-test.ts';

/** The promises of StreamLog about appends and announcements. */
export function testAppending(implementation: LogImplementation, setUp: LogSetUp): void {
  describe(`${implementation.name}: appending`, () => {
    test('an empty log has nothing and is up to date', async () => {
      const { log } = await setUp();
      const bounds = await log.bounds();
      expect(bounds.earliest).toBe(bounds.next);
      expect(bounds.epoch).toMatch(/^[0-9a-f-]{36}$/);
      const outcome = await readFrom(log, 'oldest');
      expect(outcome).toMatchObject({ count: 0, nextOffset: bounds.next, upToDate: true, full: false });
      expect(await log.countFrom(bounds.next)).toBe(0);
    });

    test('messages get consecutive offsets that carry their store time', async () => {
      const { clock, log } = await setUp();
      const appended = await log.append(telemetryBatch(3));
      const first = offsetOf(clock.now());
      expect(appended).toEqual({ firstOffset: first, lastOffset: first + 2n, count: 3 });
      const messages = await allMessages(log);
      expect(messages.map((message) => BigInt(message.offset))).toEqual([first, first + 1n, first + 2n]);
      expect(messages.every((message) => message.store_time === clock.now())).toBe(true);
      expect(messages[2]).toMatchObject({ table: 'solar', device: deviceId(1), msg_id: 2 });
    });

    test('offsets never go back when the clock stands still or steps back', async () => {
      const { clock, log } = await setUp();
      const { lastOffset } = await log.append(telemetryBatch(1));
      const still = await log.append(telemetryBatch(1));
      clock.set(clock.now() - 600_000);
      const back = await log.append(telemetryBatch(1));
      expect([still.firstOffset, back.firstOffset]).toEqual([lastOffset + 1n, lastOffset + 2n]);
      expect((await allMessages(log)).map((message) => message.store_time)).toEqual(
        Array.from({ length: 3 }, () => TEST_START_MS),
      );
      clock.set(TEST_START_MS + 1);
      expect((await log.append(telemetryBatch(1))).firstOffset).toBe(offsetOf(TEST_START_MS + 1));
    });

    test('a full sequence continues in the next millisecond, also for store times and retention', {
      tags: ['slow'],
    }, async () => {
      const { clock, log } = await setUp({ cacheBytesMax: 1 });
      const batchCount = 60_000;
      const rounds = Number(SEQUENCES_PER_MS / BigInt(batchCount));
      const start = offsetOf(clock.now());
      const batch = tinyBatch(batchCount);
      for (let round = 0; round < rounds; round++) await log.append(batch);
      const { next } = await log.bounds();
      expect(next).toBe(start + BigInt(rounds * batchCount));
      await log.append(batch);
      const border = start + SEQUENCES_PER_MS;
      const outcome = await readFrom(log, border - 2n, { limit: 4 });
      const messages = decodeParts(outcome.parts);
      expect(messages.map((message) => BigInt(message.offset) - border)).toEqual([-2n, -1n, 0n, 1n]);
      expect(messages.map((message) => message.store_time - TEST_START_MS)).toEqual([0, 0, 1, 1]);
      const after = (rounds + 1) * batchCount - Number(SEQUENCES_PER_MS);
      expect(await log.countFrom(border)).toBe(after);
      await clock.advance(RETENTION_MS + 1);
      expect((await log.bounds()).earliest).toBe(border);
      await log.trim();
      expect(await rawRead(log, border - 1n)).toMatchObject({ kind: 'expired' });
      expect(await readFrom(log, border, { limit: 1 })).toMatchObject({ count: 1, nextOffset: border + 1n });
      expect(await log.countFrom(0n)).toBe(after);
    });

    test('offsets far ahead of the clock are logged once as a warning', async () => {
      const warnings: unknown[] = [];
      const logger = Object.assign(Object.create(silentLogger) as Logger, {
        warn: (fields: unknown, event: string) => warnings.push([event, fields]),
      });
      const subject = await setUp({ logger });
      await subject.log.append(telemetryBatch(1));
      subject.clock.set(TEST_START_MS - 5_000);
      await subject.log.append(telemetryBatch(1));
      expect(warnings).toEqual([]);
      subject.clock.set(TEST_START_MS - 5_001);
      await subject.log.append(telemetryBatch(1));
      await subject.log.append(telemetryBatch(1));
      expect(warnings).toEqual([['stream.sequencer-ahead-of-clock', { leadMs: 5_001 }]]);
    });

    test('readers during concurrent appends get every message once and in order', async () => {
      const { clock, log } = await setUp({ cacheBytesMax: 20_000 });
      const writers = 20;
      const perWriter = 30;
      const done = new AbortController();
      const seen: Offset[][] = [[], [], []];
      const readers = seen.map(async (offsets, reader) => {
        let position: Offset | 'oldest' = 'oldest';
        for (;;) {
          const isFinished = done.signal.aborted;
          const outcome = await readFrom(log, position, { limit: 7 * (reader + 1) });
          for (const message of decodeParts(outcome.parts)) offsets.push(BigInt(message.offset));
          position = outcome.nextOffset;
          if (!outcome.upToDate) continue;
          if (isFinished) return;
          await log.waitFor(position, done.signal);
        }
      });
      const acknowledged: Offset[] = [];
      await Promise.all(
        Array.from({ length: writers }, async (_, writer) => {
          for (let round = 0; round < perWriter; round++) {
            if (writer === 0) clock.set(clock.now() + (round % 3) - 1);
            const appended = await log.append(telemetryBatch(1 + (round % 4), { device: writer }));
            for (let index = 0; index < appended.count; index++)
              acknowledged.push(appended.firstOffset + BigInt(index));
          }
        }),
      );
      done.abort();
      await Promise.all(readers);
      const expected = acknowledged.toSorted(ascending);
      expect(new Set(expected).size).toBe(expected.length);
      for (const offsets of seen) expect(offsets).toEqual(expected);
    });

    test('an empty or too large batch is refused and changes nothing', async () => {
      const { log } = await setUp();
      await expect(log.append(telemetryBatch(0))).rejects.toThrow(RangeError);
      await expect(log.append(tinyBatch(65_536))).rejects.toThrow(RangeError);
      await log.append(tinyBatch(65_535));
      expect(await log.countFrom(0n)).toBe(65_535);
    });

    test('a closed log refuses appends and reads, and can be closed twice', async () => {
      const { log } = await setUp();
      await log.append(telemetryBatch(1));
      const pending = log.append(telemetryBatch(1));
      await Promise.all([log.close(), log.close()]);
      await expect(pending).resolves.toMatchObject({ count: 1 });
      await expect(log.append(telemetryBatch(1))).rejects.toMatchObject({ code: 'StorageUnavailable' });
      await expect(readFrom(log, 'oldest')).rejects.toMatchObject({ code: 'StorageUnavailable' });
    });
  });

  describe(`${implementation.name}: announcing`, () => {
    test('of several announcements at one position one is stored, and the others after their authors have read it', async () => {
      const { log } = await setUp();
      await log.append(telemetryBatch(3, { first: 0 }));
      const { next } = await log.bounds();
      const all = await Promise.all(
        [100, 200, 300].map((first) => log.announce(telemetryBatch(2, { first }), next)),
      );
      const heard = all.filter((one) => one !== 'outdated');
      expect(heard).toHaveLength(1);
      expect(heard[0]).toMatchObject({ count: 2 });
      const { firstOffset, lastOffset } = heard[0]!;
      expect(firstOffset).toBeGreaterThanOrEqual(next);
      expect(await log.announce(telemetryBatch(1), lastOffset)).toBe('outdated');
      // Other messages do not count as announcements.
      await log.append(telemetryBatch(4, { first: 10 }));
      expect(await log.announce(telemetryBatch(1, { first: 400 }), lastOffset + 1n)).toMatchObject({
        count: 1,
      });
      expect(await log.countFrom(0n)).toBe(3 + 2 + 4 + 1);
    });
  });
}
