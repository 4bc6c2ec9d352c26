import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { socketEvents } from '../../../src/contract/socket-events.ts';
import { HOUR_MS, systemClock } from '../../../src/lib/time.ts';
import type { StreamLog } from '../../../src/stream/log/stream-log.ts';
import { heldBytes } from '../../support/held-bytes.ts';
import { telemetryBatch, wideTelemetry } from '../../support/messages.ts';
import { nextEvent, openRawWith } from '../../support/raw-socket.ts';
import { isSoak, rounds } from '../../support/rounds.ts';
import { until } from '../../support/until.ts';
import { memoryLog, request, setUp } from './start-socket-service.ts';

/** Messages of some 8 MB for each batch. */
async function appendWide(log: StreamLog, batches: number): Promise<void> {
  const batch = encodeMessages(wideTelemetry(10_000), 'solar');
  for (let count = 0; count < batches; count++) await log.append(batch);
}

const IDLE = rounds(300, 1_000);
const SUBSCRIBERS = rounds(40, 100);
// This test comes first, while there is no other garbage.
test(`${IDLE} idle connections cost little memory and end together`, { tags: ['slow'] }, async () => {
  const { baseUrl, tokenText, socket, stream } = await setUp();
  const before = await heldBytes();
  const raws: WebSocket[] = [];
  for (let number = 0; number < IDLE; number += 50)
    raws.push(...(await Promise.all(Array.from({ length: 50 }, () => openRawWith(baseUrl, tokenText)))));
  for (const raw of raws) raw.send(`42${JSON.stringify([socketEvents.subscribe, request()])}`);
  await until('all have subscribed', () => socket.counts().subscriptions === IDLE);
  const kilobytes = ((await heldBytes()) - before) / IDLE / 1024;
  process.stdout.write(
    `an idle connection takes ${kilobytes.toFixed(0)} KiB, its client in this process included\n`,
  );
  expect(kilobytes).toBeLessThan(100);
  const closed = raws.map((raw) => once(raw, 'close'));
  stream.drain();
  await Promise.all(closed);
  expect(socket.counts()).toEqual({ sockets: 0, waiting: 0, subscriptions: 0 });
});

describe('a reader that acknowledges', () => {
  test('has at most four unacknowledged frames and gets the next one after each acknowledgement', async () => {
    const { log, connect, clock } = await setUp();
    const open: Array<() => void> = [];
    const client = await connect({ acknowledge: (acknowledge) => open.push(acknowledge) });
    await log.append(telemetryBatch(100));
    const reader = client.subscribe(request({ timestamp: 0, limit: 10 }));
    await until('four came', () => reader.frames.length === 4);
    open.shift()!();
    await until('a fifth came', () => reader.frames.length === 5);
    await clock.advance(10_000);
    await sleep(50);
    expect(reader.frames).toHaveLength(5);
    open.shift()!();
    open.shift()!();
    await until('two more came', () => reader.frames.length === 7);
    while (reader.messages.length < 100) {
      open.shift()?.();
      await sleep(1);
    }
    expect(reader.messages.map(({ msg_id }) => msg_id)).toEqual(Array.from({ length: 100 }, (_, id) => id));
  });

  test('is ended if it is far behind and has read nothing for 30 s, and resumes at its position', {
    tags: ['slow'],
  }, async () => {
    const { log, connect, clock, socket } = await setUp();
    const open: Array<() => void> = [];
    const client = await connect({ acknowledge: (acknowledge) => open.push(acknowledge) });
    for (let batch = 0; batch < 4; batch++) await log.append(telemetryBatch(5_000, { first: batch * 5_000 }));
    const reader = client.subscribe(request({ timestamp: 0 }));
    await until('four came', () => open.length === 4);
    open.shift()!();
    await until('a fifth came', () => reader.frames.length === 5);
    await clock.advance(29_999);
    expect(socket.counts().subscriptions).toBe(1);
    await clock.advance(1);
    const notice = await reader.stopped;
    expect(notice).toMatchObject({ reason: 'consumer_too_slow' });
    expect(notice.nextOffset).toBe(String(reader.messages.at(-1)!.offset + 1n));
    expect(socket.counts().subscriptions).toBe(0);
    const rest = client.subscribe(request({ offset: notice.nextOffset }));
    const timer = setInterval(() => open.shift()?.(), 1);
    await rest.until((messages) => messages.length === 20_000 - reader.messages.length);
    clearInterval(timer);
    expect(rest.messages[0]!.msg_id).toBe(reader.messages.length);
  });

  test('is kept if it is slow but reads, or stalls but is not far behind', { tags: ['slow'] }, async () => {
    const { log, connect, clock, socket } = await setUp();
    const open: Array<() => void> = [];
    const client = await connect({ acknowledge: (acknowledge) => open.push(acknowledge) });
    for (let batch = 0; batch < 4; batch++) await log.append(telemetryBatch(5_000));
    const slow = client.subscribe(request({ timestamp: 0, limit: 100 }));
    await until('four came', () => slow.frames.length === 4);
    for (let number = 5; number <= 14; number++) {
      open.shift()!();
      await until('the next came', () => slow.frames.length === number);
      await clock.advance(25_000);
    }
    expect(socket.counts().subscriptions).toBe(1);
    client.close();

    const stalled = await connect({ acknowledge: (acknowledge) => open.push(acknowledge) });
    open.length = 0;
    const reader = stalled.subscribe(request({ limit: 1 }));
    await reader.answer;
    await log.append(telemetryBatch(5_000));
    await until('four came', () => reader.frames.length === 4);
    open.shift()!();
    await until('a fifth came', () => reader.frames.length === 5);
    await clock.advance(300_000);
    expect(socket.counts().subscriptions).toBe(1);
  });

  test('is not far behind because of messages that it may not read', { tags: ['slow'] }, async () => {
    const { log, connect, clock, socket } = await setUp();
    const client = await connect({ acknowledge: false });
    const reader = client.subscribe(request({ table: 'grid' }));
    await reader.answer;
    for (let minute = 0; minute < 10; minute++) {
      await log.append(telemetryBatch(20_000));
      await clock.advance(60_000);
    }
    expect(socket.counts().subscriptions).toBe(1);
    await log.append(telemetryBatch(1, { table: 'grid' }));
    await reader.until((messages) => messages.length === 1);
  });
});

test('a reader that never acknowledges is held back by its transport alone', async () => {
  const { log, connect, clock } = await setUp();
  await log.append(telemetryBatch(100));
  const client = await connect({ acknowledge: false });
  const first = client.subscribe(request({ timestamp: 0, limit: 10 }));
  await until('four came', () => first.frames.length === 4);
  await sleep(50);
  expect(first.frames).toHaveLength(4);
  await clock.advance(3_000);
  await first.until((messages) => messages.length === 100);
  const second = client.subscribe(request({ timestamp: 0, limit: 10 }));
  await second.until((messages) => messages.length === 100);
});

test('a client with unacknowledged frames of ended subscriptions is at last not asked to acknowledge', async () => {
  const { log, connect } = await setUp();
  await log.append(telemetryBatch(10));
  const client = await connect({ acknowledge: false });
  const subscribe = () => client.subscribe(request({ timestamp: 0, limit: 1 }));
  for (let round = 0; round < 5; round++) {
    const readers = Array.from({ length: 32 }, subscribe);
    await until('each has its four', () => readers.every(({ frames }) => frames.length >= 4));
    for (const { requestId } of readers) client.socket.emit(socketEvents.stop, { requestId });
    await Promise.all(readers.map(({ stopped }) => stopped));
  }
  await subscribe().until((messages) => messages.length === 10);
});

describe('a client that reads nothing', () => {
  test('costs about one frame of memory, and is ended once it is far behind', {
    tags: ['slow'],
  }, async () => {
    const { log, baseUrl, tokenText, clock, socket, connect } = await setUp();
    await appendWide(log, 10);
    const readers = await Promise.all(Array.from({ length: 8 }, () => openRawWith(baseUrl, tokenText)));
    const before = await heldBytes();
    for (const reader of readers) {
      reader.send(`42${JSON.stringify([socketEvents.subscribe, request({ timestamp: 0 })])}`);
      reader.pause();
    }
    await until('all subscribed', () => socket.counts().subscriptions === 8);
    await clock.advance(3_000);
    // The service has time for ten frames of each reader.
    const other = await connect();
    const reads = other.subscribe(request({ timestamp: 0, limit: 1_000 }));
    await until('another reader got ten frames', () => reads.frames.length >= 10);
    other.close();
    const kibibytes = ((await heldBytes()) - before) / readers.length / 1024;
    process.stdout.write(`a reader that takes nothing costs ${Math.max(0, kibibytes).toFixed(0)} KiB\n`);
    expect(kibibytes).toBeLessThan(2 * 1024);
    expect(socket.counts().subscriptions).toBe(8);
    await clock.advance(30_000);
    await until('all have been ended', () => socket.counts().subscriptions === 0);
    const [first] = readers;
    const stopped = nextEvent(first!, socketEvents.stop);
    first!.resume();
    expect(await stopped).toMatchObject({ reason: 'consumer_too_slow' });
  });

  test.runIf(isSoak)('delays the end of the service by a few seconds at most', async () => {
    const { app, log, baseUrl, tokenText, stream, socket } = await setUp();
    await appendWide(log, 5);
    const reader = await openRawWith(baseUrl, tokenText);
    reader.send(`42${JSON.stringify([socketEvents.subscribe, request({ timestamp: 0 })])}`);
    reader.pause();
    await until('it has subscribed', () => socket.counts().subscriptions === 1);
    stream.drain();
    // After 85 s engine.io would end it, because it answers no ping.
    const ended = app.close().then(() => 'ended');
    expect(await Promise.race([ended, sleep(30_000, 'late', { ref: false })])).toBe('ended');
  });

  test("cannot fill the server's memory with answers", async () => {
    const { baseUrl, tokenText, socket } = await setUp({ requestsPerMinuteMax: 1_000 });
    const reader = await openRawWith(baseUrl, tokenText);
    reader.pause();
    for (let number = 0; number < 5_000; number++) reader.send(`42["${socketEvents.subscribe}",{}]`);
    await until('it was disconnected', () => socket.counts().sockets === 0);
  });
});

test(`${SUBSCRIBERS} subscribers cost one read of the log for each batch`, { tags: ['slow'] }, async () => {
  const reads: bigint[] = [];
  const service = await setUp({
    clock: systemClock,
    openLog: () => {
      const log = memoryLog(systemClock);
      return {
        ...log,
        read: (asked) => {
          if (asked.from !== 'oldest') reads.push(asked.from);
          return log.read(asked);
        },
      };
    },
  });
  const readers = await Promise.all(
    Array.from({ length: SUBSCRIBERS }, async () => {
      const client = await service.connect();
      const reader = client.subscribe(request());
      await reader.answer;
      return reader;
    }),
  );
  await until('all wait', async () => {
    const count = reads.length;
    await sleep(100);
    return reads.length === count;
  });
  reads.length = 0;
  for (let batch = 0; batch < 10; batch++) {
    await service.log.append(telemetryBatch(100, { first: batch * 100 }));
    await until('all have it', () => readers.every(({ messages }) => messages.length === (batch + 1) * 100));
  }
  expect(reads).toHaveLength(10);
  const ids = Array.from({ length: 1_000 }, (_, id) => id);
  for (const { messages } of readers) expect(messages.map(({ msg_id }) => msg_id)).toEqual(ids);
});

test('a clock that is set back an hour changes nothing for readers and loses no position', async () => {
  const { log, connect, clock } = await setUp();
  const client = await connect();
  const reader = client.subscribe(request());
  await reader.answer;
  await log.append(telemetryBatch(3));
  await reader.until((messages) => messages.length === 3);
  const nowMs = clock.now();
  clock.set(nowMs - HOUR_MS);
  await log.append(telemetryBatch(3, { first: 3 }));
  await reader.until((messages) => messages.length === 6);
  await clock.advance(15_000);
  await until('an empty frame came', () => reader.frames.at(-1)!.count === 0);
  const later = client.subscribe(request({ timestamp: nowMs - HOUR_MS }));
  await later.until((messages) => messages.length === 6);
  clock.set(nowMs);
  await log.append(telemetryBatch(3, { first: 6 }));
  for (const each of [reader, later])
    await each.until((messages) => messages.map(({ msg_id }) => msg_id).join() === '0,1,2,3,4,5,6,7,8');
});
