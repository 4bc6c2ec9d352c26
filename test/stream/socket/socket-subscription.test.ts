import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { decodeCbor } from '../../../src/cbor/cbor-codec.ts';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { OFFSET_MAX, offsetOf } from '../../../src/contract/offset.ts';
import { socketEvents } from '../../../src/contract/socket-events.ts';
import { MEBIBYTE } from '../../../src/lib/units.ts';
import { deviceId, telemetry, telemetryBatch } from '../../support/messages.ts';
import { connectTo } from '../../support/socket-client.ts';
import { createTestClock, TEST_START_MS } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { memoryLog, request, setUp } from './start-socket-service.ts';

describe('a subscription', () => {
  test('starts after the newest message and is answered by the acknowledgement and by an event', async () => {
    const { log, connect } = await setUp();
    await log.append(telemetryBatch(3));
    const client = await connect();
    const reader = client.subscribe(request());
    const { next, epoch } = await log.bounds();
    const expected = { requestId: reader.requestId, nextOffset: String(next), epoch };
    expect(await reader.answer).toEqual(expected);
    expect(client.answers).toEqual([expected]);
    await log.append(telemetryBatch(2, { first: 100 }));
    await reader.until((messages) => messages.length === 2);
    expect(reader.messages.map((message) => message.msg_id)).toEqual([100, 101]);
  });

  test('gets the body of a REST read with its requestId and the stored bytes', async () => {
    const { log, connect, call, tokenText } = await setUp();
    await log.append(telemetryBatch(5));
    const { bytes } = await call('/api/v1/tables/acme/solar/latest', { token: tokenText });
    const client = await connect();
    const received = new Promise<Buffer>((resolve) => client.socket.once(socketEvents.data, resolve));
    const { requestId, answer } = client.subscribe(request({ timestamp: TEST_START_MS }));
    const frame = await received;
    const fromOffset = BigInt((await answer).nextOffset as string);
    expect(decodeCbor(frame)).toEqual({ ...(decodeCbor(bytes) as object), requestId, fromOffset });
    const messages = bytes.subarray(bytes.indexOf('messages'));
    expect(frame.subarray(frame.indexOf('messages')).equals(messages)).toBe(true);
  });

  test('gets frames that each start at the end of the frame before, even if messages are filtered out', async () => {
    const { log, connect, token, baseUrl, clock } = await setUp();
    const roof = { token: await token({ deviceGroups: ['roof'] }), workgroupId: 'acme' };
    const readers = [];
    for (const client of [await connect(), await connectTo({ baseUrl }, { auth: roof })]) {
      const reader = client.subscribe(request({ timestamp: TEST_START_MS - 1_000, limit: 3 }));
      readers.push(reader);
      await reader.answer;
    }
    for (let round = 0; round < 10; round++)
      for (const device of [1, 2, 2]) await log.append(telemetryBatch(4, { device }));
    await readers[0]!.until((messages) => messages.length === 120);
    await readers[1]!.until((messages) => messages.length === 40);
    await clock.advance(15_000);
    for (const { frames, answer } of readers) {
      await until('a frame without messages came', () => frames.at(-1)!.count === 0);
      let from = BigInt((await answer).nextOffset as string);
      for (const frame of frames as Array<(typeof frames)[number] & { fromOffset: unknown }>) {
        expect(BigInt(frame.fromOffset as bigint)).toBe(from);
        from = BigInt(frame.nextOffset);
      }
    }
  });

  test('starts at an offset, at a time or where the log allows, and reports it', async () => {
    const { log, connect, clock } = await setUp();
    const { firstOffset } = await log.append(telemetryBatch(3));
    await clock.advance(60_000);
    await log.append(telemetryBatch(3, { first: 10 }));
    const client = await connect();
    const begun = async (start: Record<string, unknown>, count: number) => {
      const reader = client.subscribe(request(start));
      const answer = await reader.answer;
      await reader.until((messages) => messages.length >= count);
      return { ids: reader.messages.map(({ msg_id }) => msg_id), answer };
    };
    const minuteLater = new Date(TEST_START_MS + 60_000).toISOString();
    expect((await begun({ offset: String(firstOffset + 1n) }, 5)).ids).toEqual([1, 2, 10, 11, 12]);
    expect((await begun({ offset: String(firstOffset), timestamp: minuteLater }, 6)).ids).toHaveLength(6);
    const later = await begun({ timestamp: minuteLater }, 3);
    expect(later.ids).toEqual([10, 11, 12]);
    expect(later.answer).toMatchObject({ nextOffset: String(offsetOf(TEST_START_MS + 60_000)) });
    expect((await begun({ timestamp: TEST_START_MS + 60_000 }, 3)).ids).toEqual([10, 11, 12]);
    const old = await begun({ timestamp: 0 }, 6);
    expect(old.answer).toMatchObject({ clamped: 'retention', nextOffset: String(firstOffset) });
    const { next } = await log.bounds();
    expect((await begun({ timestamp: TEST_START_MS + 3_600_000 }, 0)).answer).toMatchObject({
      clamped: 'future',
      nextOffset: String(next),
    });
    expect(
      (await begun({ offset: null, timestamp: null, limit: null, table: null }, 0)).answer,
    ).toMatchObject({ nextOffset: String(next) });
  });

  test('starts at the oldest message if messages expire meanwhile, and skips messages before its time', async () => {
    let expired = 1;
    const clock = createTestClock();
    const { log, connect } = await setUp({
      clock,
      openLog: () => {
        const opened = memoryLog(clock);
        return {
          ...opened,
          read: async (asked) =>
            expired-- > 0 ? { kind: 'expired', bounds: await opened.bounds() } : opened.read(asked),
        };
      },
    });
    await log.append(telemetryBatch(2));
    const client = await connect();
    const reader = client.subscribe(request({ timestamp: TEST_START_MS }));
    expect(await reader.answer).toMatchObject({ clamped: 'retention' });
    await reader.until((messages) => messages.length === 2);

    const later = client.subscribe(request({ timestamp: TEST_START_MS + 1_000 }));
    expect(await later.answer).toMatchObject({ clamped: 'future' });
    await clock.advance(2_000);
    const exact = client.subscribe(request({ timestamp: TEST_START_MS + 1_000 }));
    await exact.answer;
    clock.set(TEST_START_MS + 500);
    await log.append(telemetryBatch(2, { first: 2 }));
    clock.set(TEST_START_MS + 1_000);
    await log.append(telemetryBatch(2, { first: 4 }));
    await later.until((messages) => messages.length === 4);
    await exact.until((messages) => messages.length === 2);
    expect(exact.messages.map(({ msg_id }) => msg_id)).toEqual([4, 5]);
  });

  test('is refused for the same reasons as a REST read, with offsets as text', async () => {
    const { log, connect, clock, call, tokenText } = await setUp({ retentionMs: 60_000 });
    await log.append(telemetryBatch(3));
    await clock.advance(120_000);
    await log.append(telemetryBatch(1));
    const client = await connect();
    const bad: Array<[member: string, value: unknown, error: string]> = [
      ...['', '-1', '1,2', ' 1', '18446744073709551616', 1.5, -1, 2 ** 60, {}, [], [7], true].map(
        (value): [string, unknown, string] => ['offset', value, 'InvalidOffset'],
      ),
      ...['', 'yesterday', '2026-11-20T12:00:00', 1.5, {}, true].map((value): [string, unknown, string] => [
        'timestamp',
        value,
        'InvalidTimestamp',
      ]),
      ...[0, -1, 1.5, '1.5', 'all', '', {}].map((value): [string, unknown, string] => [
        'limit',
        value,
        'InvalidLimit',
      ]),
      ...['', '../x', 7, {}, 'x'.repeat(200)].map((value): [string, unknown, string] => [
        'table',
        value,
        'InvalidRequest',
      ]),
    ];
    for (const [member, value, error] of bad)
      expect(await client.subscribe(request({ [member]: value })).answer, `${member} ${value}`).toMatchObject(
        {
          error,
          parameter: member,
          status: 400,
          retryable: false,
        },
      );
    expect(await client.subscribe(request({ offset: 2 ** 60 })).answer).toMatchObject({
      message: expect.stringContaining('must be sent as text'),
    });
    for (const offset of ['5', String(OFFSET_MAX)]) {
      const { body } = await call(`/api/v1/tables/acme/solar/latest?offset=${offset}`, { token: tokenText });
      const { requestId, ...answer } = await client.subscribe(request({ offset })).answer;
      const asText = Object.entries(body).map(([key, value]) => [
        key,
        typeof value === 'bigint' ? String(value) : value,
      ]);
      expect(answer).toEqual(Object.fromEntries(asText));
      expect(client.answers.at(-1)).toEqual({ requestId, ...answer });
    }
    expect(client.answers.at(-1)).toMatchObject({ error: 'OffsetAhead' });
  });

  test('needs a requestId that is a UUID and not in use on the connection', async () => {
    const { connect, socket } = await setUp();
    const client = await connect();
    for (const payload of [
      {},
      { requestId: 7 },
      { requestId: 'x' },
      { requestId: '' },
      null,
      'text',
      [],
      { __proto__: { requestId: randomUUID() } },
    ]) {
      const answer = await client.socket.emitWithAck(socketEvents.subscribe, payload);
      expect(answer).toMatchObject({ error: 'InvalidRequest', parameter: 'requestId' });
    }
    expect(await client.socket.emitWithAck(socketEvents.subscribe)).toMatchObject({
      error: 'InvalidRequest',
    });
    const { requestId, answer } = client.subscribe(request());
    const again = client.socket.emitWithAck(socketEvents.subscribe, { requestId });
    expect(await answer).toHaveProperty('epoch');
    expect(await again).toMatchObject({ requestId, error: 'DuplicateRequest' });
    expect(socket.counts().subscriptions).toBe(1);
    const other = await connect();
    expect(await other.socket.emitWithAck(socketEvents.subscribe, { requestId })).toHaveProperty('epoch');
    client.socket.emit(socketEvents.stop, { requestId });
    await until('it has ended', () => socket.counts().subscriptions === 1);
    expect(await client.subscribe({ requestId }).answer).toHaveProperty('epoch');
  });

  test('returns a table, all tables, or without a table everything that the token may read', async () => {
    const service = await setUp();
    const { log, token } = service;
    const audit = { actor: 'a', action: 'b', event_time: 1 };
    const status = { device: deviceId(1), state: 'online' as const, event_time: 1 };
    await log.append(encodeMessages([...telemetry(1), audit, status], 'solar'));
    await log.append(telemetryBatch(1, { table: 'grid', device: 2 }));
    await log.append(telemetryBatch(1, { table: 'last' }));
    const tablesOf = async (scope: Parameters<typeof token>[0], members: Record<string, unknown>) => {
      const client = await connectTo(service, {
        auth: { token: await token(scope), workgroupId: 'acme' },
      });
      const reader = client.subscribe(request({ timestamp: 0, ...members }));
      const answer = await reader.answer;
      if ('error' in answer) return answer.error;
      await reader.until(() => reader.frames.some(({ upToDate }) => upToDate));
      return reader.messages.map(({ table }) => table);
    };
    const search = { permissions: ['search:read'] };
    expect(await tablesOf({}, {})).toEqual(['solar', 'audit_logs', 'devices', 'grid', 'last']);
    expect(await tablesOf({}, { table: '-' })).toEqual(['solar', 'audit_logs', 'devices', 'grid', 'last']);
    expect(await tablesOf({}, { table: 'audit_logs' })).toEqual(['audit_logs']);
    expect(await tablesOf(search, {})).toEqual(['solar', 'devices', 'grid', 'last']);
    expect(await tablesOf(search, { table: 'grid' })).toEqual(['grid']);
    expect(await tablesOf(search, { table: '-' })).toBe('InsufficientScope');
    expect(await tablesOf(search, { table: 'audit_logs' })).toBe('InsufficientScope');
    expect(await tablesOf({ ...search, deviceGroups: ['roof'] }, {})).toEqual(['solar', 'devices', 'last']);
    expect(await tablesOf({ deviceGroups: ['yard'] }, { table: '-' })).toEqual(['grid']);
  });

  test('gets frames of at most its limit and 1 MiB, and a larger message alone', async () => {
    const { log, connect } = await setUp();
    await log.append(telemetryBatch(1_500));
    const text = 'x'.repeat(4_000);
    const wide = (fields: number) =>
      encodeMessages(
        [
          {
            device: deviceId(1),
            event_time: 1,
            data: Object.fromEntries(Array.from({ length: fields }, (_, field) => [`f${field}`, text])),
          },
        ],
        'solar',
      );
    const client = await connect();
    const limited = client.subscribe(request({ timestamp: 0, limit: 400 }));
    const all = client.subscribe(request({ timestamp: 0, limit: 50_000 }));
    await limited.until((messages) => messages.length === 1_500);
    await all.until((messages) => messages.length === 1_500);
    expect(limited.frames.map(({ count }) => count)).toEqual([400, 400, 400, 300]);
    expect(all.frames.map(({ count }) => count)).toEqual([1_000, 500]);

    const sizes: number[] = [];
    client.socket.on(socketEvents.data, (bytes: Buffer) => sizes.push(bytes.length));
    const { next } = await log.bounds();
    for (const fields of [120, 120, 120, 270, 1]) await log.append(wide(fields));
    const large = client.subscribe(request({ offset: String(next) }));
    await large.until((messages) => messages.length === 5);
    for (const each of [limited, all]) await each.until((messages) => messages.length === 1_505);
    // Two of the first three fit into a frame. Which, depends on what the live subscriptions had when they
    // made the frames that all share.
    const counts = large.frames.map(({ count }) => count);
    expect(counts.slice(-2)).toEqual([1, 1]);
    expect(counts.slice(0, -2).every((count) => count <= 2)).toBe(true);
    expect(sizes.filter((size) => size > MEBIBYTE)).toHaveLength(3);
    const { nextOffset } = large.frames.at(-1)!;
    expect(nextOffset).toBe((await log.bounds()).next);
  });

  test('gets a new epoch of the log at once, and no earlier message again', async () => {
    const clock = createTestClock();
    let changed = Promise.withResolvers<void>();
    let isLost = false;
    const { log, connect } = await setUp({
      clock,
      openLog: () => {
        const opened = memoryLog(clock);
        return {
          ...opened,
          async read(asked) {
            const outcome = await opened.read(asked);
            if (!isLost) return outcome;
            const none = outcome.kind === 'batch' && { parts: [], count: 0, bytes: 0 };
            return { ...outcome, ...none, bounds: { ...outcome.bounds, epoch: 'another' } };
          },
          waitFor: (...asked) => Promise.race([opened.waitFor(...asked), changed.promise]),
        };
      },
    });
    const { firstOffset } = await log.append(telemetryBatch(2));
    const client = await connect();
    const reader = client.subscribe(request({ offset: String(firstOffset) }));
    await reader.until((messages) => messages.length === 2);
    isLost = true;
    const { resolve } = changed;
    changed = Promise.withResolvers();
    resolve();
    await until('it is told', () => reader.frames.length === 2);
    expect(reader.frames[1]).toMatchObject({ count: 0, epoch: 'another' });
    const later = client.subscribe(request({ offset: String(firstOffset) }));
    expect(await later.answer).toMatchObject({ epoch: 'another' });
  });

  test('gets an empty frame with its position after 15 s without another one, even if all messages are filtered out', async () => {
    const { log, connect, clock } = await setUp();
    const client = await connect();
    const reader = client.subscribe(request({ table: 'solar' }));
    await reader.answer;
    await clock.advance(14_999);
    await log.append(telemetryBatch(4, { table: 'grid' }));
    const { next } = await log.bounds();
    expect(reader.frames).toEqual([]);
    await clock.advance(1);
    await until('an empty frame came', () => reader.frames.length === 1);
    expect(reader.frames[0]).toMatchObject({ messages: [], count: 0, nextOffset: next, upToDate: true });
    await clock.advance(10_000);
    await log.append(telemetryBatch(1));
    await reader.until((messages) => messages.length === 1);
    await clock.advance(14_999);
    expect(reader.frames).toHaveLength(2);
    await clock.advance(1);
    await until('another came', () => reader.frames.length === 3);
    expect(reader.frames[2]).toMatchObject({ count: 0, nextOffset: (await log.bounds()).next });
  });

  test('works over HTTP polling and across the change to a WebSocket', async () => {
    const { log, connect } = await setUp();
    await log.append(telemetryBatch(3_000));
    for (const transports of [['polling'], ['polling', 'websocket']]) {
      const client = await connect({ transports });
      const reader = client.subscribe(request({ timestamp: 0 }));
      const count = reader.messages.length;
      await log.append(telemetryBatch(10));
      const total = await log.countFrom(0n);
      await reader.until((messages) => messages.length === total);
      const offsets = reader.messages.map(({ offset }) => offset);
      expect(new Set(offsets).size).toBe(total);
      expect(count).toBeLessThan(total);
      expect(client.socket.io.engine.transport.name).toBe(transports.at(-1));
      client.close();
    }
  });

  test('counts against the limits of a connection and of requests a minute', async () => {
    const { connect, token, baseUrl, socket } = await setUp({
      requestsPerMinuteMax: 10,
      socketLimits: { subscriptionsPerSocketMax: 2 },
    });
    const client = await connect();
    const answers = await Promise.all([1, 2, 3].map(() => client.subscribe(request()).answer));
    expect(answers.map(({ error }) => error)).toEqual([undefined, undefined, 'RateLimited']);
    const more = await Promise.all(Array.from({ length: 12 }, () => client.subscribe({}).answer));
    expect(more.map(({ error }) => error)).toEqual([
      // The connection and three subscriptions count in the same share.
      ...Array(6).fill('InvalidRequest'),
      ...Array(6).fill('RateLimited'),
    ]);
    expect(more.at(-1)!.message).toMatch(/wait 6 s/);
    const other = await connectTo({ baseUrl }, { auth: { token: await token() } });
    expect(await other.subscribe(request()).answer).toHaveProperty('epoch');
    const gone = new Promise((resolve) => client.socket.once('disconnect', resolve));
    for (let number = 0; number < 200; number++) client.socket.emit('what', number);
    expect(await gone).toBe('io server disconnect');
    await until('its subscriptions are gone', () => socket.counts().subscriptions === 1);
  });
});
