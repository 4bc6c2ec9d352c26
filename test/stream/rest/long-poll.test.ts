import { describe, expect, onTestFinished, test } from 'vitest';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { offsetOf } from '../../../src/contract/offset.ts';
import { limits } from '../../../src/contract/wire-limits.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import type { StreamLog } from '../../../src/stream/log/stream-log.ts';
import { type PollAnswer, type PollRequest, poll } from '../../../src/stream/rest/long-poll.ts';
import { decodeParts, deviceId, telemetryBatch, wideTelemetry } from '../../support/messages.ts';
import { createTestClock, settle, type TestClock } from '../../support/test-clock.ts';

const RETENTION_MS = 3_600_000;

/** The reads of one request in these tests. */
const READS_MAX = 200;

/** A log that fails after many reads. No time-out of a test ends a poll that reads for ever. */
function withReadsMax(log: StreamLog): StreamLog {
  let reads = 0;
  const read: StreamLog['read'] = async (asked) => {
    if (++reads > READS_MAX) throw new Error('the poll does not wait');
    return log.read(asked);
  };
  return new Proxy(log, { get: (of, name) => (name === 'read' ? read : Reflect.get(of, name)) });
}

function setUp() {
  const clock = createTestClock();
  const log = createMemoryLog({ clock, retentionMs: RETENTION_MS, bytesMax: 1e9, logger: silentLogger });
  onTestFinished(() => log.close());
  const stop = new AbortController();
  /** Starts a poll, and records the time until its answer. */
  const start = (request: Partial<PollRequest> = {}, from: StreamLog = log) => {
    const startedMs = clock.now();
    const state: { answer?: PollAnswer; error?: unknown; afterMs?: number } = {};
    poll(
      withReadsMax(from),
      { start: { kind: 'oldest' }, limit: 10_000, bytesMax: 8e6, holdMs: 20_000, filter: {}, ...request },
      { clock, startTimer: clock.startTimer, retentionMs: RETENTION_MS, signal: stop.signal },
    ).then(
      (answer) => Object.assign(state, { answer, afterMs: clock.now() - startedMs }),
      (error) => Object.assign(state, { error, afterMs: clock.now() - startedMs }),
    );
    return state;
  };
  return { clock, log, start, stop };
}

describe('holding a request', () => {
  test('an empty log answers after the idle time, with a position to continue from', async () => {
    const { clock, log, start } = setUp();
    const state = start();
    await clock.advance(limits.idleTimeoutMs - 1);
    expect(state.answer).toBeUndefined();
    await clock.advance(1);
    const { next, epoch } = await log.bounds();
    expect(state.answer).toEqual({
      parts: [],
      count: 0,
      nextOffset: next,
      upToDate: true,
      earliestOffset: next,
      epoch,
    });
    expect(clock.timersPending).toBe(0);
  });

  test('a backlog is returned together with the messages of the following idle time', async () => {
    const { clock, log, start } = setUp();
    await log.append(telemetryBatch(3));
    const state = start();
    await clock.advance(900);
    await log.append(telemetryBatch(1, { first: 100 }));
    await clock.advance(999);
    expect(state.answer).toBeUndefined();
    await clock.advance(1);
    expect(state).toMatchObject({ afterMs: 1_900, answer: { count: 4, upToDate: true } });
    expect(decodeParts(state.answer!.parts).map((message) => 'msg_id' in message && message.msg_id)).toEqual([
      0, 1, 2, 100,
    ]);
  });

  test('only visible messages reset the idle time, but all messages advance the position', async () => {
    const { clock, log, start } = setUp();
    const state = start({ filter: { devices: new Set([deviceId(1)]) } });
    for (let round = 0; round < 4; round++) {
      await clock.advance(240);
      await log.append(telemetryBatch(5, { device: 2 }));
    }
    await clock.advance(40);
    expect(state).toMatchObject({ afterMs: 1_000, answer: { count: 0, upToDate: true } });
    expect(state.answer!.nextOffset).toBe((await log.bounds()).next);
  });

  test('a full batch answers at once', async () => {
    const { clock, log, start } = setUp();
    await log.append(telemetryBatch(5));
    const state = start({ limit: 3 });
    await settle();
    expect(state).toMatchObject({ afterMs: 0, answer: { count: 3, upToDate: false } });
    const exact = start({ limit: 5 });
    await settle();
    expect(exact).toMatchObject({ afterMs: 0, answer: { count: 5, upToDate: true } });
    const waiting = start({ limit: 6 });
    await clock.advance(500);
    await log.append(telemetryBatch(4));
    await settle();
    expect(waiting).toMatchObject({ afterMs: 500, answer: { count: 6, upToDate: false } });
  });

  test('a full body answers at once, and the next request returns the rest', async () => {
    const { clock, log, start } = setUp();
    const batch = encodeMessages(wideTelemetry(10), 'solar');
    const bytesMax = batch.starts[4]! + 10;
    await log.append(batch);
    const state = start({ bytesMax });
    await settle();
    expect(state).toMatchObject({ afterMs: 0, answer: { count: 4, upToDate: false } });
    const rest = start({ start: { kind: 'offset', offset: state.answer!.nextOffset }, bytesMax: 1e6 });
    await clock.advance(1_000);
    expect(rest).toMatchObject({ answer: { count: 6 } });
  });

  test('a message larger than the byte cap is still returned, alone', async () => {
    const { clock, log, start } = setUp();
    await log.append(telemetryBatch(1));
    const state = start({ bytesMax: 10 });
    await settle();
    expect(state.answer).toMatchObject({ count: 1, upToDate: true });
    const later = start({ bytesMax: 200 });
    await clock.advance(10);
    await log.append(telemetryBatch(1));
    await settle();
    expect(later).toMatchObject({ afterMs: 10, answer: { count: 1, upToDate: false } });
  });

  test('a steady trickle of messages holds no request longer than 20 s', async () => {
    const { clock, log, start } = setUp();
    const state = start({ holdMs: limits.readHoldMsMax });
    for (let round = 0; round < 50; round++) {
      await clock.advance(500);
      await log.append(telemetryBatch(1));
    }
    expect(state).toMatchObject({ afterMs: 20_000, answer: { count: 39 } });
  });

  test('a shorter hold answers earlier, and a hold of 0 after one read', async () => {
    const { clock, log, start } = setUp();
    const state = start({ holdMs: 250 });
    await clock.advance(100);
    await log.append(telemetryBatch(1));
    await clock.advance(150);
    expect(state).toMatchObject({ afterMs: 250, answer: { count: 1 } });
    const none = start({ holdMs: 0 });
    await settle();
    expect(none).toMatchObject({ afterMs: 0, answer: { count: 1, upToDate: true } });
  });

  test('an interrupt returns the messages so far at once and leaves no timer', async () => {
    const { clock, log, start, stop } = setUp();
    await log.append(telemetryBatch(2));
    const state = start();
    await clock.advance(300);
    stop.abort();
    await settle();
    expect(state).toMatchObject({ afterMs: 300, answer: { count: 2 } });
    const late = start();
    await settle();
    expect(late).toMatchObject({ afterMs: 300 - 300, answer: { count: 2 } });
    expect(clock.timersPending).toBe(0);
  });

  test('a clock that is set back does not hold a request for longer', async () => {
    const { clock, start } = setUp();
    const state = start();
    await clock.advance(500);
    clock.set(clock.now() - 3_600_000);
    await clock.advance(500);
    expect(state.answer).toMatchObject({ count: 0 });
  });

  test('a backlog is returned even if its scan takes longer than the idle time', async () => {
    const { clock, log, start } = setUp();
    await log.append(telemetryBatch(1, { device: 2 }));
    await log.append(telemetryBatch(1, { device: 1 }));
    const slow = slowStore(log, clock);
    const state = start({ filter: { devices: new Set([deviceId(1)]) } }, slow);
    await clock.advance(12_000);
    expect(state.answer).toMatchObject({ count: 1, upToDate: true });
  });

  test('the idle time counts from the arrival of a message, not from its scan', async () => {
    const { clock, log, start } = setUp();
    const state = start({ filter: { devices: new Set([deviceId(1)]) } }, slowStore(log, clock));
    await clock.advance(3_500);
    await log.append(telemetryBatch(1, { device: 2 }));
    await log.append(telemetryBatch(1, { device: 1 }));
    await clock.advance(10_000);
    expect(state.answer).toMatchObject({ count: 1, upToDate: true });
  });

  test('a hundred waiting requests all get the message that arrives', async () => {
    const { clock, log, start } = setUp();
    const states = Array.from({ length: 100 }, () => start({ limit: 1 }));
    await clock.advance(10);
    await log.append(telemetryBatch(1));
    await settle();
    for (const state of states) expect(state).toMatchObject({ afterMs: 10, answer: { count: 1 } });
  });
});

describe('where a read starts', () => {
  test('an expired offset, or one past the end, is an error with a position to continue from', async () => {
    const { clock, log, start } = setUp();
    const { lastOffset } = await log.append(telemetryBatch(2));
    const { epoch } = await log.bounds();
    const ahead = start({ start: { kind: 'offset', offset: lastOffset + 5n } });
    await settle();
    expect(ahead.error).toMatchObject({
      code: 'OffsetAhead',
      details: { nextOffset: lastOffset + 1n, epoch },
    });
    await clock.advance(RETENTION_MS + 1);
    const young = await log.append(telemetryBatch(1));
    const expired = start({ start: { kind: 'offset', offset: lastOffset } });
    await settle();
    expect(expired.error).toMatchObject({
      code: 'OffsetExpired',
      details: { earliestOffset: young.firstOffset, nextOffset: young.lastOffset + 1n, epoch },
    });
  });

  test('a timestamp returns exactly the messages from that store time on', async () => {
    const { clock, log, start } = setUp();
    await log.append(telemetryBatch(2));
    await clock.advance(1_000);
    const askedMs = clock.now();
    const wanted = await log.append(telemetryBatch(3));
    await clock.advance(1_000);
    await log.append(telemetryBatch(1));
    const state = start({ start: { kind: 'timestamp', timestampMs: askedMs } });
    await clock.advance(1_000);
    expect(state.answer).toMatchObject({ count: 4 });
    expect(state.answer).not.toHaveProperty('clamped');
    expect(decodeParts(state.answer!.parts)[0]!.offset).toBe(wanted.firstOffset);
  });

  test('a timestamp older than the retention starts at the oldest message and says so', async () => {
    const { clock, log, start } = setUp();
    await log.append(telemetryBatch(2));
    const old = start({ start: { kind: 'timestamp', timestampMs: clock.now() - RETENTION_MS - 1 } });
    await clock.advance(1_000);
    expect(old.answer).toMatchObject({ count: 2, clamped: 'retention' });
    const border = start({ start: { kind: 'timestamp', timestampMs: clock.now() - RETENTION_MS } });
    await clock.advance(1_000);
    expect(border.answer).not.toHaveProperty('clamped');
  });

  test('a timestamp in the future starts at the tail and says so', async () => {
    const { clock, log, start } = setUp();
    const { lastOffset } = await log.append(telemetryBatch(2));
    const state = start({ start: { kind: 'timestamp', timestampMs: clock.now() + 1 } });
    await clock.advance(1_000);
    expect(state.answer).toMatchObject({ count: 0, clamped: 'future', nextOffset: lastOffset + 1n });
  });

  test('a timestamp after the last message waits for the next one and returns no older message after a clock step', async () => {
    const { clock, log, start } = setUp();
    const first = await log.append(telemetryBatch(1));
    await clock.advance(10_000);
    const askedMs = clock.now();
    const state = start({ start: { kind: 'timestamp', timestampMs: askedMs } });
    await settle();
    clock.set(askedMs - 5_000);
    const older = await log.append(telemetryBatch(1, { first: 10 }));
    expect(older.firstOffset).toBeLessThan(offsetOf(askedMs));
    expect(older.firstOffset).toBeGreaterThan(first.lastOffset);
    await settle();
    clock.set(askedMs + 1);
    await log.append(telemetryBatch(1, { first: 20 }));
    await clock.advance(1_000);
    const messages = decodeParts(state.answer!.parts);
    expect(messages.map((message) => 'msg_id' in message && message.msg_id)).toEqual([20]);
  });

  test('messages that expire during a held request are reported as a gap or returned by the next request', async () => {
    const { clock, log, start } = setUp();
    const { next } = await log.bounds();
    const held = start({ start: { kind: 'offset', offset: next } });
    await settle();
    const gone: StreamLog = log;
    const appended = gone.append(telemetryBatch(2));
    clock.leap(RETENTION_MS + 5_000);
    await appended;
    await log.trim();
    await settle();
    expect([held.error, held.answer?.count]).toContainEqual(
      expect.objectContaining({ code: 'OffsetExpired' }),
    );
  });

  test('a gap after the first messages ends the answer, and the next request reports it', async () => {
    const { clock, log, start } = setUp();
    await log.append(telemetryBatch(2));
    const held = start({ start: { kind: 'offset', offset: 0n }, limit: 10 });
    await settle();
    const appended = log.append(telemetryBatch(2));
    clock.leap(RETENTION_MS + 5_000);
    await appended;
    await settle();
    expect(held.answer).toMatchObject({ count: 2, upToDate: false });
    const following = start({ start: { kind: 'offset', offset: held.answer!.nextOffset } });
    await settle();
    expect(following.error).toMatchObject({ code: 'OffsetExpired' });
  });
});

/** A slow log: each read takes 3 s and scans one message. It shows the messages of device 1. */
function slowStore(log: StreamLog, clock: TestClock): StreamLog {
  return {
    ...log,
    async read(request) {
      await clock.pass(3_000);
      const outcome = await log.read({ ...request, limit: 1, filter: {} });
      if (outcome.kind !== 'batch') return outcome;
      const visible = decodeParts(outcome.parts).filter(
        (message) => 'device' in message && message.device === deviceId(1),
      );
      return { ...outcome, full: false, ...(visible.length === 0 && { parts: [], count: 0, bytes: 0 }) };
    },
  };
}

test('all messages of an answer come from one log, even if the log is lost while the request is held', async () => {
  const { clock, log, start } = setUp();
  const next = createMemoryLog({ clock, retentionMs: RETENTION_MS, bytesMax: 1e9, logger: silentLogger });
  onTestFinished(() => next.close());
  await next.append(telemetryBatch(1));
  await clock.advance(10);
  await log.append(telemetryBatch(3));
  let current: StreamLog = log;
  const state = start({}, new Proxy(log, { get: (_, name) => Reflect.get(current, name) }));
  await clock.advance(10);
  current = next;
  await next.append(telemetryBatch(2));
  await log.append(telemetryBatch(1));
  await clock.advance(10);
  expect(state.answer).toMatchObject({ count: 3, upToDate: false, epoch: (await log.bounds()).epoch });
});
