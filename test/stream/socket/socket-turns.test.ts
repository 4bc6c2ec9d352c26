import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { decodeCbor } from '../../../src/cbor/cbor-codec.ts';
import { type EncodedBatch, encodeMessages } from '../../../src/contract/encode-messages.ts';
import { socketEvents } from '../../../src/contract/socket-events.ts';
import { limits } from '../../../src/contract/wire-limits.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { HOUR_MS, systemClock } from '../../../src/lib/time.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import { telemetryBatch, wideTelemetry } from '../../support/messages.ts';
import { openRawWith } from '../../support/raw-socket.ts';
import { isSoak } from '../../support/rounds.ts';
import { connectTo } from '../../support/socket-client.ts';
import { startStreamService } from '../../support/stream-service.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';

/** A service that counts the reads of its log, and the most reads of one turn of the event loop. */
async function setUp() {
  const reads: number[] = [];
  const turn = { reads: 0, readsMost: 0 };
  const countInTurn = () => {
    if (turn.reads === 0) setImmediate(() => (turn.reads = 0));
    turn.readsMost = Math.max(turn.readsMost, ++turn.reads);
  };
  const clock = systemClock;
  const timers = createTestClock();
  const service = await startStreamService({
    clock,
    socketTimer: timers.startTimer,
    openLog: () => {
      const log = createMemoryLog({ clock, retentionMs: HOUR_MS, bytesMax: 1e9, logger: silentLogger });
      return {
        ...log,
        read: (asked) => {
          if (asked.bytesMax > 0) {
            reads.push(asked.bytesMax);
            countInTurn();
          }
          return log.read(asked);
        },
      };
    },
  });
  const token = await service.token();
  return { ...service, log: await service.stream.logOf('acme'), token, reads, turn, timers };
}

test.runIf(isSoak)(
  'many subscriptions of a client that reads nothing cost as many reads as one subscription',
  async () => {
    const { log, baseUrl, token, socket, reads } = await setUp();
    const { firstOffset } = await log.append(encodeMessages(wideTelemetry(60_000), 'solar'));
    const reader = await openRawWith(baseUrl, token);
    reader.pause();
    for (let number = 0; number < 30; number++) {
      // No two of them can share a frame.
      const payload = { requestId: randomUUID(), offset: String(firstOffset + BigInt(number)) };
      reader.send(`42${JSON.stringify([socketEvents.subscribe, payload])}`);
    }
    await until('all have subscribed', () => socket.counts().subscriptions === 30);
    let count: number;
    do {
      count = reads.length;
      await sleep(300);
    } while (reads.length !== count);
    // The buffers of the connection take some frames of 1 MiB.
    expect(count).toBeLessThan(20);
    expect(count).toBeGreaterThan(0);

    // Each is sent four frames without an acknowledgement. No read is thrown away.
    let frames = 0;
    reader.on('message', (_data, isBinary) => {
      if (isBinary) frames++;
    });
    reader.resume();
    await until('all frames came', () => frames === 30 * limits.framesUnacknowledgedMax);
    expect(reads).toHaveLength(frames);
  },
);

test('subscriptions of one connection take turns, and each gets everything', async () => {
  const { log, token, ...service } = await setUp();
  const { firstOffset } = await log.append(telemetryBatch(200));
  const client = await connectTo(service, { auth: { token, workgroupId: 'acme' } });
  const order: string[] = [];
  const readers = [0, 1, 2, 3].map((number) => {
    const offset = String(firstOffset + BigInt(number));
    const reader = client.subscribe({ requestId: randomUUID(), offset, limit: 5 });
    return { ...reader, number };
  });
  client.socket.on(socketEvents.data, () => {
    for (const { frames, requestId } of readers)
      for (let seen = order.filter((id) => id === requestId).length; seen < frames.length; seen++)
        order.push(requestId);
  });
  for (const { number, until: wait, messages } of readers) {
    await wait(({ length }) => length === 200 - number);
    expect(messages.map(({ msg_id }) => msg_id)).toEqual(
      Array.from({ length: 200 - number }, (_, index) => index + number),
    );
  }
  const [first, , , last] = readers;
  expect(order.indexOf(last!.requestId)).toBeLessThan(order.lastIndexOf(first!.requestId));
  expect(order.indexOf(first!.requestId)).toBeLessThan(order.lastIndexOf(last!.requestId));
});

test('a subscription gets its part even if the frames of others fill the connection', {
  tags: ['slow'],
}, async () => {
  const { log, token, timers, ...service } = await setUp();
  const client = await connectTo(service, { auth: { token, workgroupId: 'acme' }, acknowledge: false });
  const { firstOffset } = await log.append(telemetryBatch(1));
  const first = { requestId: randomUUID(), offset: String(firstOffset), table: 'solar' };
  await client.subscribe(first).until(({ length }) => length === 1);
  // After this time only the transport holds the subscriptions of the connection back.
  await timers.advance(3_000);
  await log.append(encodeMessages(wideTelemetry(4_000), 'wide'));
  const order: string[] = [];
  client.socket.on(socketEvents.data, (bytes: Buffer) => {
    order.push((decodeCbor(bytes) as { requestId: string }).requestId);
  });
  const readers = [0, 1, 2, 3].map(() =>
    client.subscribe({ ...first, requestId: randomUUID(), table: 'wide' }),
  );
  for (const { until: wait } of readers) await wait(({ length }) => length === 4_000);
  expect(order.indexOf(readers[3]!.requestId)).toBeLessThan(order.lastIndexOf(readers[0]!.requestId));
});

describe('frames of one turn of the event loop are sent together, but not more than', () => {
  /** The most frames of one turn for a client that does not acknowledge. */
  const mostFramesOfOneTurn = async (batch: EncodedBatch, limit: number) => {
    const { log, token, turn, timers, ...service } = await setUp();
    const client = await connectTo(service, { auth: { token, workgroupId: 'acme' }, acknowledge: false });
    const reader = client.subscribe({ requestId: randomUUID(), timestamp: 0, limit });
    await reader.answer;
    await log.append(batch);
    await reader.until(({ length }) => length === limits.framesUnacknowledgedMax * limit);
    await timers.advance(3_000);
    await reader.until(({ length }) => length === batch.count);
    return turn.readsMost;
  };

  test('four', async () => {
    expect(await mostFramesOfOneTurn(telemetryBatch(60), 2)).toBe(4);
  });

  test('as many as fill half a mebibyte', async () => {
    const frameBytes = encodeMessages(wideTelemetry(1_000), 'solar').bytes.length;
    expect(frameBytes).toBeGreaterThan(2 ** 19 / 3);
    expect(await mostFramesOfOneTurn(encodeMessages(wideTelemetry(8_000), 'solar'), 1_000)).toBe(
      Math.ceil(2 ** 19 / frameBytes),
    );
  });
});
