import { describe, expect, test } from 'vitest';
import type { Offset } from '../../../src/contract/offset.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { settle, TEST_START_MS } from '../../support/test-clock.ts';
import {
  allMessages,
  type LogImplementation,
  type LogSetUp,
  RETENTION_MS,
  rawRead,
  readFrom,
} from './log-under-test.ts';

/** The promises of StreamLog about retention, waiting, counting and reopening. */
export function testLifetime(implementation: LogImplementation, setUp: LogSetUp): void {
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

    test('offset 0 can be read while no message is gone', async () => {
      const { log } = await setUp();
      await log.append(telemetryBatch(3));
      expect(await readFrom(log, 0n)).toMatchObject({ count: 3 });
    });

    test('a reader gets an error if messages before its position are trimmed', async () => {
      const { clock, log } = await setUp();
      await log.append(telemetryBatch(5));
      await clock.advance(RETENTION_MS);
      await log.append(telemetryBatch(5));
      const first = await readFrom(log, 'oldest', { limit: 2 });
      await clock.advance(1);
      await log.trim();
      expect(await rawRead(log, first.nextOffset)).toMatchObject({ kind: 'expired' });
    });

    test('a waiting reader gets an error if a message is appended and trimmed before it reads', async () => {
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

    test('messages after a corrected clock are served', async () => {
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

    test('a clock that jumps forward expires no message before its time, and then the new time counts', async () => {
      const { clock, log } = await setUp();
      const before = await log.append(telemetryBatch(3));
      await log.trim();
      clock.set(clock.now() + 10 * RETENTION_MS);
      const after = await log.append(telemetryBatch(2));
      expect(after.firstOffset).toBeGreaterThan(before.lastOffset);
      await clock.advance(RETENTION_MS - 1);
      await log.trim();
      expect(await readFrom(log, before.firstOffset)).toMatchObject({ count: 5 });
      await clock.advance(2);
      await log.trim();
      expect(await log.bounds()).toMatchObject({ earliest: after.lastOffset + 1n });
      await log.append(telemetryBatch(1));
      await clock.advance(RETENTION_MS + 1);
      expect(await readFrom(log, 'oldest')).toMatchObject({ count: 0 });
    });

    test('messages after a clock that was set back are served for their full retention', async () => {
      const { clock, log } = await setUp();
      const before = await log.append(telemetryBatch(1));
      await log.trim();
      clock.set(clock.now() - 10 * RETENTION_MS);
      await log.append(telemetryBatch(1));
      for (let round = 0; round < 4; round++) {
        await clock.advance(RETENTION_MS / 2);
        await log.trim();
        const { firstOffset, lastOffset } = await log.append(telemetryBatch(1));
        expect(firstOffset).toBeGreaterThan(before.lastOffset);
        await log.trim();
        expect(await readFrom(log, lastOffset)).toMatchObject({ count: 1 });
      }
    });

    test('offsets continue after everything was trimmed', async () => {
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
    test('a wait resolves with a message, with an abort, or at once if there is a message', async () => {
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

    test('a wait for a later position does not end with an earlier message', async () => {
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

    test('closing the log ends waits', async () => {
      const { log } = await setUp();
      const waited = log.waitFor((await log.bounds()).next, new AbortController().signal);
      await log.close();
      await waited;
    });
  });

  describe(`${implementation.name}: counting`, () => {
    test('messages after a position are counted across tables and gaps in offsets', async () => {
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
    test('messages, epoch, position and count are unchanged', async () => {
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

    test('offsets continue after the last one, even if the clock is behind', async () => {
      const { clock, log, reopen } = await setUp();
      const { lastOffset } = await log.append(telemetryBatch(2));
      clock.set(TEST_START_MS - 3_600_000);
      const again = await reopen();
      expect((await again.append(telemetryBatch(1))).firstOffset).toBe(lastOffset + 1n);
    });

    test('a clock that is wrong at the start expires no message that nobody has read', async () => {
      const { clock, log, reopen } = await setUp();
      const { firstOffset } = await log.append(telemetryBatch(3));
      clock.set(clock.now() + 10 * RETENTION_MS);
      const again = await reopen();
      await again.trim();
      expect(await readFrom(again, firstOffset)).toMatchObject({ count: 3 });
      await clock.advance(RETENTION_MS - 1);
      await again.trim();
      expect(await readFrom(again, firstOffset)).toMatchObject({ count: 3 });
      await clock.advance(2);
      expect(await rawRead(again, firstOffset)).toMatchObject({ kind: 'expired' });
    });

    test('trimmed messages stay trimmed and offsets continue after them', async () => {
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
