import { describe, expect, test } from 'vitest';
import { createAccess } from '../../../src/access/access.ts';
import { decodeCbor, encodeCbor } from '../../../src/cbor/cbor-codec.ts';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { offsetOf } from '../../../src/contract/offset.ts';
import { createHttpServer } from '../../../src/http/http-server.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemClock } from '../../../src/lib/time.ts';
import { registerOpenApi } from '../../../src/report/openapi.ts';
import { registerStreamRoutes, type StreamRoutesOptions } from '../../../src/stream/rest/stream-routes.ts';
import { deviceId, telemetry, telemetryBatch, wideTelemetry } from '../../support/messages.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { TEST_START_MS } from '../../support/test-clock.ts';
import { ALL, bodyOf, SOLAR, setUp, setUpHolding, until } from './start-rest-service.ts';

test('the API description names CBOR for all answers', async () => {
  const access = await createAccess({ dataDir: tempDir(), issuer: 'wattline', clock: systemClock });
  const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 1 });
  registerOpenApi(app, { version: '0' });
  registerStreamRoutes(app, {} as StreamRoutesOptions);
  const { paths } = (await app.inject('/openapi.json')).json() as {
    paths: Record<
      string,
      Record<string, { requestBody?: unknown; responses: Record<string, { content: object }> }>
    >;
  };
  const routes = Object.values(paths).flatMap((methods) => Object.values(methods));
  expect(routes).toHaveLength(2);
  for (const { responses } of routes) {
    expect(Object.keys(responses)).toEqual(
      expect.arrayContaining(['200', '400', '401', '403', '429', '503']),
    );
    for (const { content } of Object.values(responses))
      expect(Object.keys(content)).toEqual(['application/cbor']);
  }
  expect(routes[1]!.requestBody).toMatchObject({
    content: { 'application/cbor': {}, 'application/json': {} },
  });
  await app.close();
});

describe('a read', () => {
  test('answers with the body and headers of the contract, byte for byte', async () => {
    const { log, read } = await setUp(0x1_0000_0000);
    const { epoch } = await log.bounds();
    await log.append(encodeMessages([{ device: deviceId(1), event_time: 7, data: { p: 1.5 } }], 'solar'));
    const answer = await read(SOLAR);
    const text = (value: string) => Buffer.concat([Buffer.from([0x60 + value.length]), Buffer.from(value)]);
    const uint64 = (value: bigint) => {
      const bytes = Buffer.alloc(9);
      bytes[0] = 0x1b;
      bytes.writeBigUInt64BE(value, 1);
      return bytes;
    };
    const offset = 0x1_0000_0000n << 20n;
    expect(answer.bytes.toString('hex')).toBe(
      Buffer.concat([
        Buffer.from([0xa6]),
        ...[text('nextOffset'), uint64(offset + 1n)],
        ...[text('count'), Buffer.from([1])],
        ...[text('upToDate'), Buffer.from([0xf5])],
        ...[text('earliestOffset'), uint64(offset)],
        ...[text('epoch'), Buffer.from([0x78, 36]), Buffer.from(epoch)],
        ...[text('messages'), Buffer.from([0x81, 0xa8])],
        ...[text('offset'), uint64(offset)],
        ...[text('store_time'), uint64(0x1_0000_0000n)],
        ...[text('table'), text('solar')],
        ...[text('kind'), text('telemetry')],
        ...[text('device'), Buffer.from([0x78, 36]), Buffer.from(deviceId(1))],
        ...[text('source'), Buffer.from([0xf6])],
        ...[text('event_time'), Buffer.from([7])],
        ...[text('data'), Buffer.from([0xa1]), text('p'), Buffer.from('fa3fc00000', 'hex')],
      ]).toString('hex'),
    );
    expect(answer.headers).toMatchObject({
      'content-type': 'application/cbor',
      'content-length': String(answer.bytes.length),
      'stream-next-offset': String(offset + 1n),
      'stream-up-to-date': 'true',
      'stream-lag-messages': '0',
      'cache-control': 'no-store',
      vary: 'Authorization',
      'x-content-type-options': 'nosniff',
      'preference-applied': 'wait=0',
    });
    expect(answer.headers).not.toHaveProperty('transfer-encoding');
  });

  test('with limit and offset returns every message once', async () => {
    const { log, read } = await setUp();
    for (let round = 0; round < 5; round++) await log.append(telemetryBatch(3, { first: round * 3 }));
    const ids: unknown[] = [];
    let path = `${SOLAR}?limit=4`;
    for (let upToDate = false; !upToDate; ) {
      const answer = await read(path);
      const body = bodyOf(answer);
      expect(answer.headers['stream-next-offset']).toBe(String(body.nextOffset));
      expect(body.messages).toHaveLength(body.count);
      expect(answer.headers['stream-lag-messages']).toBe(String(15 - ids.length - body.count));
      ids.push(...body.messages.map((message) => ('msg_id' in message ? message.msg_id : undefined)));
      upToDate = body.upToDate;
      path = `${SOLAR}?limit=4&offset=${body.nextOffset}`;
    }
    expect(ids).toEqual(Array.from({ length: 15 }, (_, index) => index));
  });

  test('of the wildcard returns all tables in one order, of a table only its messages', async () => {
    const { log, read } = await setUp();
    await log.append(telemetryBatch(2, { table: 'solar' }));
    await log.append(telemetryBatch(2, { table: 'wind' }));
    await log.append(telemetryBatch(2, { table: 'solar' }));
    const { next } = await log.bounds();
    const tables = async (path: string) => bodyOf(await read(path)).messages.map((message) => message.table);
    expect(await tables(ALL)).toEqual(['solar', 'solar', 'wind', 'wind', 'solar', 'solar']);
    expect(await tables(SOLAR)).toEqual(['solar', 'solar', 'solar', 'solar']);
    const nobody = bodyOf(await read('/api/v1/tables/acme/nobody/latest'));
    expect(nobody).toMatchObject({ messages: [], count: 0, nextOffset: next, upToDate: true });
  });

  test('with a limit above the maximum uses the maximum', { tags: ['slow'] }, async () => {
    const { log, read } = await setUp();
    await log.append(encodeMessages(wideTelemetry(10_000), 'solar'));
    await log.append(telemetryBatch(5));
    for (const limit of ['10001', '99999999999999999999', '10000'])
      expect(bodyOf(await read(`${SOLAR}?limit=${limit}`))).toMatchObject({ count: 10_000, upToDate: false });
    expect(bodyOf(await read(SOLAR))).toMatchObject({ count: 10_000 });
  });

  test('has a body of at most 8 MiB, and the next read returns the rest', { tags: ['slow'] }, async () => {
    const { log, read } = await setUp();
    const wide = wideTelemetry(9_000).map((item) => ({
      ...item,
      data: { ...item.data, note: 'x'.repeat(900) },
    }));
    await log.append(encodeMessages(wide, 'solar'));
    const first = await read(SOLAR);
    expect(first.bytes.length).toBeLessThanOrEqual(8 * 1024 * 1024);
    expect(first.bytes.length).toBeGreaterThan(8 * 1024 * 1024 - 2_500);
    const { count, nextOffset } = bodyOf(first);
    expect(bodyOf(await read(`${SOLAR}?offset=${nextOffset}`)).count).toBe(9_000 - count);
  });

  test('by timestamp selects by store time in ISO 8601 or milliseconds, and reports when it was clamped', async () => {
    const { clock, log, read } = await setUp();
    await log.append(telemetryBatch(1));
    await clock.advance(5_000);
    await log.append(telemetryBatch(2));
    const asked = TEST_START_MS + 5_000;
    for (const timestamp of [
      String(asked),
      '2026-11-20T12:00:05Z',
      '2026-11-20T12:00:05.000Z',
      '2026-11-20T13:00:05%2B01:00',
      '2026-11-20T04:00:05-08:00',
    ]) {
      const body = bodyOf(await read(`${SOLAR}?timestamp=${timestamp}`));
      expect(body).toMatchObject({ count: 2 });
      expect(body).not.toHaveProperty('clamped');
    }
    expect(bodyOf(await read(`${SOLAR}?timestamp=0`))).toMatchObject({ count: 3, clamped: 'retention' });
    expect(bodyOf(await read(`${SOLAR}?timestamp=2999-01-01T00:00:00Z`))).toMatchObject({
      count: 0,
      clamped: 'future',
    });
  });

  test('prefers offset to timestamp and ignores unknown parameters', async () => {
    const { log, read } = await setUp();
    const { lastOffset } = await log.append(telemetryBatch(3));
    const body = bodyOf(await read(`${SOLAR}?offset=${lastOffset}&timestamp=nonsense&colour=blue`));
    expect(body.count).toBe(1);
  });

  test('ends its wait when a message fills it, and Prefer shortens the wait', async () => {
    const { log, hold, heldReads, clock } = await setUpHolding();
    const filled = await hold(`${SOLAR}?limit=1`, { headers: { prefer: 'wait=15' } });
    await log.append(telemetryBatch(1));
    const answer = await filled.answer;
    expect(bodyOf(answer).count).toBe(1);
    expect(answer.headers['preference-applied']).toBe('wait=15');
    const short = await hold(`${SOLAR}?limit=2`, { headers: { prefer: 'respond-async, wait=0.2' } });
    await clock.advance(199);
    expect(heldReads()).toBe(1);
    await clock.advance(1);
    const shortAnswer = await short.answer;
    expect(shortAnswer.headers['preference-applied']).toBe('wait=0.2');
    expect(bodyOf(shortAnswer).count).toBe(1);
  });

  test('says how long it may be held, if the caller asks for longer', async () => {
    const { log, call, tokenText } = await setUp();
    await log.append(telemetryBatch(1));
    const answer = await call(`${SOLAR}?limit=1`, { token: tokenText, headers: { prefer: 'wait=600' } });
    expect(answer.headers['preference-applied']).toBe('wait=20');
  });

  test('of an idle stream answers after one second, up to date and with a position', async () => {
    const { hold, heldReads, clock } = await setUpHolding();
    const held = await hold(SOLAR, { headers: { prefer: 'return=minimal' } });
    await clock.advance(999);
    expect(heldReads()).toBe(1);
    await clock.advance(1);
    const answer = await held.answer;
    expect(answer.headers).not.toHaveProperty('preference-applied');
    expect(bodyOf(answer)).toMatchObject({ messages: [], upToDate: true, nextOffset: 0 });
  });

  test('ends at once when its caller disconnects', async () => {
    const { hold, heldReads } = await setUpHolding();
    const caller = new AbortController();
    const held = await hold(SOLAR, { headers: { prefer: 'wait=20' }, signal: caller.signal });
    const gone = expect(held.answer).rejects.toThrow('aborted');
    expect(heldReads()).toBe(1);
    caller.abort();
    await until(() => heldReads() === 0);
    await gone;
  });
});

describe('draining', () => {
  test('ends held reads at once with their messages, and refuses new requests with 503 and Retry-After', async () => {
    const { call, hold, log, stream, tokenText } = await setUpHolding();
    await log.append(telemetryBatch(2));
    const held = await hold(`${SOLAR}?limit=100`, { headers: { prefer: 'wait=20' } });
    stream.drain();
    expect(bodyOf(await held.answer)).toMatchObject({ count: 2, upToDate: true });
    for (const [path, method] of [
      [SOLAR, 'GET'],
      ['/api/v1/tables/acme/solar/messages', 'POST'],
    ] as const) {
      const refused = await call(path, { method, token: tokenText });
      expect(refused).toMatchObject({ status: 503, body: { error: 'Draining', retryable: true } });
      expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    }
  });
});

test('messages of every kind are returned as they were sent, also with integers of 64 bits', async () => {
  const { call, tokenText, read } = await setUp();
  const sent = [
    {
      ...telemetry(1)[0]!,
      data: { big: 2n ** 64n - 1n, small: -(2n ** 63n), text: 'é\u{1f600}', on: true, none: null },
    },
  ];
  const posted = await call('/api/v1/tables/acme/solar/messages', {
    method: 'POST',
    token: tokenText,
    headers: { 'content-type': 'application/cbor' },
    body: encodeCbor(sent),
  });
  expect(posted.body).toEqual({
    accepted: 1,
    firstOffset: offsetOf(TEST_START_MS),
    lastOffset: offsetOf(TEST_START_MS),
  });
  const [message] = bodyOf(await read(ALL)).messages;
  expect(message).toEqual({
    ...sent[0],
    table: 'solar',
    kind: 'telemetry',
    offset: offsetOf(TEST_START_MS),
    store_time: TEST_START_MS,
  });
  expect(decodeCbor((await read(ALL)).bytes)).toHaveProperty('count', 1);
});

test('a sender that prefers JSON gets its answer and its errors in JSON, with offsets as text', async () => {
  const { call, tokenText } = await setUp();
  const send = (accept: string | undefined, body: string) =>
    call('/api/v1/tables/acme/solar/messages', {
      method: 'POST',
      token: tokenText,
      headers: { 'content-type': 'application/json', ...(accept !== undefined && { accept }) },
      body: Buffer.from(body),
    });
  const item = JSON.stringify([{ device: deviceId(1), event_time: 7, data: { p: 1 } }]);
  const stored = await send('application/json', item);
  expect(stored.headers['content-type']).toBe('application/json; charset=utf-8');
  const offset = String(offsetOf(TEST_START_MS));
  expect(JSON.parse(Buffer.from(stored.bytes).toString())).toEqual({
    accepted: 1,
    firstOffset: offset,
    lastOffset: offset,
  });
  const refused = await send('application/json', '{');
  expect(JSON.parse(Buffer.from(refused.bytes).toString())).toMatchObject({
    error: 'InvalidRequest',
    status: 400,
  });
  for (const accept of ['application/json; charset=utf-8', 'application/cbor;q=0, application/*'])
    expect((await send(accept, item)).headers['content-type']).toBe('application/json; charset=utf-8');
  for (const accept of [
    undefined,
    '*/*',
    'application/cbor, application/json;q=0.8',
    'application/json;q=0',
    'application/json;q=0.5, */*',
    `${'text/html,'.repeat(100)}application/json`,
  ])
    expect((await send(accept, item)).headers['content-type']).toBe('application/cbor');
});
