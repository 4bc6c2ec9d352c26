import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { type Offset, offsetMs, offsetOf } from '../../../src/contract/offset.ts';
import { type Logger, silentLogger } from '../../../src/lib/logger.ts';
import type { Clock } from '../../../src/lib/time.ts';
import type { LogReadOutcome, ReadFilter, StreamLog } from '../../../src/stream/log/stream-log.ts';
import { decodeParts, deviceId, telemetryBatch } from '../../support/messages.ts';
import { createTestClock, settle, TEST_START_MS } from '../../support/test-clock.ts';

export interface LogUnderTest {
  clock: Clock;
  retentionMs: number;
  cacheBytesMax: number;
  logger: Logger;
}

/** How the suite gets at one implementation. */
export interface LogImplementation {
  name: string;
  /** One place for a log, new for each test. */
  createPlace(): {
    /** Opens the log of this place; again after a close, it is the same log where the implementation persists. */
    open(options: LogUnderTest): Promise<StreamLog>;
    /** Deletes the log of this place, so that the next `open` makes a new one. */
    destroy(): Promise<void>;
  };
  persists: boolean;
}

const RETENTION_MS = 3_600_000;
const SEQUENCES_PER_MS = 1n << 20n;

/** The promises of StreamLog, run against every implementation. */
export function testLogConformance(implementation: LogImplementation): void {
  const setUp = async (options: Partial<Omit<LogUnderTest, 'clock'>> = {}) => {
    const clock = createTestClock();
    const place = implementation.createPlace();
    const settings = {
      clock,
      retentionMs: RETENTION_MS,
      cacheBytesMax: 1e6,
      logger: silentLogger,
      ...options,
    };
    let log = await place.open(settings);
    onTestFinished(() => log.close());
    const reopen = async () => {
      await log.close();
      log = await place.open(settings);
      return log;
    };
    return { clock, log, place, reopen };
  };

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

    test('messages get consecutive offsets that carry their append time', async () => {
      const { clock, log } = await setUp();
      const appended = await log.append(telemetryBatch(3));
      const first = offsetOf(clock.now());
      expect(appended).toEqual({ firstOffset: first, lastOffset: first + 2n, count: 3 });
      const messages = await allMessages(log);
      expect(messages.map((message) => BigInt(message.offset))).toEqual([first, first + 1n, first + 2n]);
      expect(messages.every((message) => message.store_time === clock.now())).toBe(true);
      expect(messages[2]).toMatchObject({ table: 'solar', device: deviceId(1), msg_id: 2 });
    });

    test('a clock that stands still or steps back never takes the offsets with it', async () => {
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

    test('a full sequence carries into the next millisecond, append times and retention included', async () => {
      const { clock, log } = await setUp({ cacheBytesMax: 1 });
      const batchCount = 60_000;
      const rounds = Number(SEQUENCES_PER_MS / BigInt(batchCount));
      const start = offsetOf(clock.now());
      for (let round = 0; round < rounds; round++) await log.append(tinyBatch(batchCount));
      const { next } = await log.bounds();
      expect(next).toBe(start + BigInt(rounds * batchCount));
      await log.append(tinyBatch(batchCount));
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

    test('a sequencer far ahead of the clock warns, once', async () => {
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

    test('readers beside concurrent appends see every message once, in order, never a later one first', async () => {
      const { clock, log } = await setUp({ cacheBytesMax: 20_000 });
      const writers = 20;
      const perWriter = 30;
      const done = new AbortController();
      const seen: Offset[][] = [[], [], []];
      const readers = seen.map(async (offsets, reader) => {
        let position: Offset | 'oldest' = 'oldest';
        for (;;) {
          const finished = done.signal.aborted;
          const outcome = await readFrom(log, position, { limit: 7 * (reader + 1) });
          for (const message of decodeParts(outcome.parts)) offsets.push(BigInt(message.offset));
          position = outcome.nextOffset;
          if (!outcome.upToDate) continue;
          if (finished) return;
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

    test('a batch with no messages or with more than fit is refused and disturbs nothing', async () => {
      const { log } = await setUp();
      await expect(log.append(telemetryBatch(0))).rejects.toThrow(RangeError);
      await expect(log.append(tinyBatch(65_536))).rejects.toThrow(RangeError);
      await log.append(tinyBatch(65_535));
      expect(await log.countFrom(0n)).toBe(65_535);
    });

    test('a closed log refuses to append and to read, and closes twice', async () => {
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
    test('of those who have read equally far one is heard, the others once they have read what it said', async () => {
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
      // What others have stored meanwhile is no announcement.
      await log.append(telemetryBatch(4, { first: 10 }));
      expect(await log.announce(telemetryBatch(1, { first: 400 }), lastOffset + 1n)).toMatchObject({
        count: 1,
      });
      expect(await log.countFrom(0n)).toBe(3 + 2 + 4 + 1);
    });
  });

  describe(`${implementation.name}: reading`, () => {
    test('reading on from nextOffset gives every message once, whatever the limit', async () => {
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

    test('an offset between two messages reads on from the later one', async () => {
      const { clock, log } = await setUp();
      const first = await log.append(telemetryBatch(1));
      await clock.advance(1_000);
      const second = await log.append(telemetryBatch(1));
      const outcome = await readFrom(log, first.lastOffset + 12_345n);
      expect(decodeParts(outcome.parts).map((message) => message.offset)).toEqual([second.firstOffset]);
    });

    test('an offset past the tail is ahead, never silent waiting', async () => {
      const { log } = await setUp();
      expect(await rawRead(log, 1n)).toMatchObject({ kind: 'ahead' });
      const { lastOffset } = await log.append(telemetryBatch(1));
      expect(await rawRead(log, lastOffset + 2n)).toMatchObject({
        kind: 'ahead',
        bounds: { next: lastOffset + 1n },
      });
      expect(await rawRead(log, 2n ** 64n - 1n)).toMatchObject({ kind: 'ahead' });
    });

    test('several messages of one millisecond are all returned from its timestamp', async () => {
      const { clock, log } = await setUp();
      await log.append(telemetryBatch(1));
      await clock.advance(10);
      await log.append(telemetryBatch(2));
      await log.append(telemetryBatch(3));
      expect(await readFrom(log, offsetOf(clock.now()))).toMatchObject({ count: 5 });
    });

    test('the byte cap ends a read, but one message is returned where the caller must get one', async () => {
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

    test('a table filter and a device filter show only theirs, and the position still advances', async () => {
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

    test('what was stored together can be walked through, and tells whom it is about', async () => {
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

    test('messages about no device are not seen through a device filter', async () => {
      const { log } = await setUp();
      await log.append(encodeMessages([{ actor: 'a', action: 'login', event_time: 1 }], 'audit_logs'));
      expect(await readFrom(log, 'oldest', { filter: { table: 'audit_logs' } })).toMatchObject({ count: 1 });
      const restricted = { table: 'audit_logs', devices: new Set([deviceId(1)]) };
      expect(await readFrom(log, 'oldest', { filter: restricted })).toMatchObject({
        count: 0,
        upToDate: true,
      });
    });

    test('a filtered read that reaches its limit stops right after the last message it returned', async () => {
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

    test('a large filtered backlog takes several reads that each move on', async () => {
      const { log } = await setUp({ cacheBytesMax: 1 });
      for (let round = 0; round < 5; round++) await log.append(tinyBatch(60_000));
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

    test('filters, limits and byte caps agree with filtering everything by hand', async () => {
      const { log } = await setUp({ cacheBytesMax: 4_000 });
      for (let round = 0; round < 40; round++)
        await log.append(
          telemetryBatch(1 + (round % 7), {
            device: round % 5,
            table: ['solar', 'wind', 'hydro'][round % 3]!,
            first: round * 10,
          }),
        );
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
        { numRuns: 100 },
      );
    });

    test('what was read stays as it was while the log goes on', async () => {
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

  describe(`${implementation.name}: retention`, () => {
    test('messages older than the retention are not served, trimmed or not', async () => {
      const { clock, log } = await setUp();
      const old = await log.append(telemetryBatch(3));
      await clock.advance(RETENTION_MS / 2);
      const young = await log.append(telemetryBatch(2));
      await clock.advance(RETENTION_MS / 2);
      expect(await readFrom(log, 'oldest')).toMatchObject({ count: 5 });
      await clock.advance(1);
      for (const trim of [false, true]) {
        if (trim) await log.trim();
        expect(await log.bounds()).toMatchObject({
          earliest: young.firstOffset,
          next: young.lastOffset + 1n,
        });
        expect(await readFrom(log, 'oldest')).toMatchObject({ count: 2 });
        expect(await rawRead(log, old.lastOffset)).toMatchObject({
          kind: 'expired',
          bounds: { earliest: young.firstOffset },
        });
        expect(await rawRead(log, 0n)).toMatchObject({ kind: 'expired' });
        expect(await log.countFrom(0n)).toBe(2);
      }
    });

    test('an old position of a quiet stream still works, because nothing at or after it is gone', async () => {
      const { clock, log } = await setUp();
      const old = await log.append(telemetryBatch(3));
      await clock.advance(RETENTION_MS * 3);
      for (const trim of [false, true]) {
        if (trim) await log.trim();
        expect(await readFrom(log, old.lastOffset + 1n)).toMatchObject({ count: 0, upToDate: true });
        expect(await rawRead(log, old.lastOffset)).toMatchObject({ kind: 'expired' });
      }
      await log.append(telemetryBatch(1));
      expect(await readFrom(log, old.lastOffset + 1n)).toMatchObject({ count: 1, upToDate: true });
    });

    test('nothing gone, nothing expired: even offset 0 reads a log that has kept all', async () => {
      const { log } = await setUp();
      await log.append(telemetryBatch(3));
      expect(await readFrom(log, 0n)).toMatchObject({ count: 3 });
    });

    test('trimmed in the middle of a read, the reader is told instead of skipping', async () => {
      const { clock, log } = await setUp();
      await log.append(telemetryBatch(5));
      await clock.advance(RETENTION_MS);
      await log.append(telemetryBatch(5));
      const first = await readFrom(log, 'oldest', { limit: 2 });
      await clock.advance(1);
      await log.trim();
      expect(await rawRead(log, first.nextOffset)).toMatchObject({ kind: 'expired' });
    });

    test('appended and trimmed before a waiter looked: the waiter is told, not answered empty', async () => {
      const { clock, log } = await setUp();
      const { next } = await log.bounds();
      const waited = log.waitFor(next, new AbortController().signal);
      await log.append(telemetryBatch(2));
      await clock.advance(RETENTION_MS + 1);
      await log.trim();
      await waited;
      expect(await rawRead(log, next)).toMatchObject({ kind: 'expired' });
    });

    test('a clock that steps back does not bring expired messages back', async () => {
      const { clock, log } = await setUp();
      const { firstOffset } = await log.append(telemetryBatch(1));
      await clock.advance(RETENTION_MS + 1);
      expect(await rawRead(log, firstOffset)).toMatchObject({ kind: 'expired' });
      clock.set(TEST_START_MS);
      expect(await rawRead(log, firstOffset)).toMatchObject({ kind: 'expired' });
    });

    test('messages that come after a wrong clock was set right are served', async () => {
      const { clock, log } = await setUp();
      await clock.advance(RETENTION_MS * 5);
      await log.bounds();
      await log.trim();
      clock.set(TEST_START_MS);
      const { firstOffset } = await log.append(telemetryBatch(2));
      expect(await readFrom(log, 'oldest')).toMatchObject({ count: 2 });
      expect((await log.bounds()).earliest).toBe(firstOffset);
      await log.trim();
      expect(await log.countFrom(0n)).toBe(2);
    });

    test('offsets go on after everything was trimmed', async () => {
      const { clock, log } = await setUp();
      const { lastOffset } = await log.append(telemetryBatch(3));
      await clock.advance(RETENTION_MS * 2);
      await log.trim();
      expect(await log.bounds()).toMatchObject({ earliest: lastOffset + 1n, next: lastOffset + 1n });
      clock.set(TEST_START_MS - 5);
      expect((await log.append(telemetryBatch(1))).firstOffset).toBe(lastOffset + 1n);
    });
  });

  describe(`${implementation.name}: waiting`, () => {
    test('a waiter resolves with the message, with the abort, and at once where there is one', async () => {
      const { log } = await setUp();
      const { next } = await log.bounds();
      const order: string[] = [];
      const stop = new AbortController();
      const byMessage = log.waitFor(next, new AbortController().signal).then(() => order.push('message'));
      const byAbort = log.waitFor(next, stop.signal).then(() => order.push('abort'));
      await settle();
      expect(order).toEqual([]);
      stop.abort();
      await byAbort;
      const { lastOffset } = await log.append(telemetryBatch(1));
      await byMessage;
      expect(order).toEqual(['abort', 'message']);
      await log.waitFor(lastOffset, new AbortController().signal);
      await log.waitFor(lastOffset + 1n, AbortSignal.abort());
    });

    test('a waiter for a later position is not woken by an earlier message', async () => {
      const { log } = await setUp();
      const { lastOffset } = await log.append(telemetryBatch(1));
      let woken = false;
      const waited = log.waitFor(lastOffset + 2n, new AbortController().signal).then(() => {
        woken = true;
      });
      await log.append(telemetryBatch(1));
      await settle();
      expect(woken).toBe(false);
      await log.append(telemetryBatch(1));
      await waited;
    });

    test('closing the log lets waiters go', async () => {
      const { log } = await setUp();
      const waited = log.waitFor((await log.bounds()).next, new AbortController().signal);
      await log.close();
      await waited;
    });
  });

  describe(`${implementation.name}: counting`, () => {
    test('the messages after a position are counted, across tables and gaps in the offsets', async () => {
      const { clock, log } = await setUp({ cacheBytesMax: 1_000 });
      const offsets: Offset[] = [];
      for (let round = 0; round < 10; round++) {
        const appended = await log.append(telemetryBatch(3, { table: `t${round % 2}` }));
        for (let index = 0; index < 3; index++) offsets.push(appended.firstOffset + BigInt(index));
        await clock.advance(round % 2);
      }
      for (const [index, offset] of offsets.entries()) {
        expect(await log.countFrom(offset)).toBe(30 - index);
        expect(await log.countFrom(offset + 1n)).toBe(30 - index - 1);
      }
      expect(await log.countFrom(0n)).toBe(30);
      expect(await log.countFrom(2n ** 63n)).toBe(0);
    });
  });

  describe.runIf(implementation.persists)(`${implementation.name}: opening again`, () => {
    test('messages, epoch, position and count are what they were', async () => {
      const { clock, log, reopen } = await setUp();
      for (let round = 0; round < 5; round++) {
        await log.append(telemetryBatch(3, { device: round, first: round * 3 }));
        await clock.advance(1);
      }
      const before = { bounds: await log.bounds(), messages: await allMessages(log) };
      const again = await reopen();
      expect({ bounds: await again.bounds(), messages: await allMessages(again) }).toEqual(before);
      expect(await again.countFrom(0n)).toBe(15);
    });

    test('the sequencer goes on after the last offset though the clock is behind', async () => {
      const { clock, log, reopen } = await setUp();
      const { lastOffset } = await log.append(telemetryBatch(2));
      clock.set(TEST_START_MS - 3_600_000);
      const again = await reopen();
      expect((await again.append(telemetryBatch(1))).firstOffset).toBe(lastOffset + 1n);
    });

    test('what was trimmed stays gone and the offsets go on after it', async () => {
      const { clock, log, reopen } = await setUp();
      const { lastOffset } = await log.append(telemetryBatch(2));
      await clock.advance(RETENTION_MS * 2);
      await log.trim();
      clock.set(TEST_START_MS);
      const again = await reopen();
      expect(await rawRead(again, lastOffset)).toMatchObject({ kind: 'expired' });
      expect((await again.bounds()).next).toBe(lastOffset + 1n);
      expect((await again.append(telemetryBatch(1))).firstOffset).toBe(lastOffset + 1n);
      expect(await again.countFrom(0n)).toBe(1);
    });
  });

  test(`${implementation.name}: a log that is made again has another epoch, and old positions are ahead of it`, async () => {
    const { clock, log, place, reopen } = await setUp();
    const { lastOffset } = await log.append(telemetryBatch(2));
    const { epoch } = await log.bounds();
    await log.close();
    await place.destroy();
    clock.set(TEST_START_MS - 1_000);
    const again = await reopen();
    expect((await again.bounds()).epoch).not.toBe(epoch);
    expect(await rawRead(again, lastOffset + 1n)).toMatchObject({ kind: 'ahead' });
    await again.append(telemetryBatch(1));
    expect(await rawRead(again, lastOffset + 1n)).toMatchObject({ kind: 'ahead' });
  });
}

type Batch = Extract<LogReadOutcome, { kind: 'batch' }>;
interface ReadOptions {
  limit?: number;
  bytesMax?: number;
  oneAtLeast?: boolean;
  filter?: ReadFilter;
}

function rawRead(
  log: StreamLog,
  from: Offset | 'oldest',
  options: ReadOptions = {},
): Promise<LogReadOutcome> {
  return log.read({ from, limit: 10_000, bytesMax: 8e6, oneAtLeast: true, ...options });
}

async function readFrom(log: StreamLog, from: Offset | 'oldest', options: ReadOptions = {}): Promise<Batch> {
  const outcome = await rawRead(log, from, options);
  if (outcome.kind !== 'batch') throw new Error(`a batch was expected, not ${outcome.kind}`);
  expect(outcome.bytes).toBe(outcome.parts.reduce((sum, part) => sum + part.length, 0));
  return outcome;
}

/** Pages through the log to its tail; every message carries its own offset's time. */
async function allMessages(log: StreamLog, options: ReadOptions & { from?: Offset } = {}) {
  const { from, ...rest } = options;
  let position: Offset | 'oldest' = from ?? 'oldest';
  const messages = [];
  for (let upToDate = false; !upToDate; ) {
    const outcome: Batch = await readFrom(log, position, rest);
    const page = decodeParts(outcome.parts);
    expect(page).toHaveLength(outcome.count);
    if (rest.limit !== undefined) expect(page.length).toBeLessThanOrEqual(rest.limit);
    messages.push(...page);
    position = outcome.nextOffset;
    upToDate = outcome.upToDate;
  }
  for (const message of messages) expect(offsetMs(BigInt(message.offset))).toBe(message.store_time);
  return messages;
}

/** Many small messages made once and repeated, for tests of counts. */
function tinyBatch(count: number) {
  const one = encodeMessages([{ device: deviceId(1), event_time: 0, data: {} }], 'solar');
  const length = one.bytes.length;
  const bytes = new Uint8Array(length * count);
  const starts = new Uint32Array(count + 1);
  for (let index = 0; index < count; index++) {
    bytes.set(one.bytes, index * length);
    starts[index + 1] = (index + 1) * length;
  }
  const tables = new Array<string>(count).fill('solar');
  const devices = new Array<string | null>(count).fill(deviceId(1));
  return { bytes, starts, tables, devices, count };
}

function ascending(a: Offset, b: Offset): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
