import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { decodeCbor } from '../../../src/cbor/cbor-codec.ts';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { OFFSET_MAX, offsetOf } from '../../../src/contract/offset.ts';
import { SOCKET_PATH, socketEvents } from '../../../src/contract/socket-events.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import type { Clock } from '../../../src/lib/time.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import type { StreamLog } from '../../../src/stream/log/stream-log.ts';
import { deviceId, telemetry, telemetryBatch } from '../../support/messages.ts';
import { type ClientOptions, clientOf, connectTo } from '../../support/socket-client.ts';
import { type StreamService, startStreamService } from '../../support/stream-service.ts';
import { createTestClock, TEST_START_MS } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';

const MIB = 1024 * 1024;

async function setUp(options: Parameters<typeof startStreamService>[0] = {}) {
  const clock = createTestClock();
  const service = await startStreamService({
    clock,
    socketTimer: clock.startTimer,
    groups: { roof: [deviceId(1)], yard: [deviceId(2)] },
    ...options,
  });
  const log = await service.stream.logOf('acme');
  const tokenText = await service.token();
  const connect = (rest: ClientOptions = {}) =>
    connectTo(service, { auth: { token: tokenText, workgroupId: 'acme' }, ...rest });
  return { ...service, clock, log, tokenText, connect };
}

/** What a client hears that is refused. */
async function refusal(service: StreamService, options: ClientOptions): Promise<Record<string, unknown>> {
  const error = await connectTo(service, options).catch(
    (reason: { data: Record<string, unknown> }) => reason,
  );
  if (!('data' in error)) throw new Error('the connection was not refused');
  return error.data;
}

function memoryLog(clock: Clock): StreamLog {
  return createMemoryLog({ clock, retentionMs: 3_600_000, bytesMax: 256e6, logger: silentLogger });
}

const request = (more: Record<string, unknown> = {}) => ({ requestId: randomUUID(), ...more });

describe('a handshake', () => {
  test('takes the token and the workgroup in its auth, in the query or in an Authorization header', async () => {
    const service = await setUp();
    const forms: ClientOptions[] = [
      { auth: { token: service.tokenText, workgroupId: 'acme' } },
      { query: { token: service.tokenText, orgName: 'acme' } },
      { extraHeaders: { authorization: `Bearer ${service.tokenText}` }, query: { orgName: 'acme' } },
      { extraHeaders: { authorization: `Bearer ${service.tokenText}` } },
    ];
    for (const transport of ['websocket', 'polling']) {
      for (const form of forms) {
        const client = await connectTo(service, { ...form, transports: [transport] });
        expect(await client.subscribe(request()).answer).toHaveProperty('nextOffset');
        client.close();
      }
    }
  });

  test('is refused with the error map that a REST read answers with', async () => {
    const service = await setUp();
    const writer = await service.token({ permissions: ['data:write'] });
    const cases: Array<[auth: Record<string, unknown>, path: string]> = [
      [{ token: 'nonsense', workgroupId: 'acme' }, 'acme'],
      [{ token: `${service.tokenText}x`, workgroupId: 'acme' }, 'acme'],
      [{ token: service.tokenText, workgroupId: 'other' }, 'other'],
      [{ token: service.tokenText, workgroupId: 'nowhere' }, 'nowhere'],
      [{ token: service.tokenText, workgroupId: '__proto__' }, '__proto__'],
      [{ token: writer, workgroupId: 'acme' }, 'acme'],
    ];
    for (const [auth, workgroupId] of cases) {
      const { body } = await service.call(`/api/v1/tables/${workgroupId}/solar/latest`, {
        token: String(auth.token),
      });
      expect(await refusal(service, { auth })).toEqual(body);
    }
    expect(await refusal(service, {})).toMatchObject({ error: 'AuthenticationRequired', status: 401 });
    expect(await refusal(service, { auth: { token: 7, workgroupId: ['acme'] } })).toMatchObject({
      error: 'AuthenticationRequired',
    });
  });

  test('must name the workgroup where the token knows several', async () => {
    const service = await setUp();
    const scope = { permissions: ['search:read' as const] };
    const { token } = await service.access.issue({
      subject: 'both',
      scopes: { acme: scope, other: scope },
      lifetimeMs: 60_000,
    });
    expect(await refusal(service, { auth: { token } })).toMatchObject({
      error: 'InvalidRequest',
      parameter: 'workgroupId',
    });
    await connectTo(service, { auth: { token, workgroupId: 'other' } });
    const one = service.tokenText;
    const unclear: ClientOptions[] = [
      { auth: { token: one, workgroupId: ['acme'] } },
      { auth: { token: one, workgroupId: { id: 'other' } } },
    ];
    for (const form of unclear)
      expect(await refusal(service, form)).toMatchObject({
        error: 'InvalidRequest',
        parameter: 'workgroupId',
      });
  });

  test('leaves no token in the log, whatever its form and however it ends', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) });
    const service = await setUp({ logger });
    const { tokenText } = service;
    const client = await connectTo(service, { query: { token: tokenText, orgName: 'acme' } });
    await client.subscribe(request({ token: tokenText })).answer;
    await client.subscribe({ requestId: tokenText }).answer;
    client.close();
    await refusal(service, { auth: { token: `${tokenText}x`, workgroupId: 'acme' } });
    await refusal(service, { query: { token: tokenText, orgName: 'other' }, transports: ['polling'] });
    await until('the end is logged', () => lines.some((line) => line.includes('socket.disconnected')));
    const signature = tokenText.split('.')[2]!.slice(0, 20);
    expect(lines.filter((line) => line.includes(signature))).toEqual([]);
  });

  test('is refused beyond the connections that a token or a workgroup may have, until one ends', async () => {
    const limits = { socketsPerTokenMax: 2, socketsPerWorkgroupMax: 3 };
    const service = await setUp({ socketLimits: limits });
    const auth = { token: service.tokenText, workgroupId: 'acme' };
    const others = { token: await service.token(), workgroupId: 'acme' };
    const first = await connectTo(service, { auth });
    await connectTo(service, { auth });
    expect(await refusal(service, { auth })).toMatchObject({ error: 'RateLimited', retryable: true });
    await connectTo(service, { auth: others });
    expect(await refusal(service, { auth: others })).toMatchObject({ error: 'RateLimited' });
    first.close();
    await until('it has gone', () => service.socket.counts().sockets === 2);
    await connectTo(service, { auth });
  });
});

describe('a subscription', () => {
  test('begins after the newest message, and is answered by the acknowledgement and by an event', async () => {
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

  test('gets the body of a REST read and its requestId, the stored bytes as they are', async () => {
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

  test('says in every frame where it begins: at the end of the frame before, also where messages were left out', async () => {
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

  test('begins at an offset, at a time, or where the log allows it, and says so', async () => {
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

  test('begins with the oldest message where that has changed meanwhile, and leaves out what is older than its time', async () => {
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

  test('is refused for what REST refuses, with the same details, offsets being text', async () => {
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

  test('shows a table, all tables, or all that the token may see where it names none', async () => {
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
    expect(large.frames.map(({ count }) => count)).toEqual([2, 1, 1, 1]);
    expect(sizes.filter((size) => size > MIB)).toHaveLength(3);
    const { nextOffset } = large.frames.at(-1)!;
    expect(nextOffset).toBe((await log.bounds()).next);
  });

  test('is told at once that the log has begun anew, also where nothing comes, and gets nothing that was read before', async () => {
    const clock = createTestClock();
    let changed = Promise.withResolvers<void>();
    let lost = false;
    const { log, connect } = await setUp({
      clock,
      openLog: () => {
        const opened = memoryLog(clock);
        return {
          ...opened,
          async read(asked) {
            const outcome = await opened.read(asked);
            if (!lost) return outcome;
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
    lost = true;
    const { resolve } = changed;
    changed = Promise.withResolvers();
    resolve();
    await until('it is told', () => reader.frames.length === 2);
    expect(reader.frames[1]).toMatchObject({ count: 0, epoch: 'another' });
    const later = client.subscribe(request({ offset: String(firstOffset) }));
    expect(await later.answer).toMatchObject({ epoch: 'another' });
  });

  test('gets an empty frame with its position after every 15 s without another, also where all is filtered out', async () => {
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

  test('works the same over HTTP polling, and across the change to a WebSocket', async () => {
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

  test('is one of few on a connection, and of few requests a minute', async () => {
    const { connect, token, baseUrl, socket } = await setUp({
      requestsPerMinuteMax: 10,
      socketLimits: { subscriptionsPerSocketMax: 2 },
    });
    const client = await connect();
    const answers = await Promise.all([1, 2, 3].map(() => client.subscribe(request()).answer));
    expect(answers.map(({ error }) => error)).toEqual([undefined, undefined, 'RateLimited']);
    const more = await Promise.all(Array.from({ length: 12 }, () => client.subscribe({}).answer));
    expect(more.map(({ error }) => error)).toEqual([
      // The connection itself and three subscriptions came out of the same share.
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

test('connections without a token that is valid are counted for their address, and cost those with one nothing', async () => {
  const { token, baseUrl } = await setUp({ requestsPerMinuteMax: 6 });
  const connectWith = (text: string) =>
    connectTo({ baseUrl }, { auth: { token: text, workgroupId: 'acme' } }).then(
      () => 'connected',
      (error: { data?: { error: string } }) => error.data?.error,
    );
  const codes: unknown[] = [];
  for (let number = 0; number < 9; number++) codes.push(await connectWith(`invented-${number}`));
  expect(codes).toEqual([...Array(6).fill('InvalidToken'), ...Array(3).fill('RateLimited')]);
  expect(await connectWith(await token())).toBe('connected');
});

describe('the end of a subscription', () => {
  test('comes when the client asks for it, with the position to resume from', async () => {
    const { log, connect } = await setUp();
    const client = await connect();
    const reader = client.subscribe(request());
    await reader.answer;
    await log.append(telemetryBatch(3));
    await reader.until((messages) => messages.length === 3);
    const { requestId } = reader;
    expect(await client.socket.emitWithAck(socketEvents.stop, { requestId })).toEqual({ requestId });
    expect(await reader.stopped).toEqual({
      requestId,
      reason: 'client_stop',
      nextOffset: String((await log.bounds()).next),
    });
    expect(await client.socket.emitWithAck(socketEvents.stop, { requestId })).toMatchObject({
      requestId,
      error: 'InvalidRequest',
    });
    await log.append(telemetryBatch(3));
    const resumed = client.subscribe(request({ offset: (await reader.stopped).nextOffset }));
    await resumed.until((messages) => messages.length === 3);
    expect(reader.messages).toHaveLength(3);
  });

  test('in the middle of a replay names the position after the last frame', async () => {
    const { log, connect } = await setUp();
    await log.append(telemetryBatch(5_000));
    const { earliest } = await log.bounds();
    for (let frames = 1; frames <= 20; frames++) {
      const client = await connect();
      const reader = client.subscribe(request({ offset: String(earliest), limit: 10 }));
      await until('some frames came', () => reader.frames.length >= frames);
      client.socket.emit(socketEvents.stop, { requestId: reader.requestId });
      const { nextOffset } = await reader.stopped;
      expect(reader.messages.length).toBeLessThan(5_000);
      expect(nextOffset).toBe(String(reader.frames.at(-1)!.nextOffset));
      client.close();
    }
  });

  test('comes within a second of the end of its token, by time or revoked by whatever process', async () => {
    const service = await setUp();
    const { access, clock, log } = service;
    const issue = async (lifetimeMs: number) =>
      access.issue({ subject: 't', scopes: { acme: { permissions: ['search:read'] } }, lifetimeMs });
    const [brief, revoked, lasting] = [await issue(30_000), await issue(600_000), await issue(600_000)];
    const readers = await Promise.all(
      [brief, revoked, lasting].map(async ({ token }) => {
        const client = await connectTo(service, { auth: { token, workgroupId: 'acme' } });
        const gone = new Promise((resolve) => client.socket.once('disconnect', resolve));
        const reader = client.subscribe(request());
        await reader.answer;
        return { reader, gone };
      }),
    );
    const nextOffset = String((await log.bounds()).next);
    access.revoke(revoked.tokenId);
    await clock.advance(1_000);
    expect(await readers[1]!.reader.stopped).toMatchObject({
      reason: 'token_expired',
      nextOffset,
      error: { error: 'InvalidToken', status: 401 },
    });
    expect(await readers[1]!.gone).toBe('io server disconnect');
    await clock.advance(29_000);
    expect(await readers[0]!.reader.stopped).toMatchObject({ reason: 'token_expired', nextOffset });
    await readers[0]!.gone;
    expect(service.socket.counts()).toMatchObject({ sockets: 1, subscriptions: 1 });
    expect(await refusal(service, { auth: { token: revoked.token } })).toMatchObject({
      error: 'InvalidToken',
    });
  });

  test('comes where messages that it has not read are gone, and is not passed over', async () => {
    const { log, connect, clock } = await setUp({ retentionMs: 60_000 });
    const acknowledgements: Array<() => void> = [];
    const client = await connect({ acknowledge: (acknowledge) => acknowledgements.push(acknowledge) });
    const reader = client.subscribe(request({ limit: 1 }));
    await reader.answer;
    await log.append(telemetryBatch(10));
    await until('four frames are under way', () => acknowledgements.length === 4);
    acknowledgements[0]!();
    await until('the next came', () => acknowledgements.length === 5);
    await clock.advance(61_000);
    await log.append(telemetryBatch(1));
    for (const acknowledge of acknowledgements) acknowledge();
    const { earliest, next, epoch } = await log.bounds();
    expect(await reader.stopped).toEqual({
      requestId: reader.requestId,
      reason: 'offset_expired',
      nextOffset: String(reader.messages.at(-1)!.offset + 1n),
      error: {
        error: 'OffsetExpired',
        message: expect.any(String),
        status: 410,
        retryable: false,
        parameter: 'offset',
        earliestOffset: String(earliest),
        nextOffset: String(next),
        epoch,
      },
    });
  });

  test('comes for all when the service drains, with their positions; then connections close and new ones are refused', async () => {
    const service = await setUp();
    const { log, connect, stream, tokenText } = service;
    await log.append(telemetryBatch(3));
    const clients = await Promise.all([connect(), connect({ transports: ['polling'] })]);
    const readers = clients.flatMap((client) => [
      client.subscribe(request({ timestamp: 0 })),
      client.subscribe(request()),
    ]);
    for (const reader of readers) await reader.answer;
    for (const reader of [readers[0]!, readers[2]!]) await reader.until((messages) => messages.length === 3);
    const closed = clients.map(
      (client) => new Promise((resolve) => client.socket.once('disconnect', resolve)),
    );
    const address = `${service.baseUrl}${SOCKET_PATH}/?EIO=4&transport=polling`;
    const opened = await (await fetch(address)).text();
    const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
    const started = performance.now();
    stream.drain();
    const nextOffset = String((await log.bounds()).next);
    for (const reader of readers)
      expect(await reader.stopped).toMatchObject({ reason: 'server_draining', nextOffset });
    await Promise.all(closed);
    expect(performance.now() - started).toBeLessThan(4_000);
    expect(await refusal(service, { auth: { token: tokenText } })).toMatchObject({
      error: 'Draining',
      retryable: true,
    });
    expect(service.socket.counts()).toMatchObject({ sockets: 0, subscriptions: 0 });
    const poll = async () => (await fetch(`${address}&sid=${sid}`, { method: 'POST', body: '3' })).status;
    await until(
      'one that had not even said who it is has been ended',
      async () => (await poll()) === 400,
      5_000,
    );
  });

  test('comes with its connection, and nothing of it is left', async () => {
    const clock = createTestClock();
    let waiting = 0;
    const service = await setUp({
      clock,
      socketTimer: clock.startTimer,
      openLog: () => {
        const log = memoryLog(clock);
        return {
          ...log,
          waitFor: async (position, signal) => {
            waiting++;
            await log.waitFor(position, signal);
            waiting--;
          },
        };
      },
    });
    const idleTimers = clock.timersPending;
    const auth = { token: service.tokenText, workgroupId: 'acme' };
    const clients = await Promise.all(
      Array.from({ length: 5 }, () => connectTo(service, { auth, acknowledge: false })),
    );
    for (const client of clients) {
      for (let number = 0; number < 4; number++) await client.subscribe(request()).answer;
    }
    await until('all wait', () => waiting === 20);
    const log = await service.stream.logOf('acme');
    await log.append(telemetryBatch(1));
    await until('all wait again', () => waiting === 20 && clock.timersPending > 20);
    for (const client of clients) client.close();
    await until('all have gone', () => service.socket.counts().sockets === 0);
    await until('nobody waits', () => waiting === 0);
    expect(service.socket.counts().subscriptions).toBe(0);
    expect(clock.timersPending).toBe(idleTimers);
  });
});

test('the other servers of a host with several addresses take it to the same place', async () => {
  const { app, baseUrl } = await setUp();
  const other = createServer((asked, answer) => app.routing(asked, answer));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const address = `:${port}${SOCKET_PATH}/?EIO=4&transport=polling`;
  const opened = await (await fetch(`http://127.0.0.1${address}`)).text();
  const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
  const sent = await fetch(`${baseUrl}${SOCKET_PATH}/?EIO=4&transport=polling&sid=${sid}`, {
    method: 'POST',
    body: '40',
  });
  expect(sent.status).toBe(200);
  expect(await (await fetch(`http://127.0.0.1${address}&sid=${sid}`)).text()).toContain(
    'AuthenticationRequired',
  );
});

test('other addresses of the server are as before, and its own takes no other upgrades', async () => {
  const { call, tokenText, baseUrl } = await setUp();
  expect((await call('/api/v1/tables/acme/solar/latest', { token: tokenText })).status).toBe(200);
  expect((await call('/nothing', {})).status).toBe(404);
  const answer = await fetch(`${baseUrl}${SOCKET_PATH}/?EIO=4&transport=polling`, {
    headers: { origin: 'https://elsewhere.example' },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  expect(answer.headers.get('set-cookie')).toBeNull();
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(await answer.text()).toContain('"upgrades":["websocket"]');
  expect((await fetch(`${baseUrl}${SOCKET_PATH}/socket.io.js`)).status).toBe(400);
  const client = clientOf({ baseUrl }, { path: '/elsewhere', timeout: 500 });
  const error = await new Promise<Error & { description?: Error }>((resolve) =>
    client.socket.once('connect_error', resolve),
  );
  expect(error.description?.message).toContain('404');
});
