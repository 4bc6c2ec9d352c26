import { describe, expect, test } from 'vitest';
import { createAccess } from '../../../src/access/access.ts';
import { decodeCbor, encodeCbor } from '../../../src/cbor/cbor-codec.ts';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import type { ReadBody } from '../../../src/contract/messages.ts';
import { offsetOf } from '../../../src/contract/offset.ts';
import { createHttpServer } from '../../../src/http/http-server.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemClock } from '../../../src/lib/time.ts';
import { registerOpenApi } from '../../../src/report/openapi.ts';
import { registerStreamRoutes, type StreamRoutesOptions } from '../../../src/stream/rest/stream-routes.ts';
import { deviceId, telemetry, telemetryBatch, wideTelemetry } from '../../support/messages.ts';
import { type Answer, startStreamService } from '../../support/stream-service.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../../support/test-clock.ts';

const SOLAR = '/api/v1/tables/acme/solar/latest';
const ALL = '/api/v1/tables/acme/-/latest';

async function setUp(startMs = TEST_START_MS) {
  const clock = createTestClock(startMs);
  const service = await startStreamService({
    clock,
    groups: { roof: [deviceId(1)], yard: [deviceId(2)] },
  });
  const log = await service.stream.logOf('acme');
  const token = await service.token();
  const read = (path: string, headers?: Record<string, string>) =>
    service.call(path, { token, ...(headers && { headers }) });
  return { ...service, clock, log, tokenText: token, read };
}

function bodyOf(answer: Answer): ReadBody {
  expect(answer.status).toBe(200);
  return answer.body as unknown as ReadBody;
}

test('the description of the routes says that everything is answered in CBOR', async () => {
  const access = await createAccess({ dataDir: tempDir(), issuer: 'wattline', clock: systemClock });
  const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 1 });
  await registerOpenApi(app, { version: '0' });
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

  test('pages with limit and offset give every message once', async () => {
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

  test('the wildcard reads all tables in one order, a table only its own, a table nobody wrote to nothing', async () => {
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

  test('a limit above the maximum is served as the maximum', async () => {
    const { log, read } = await setUp();
    await log.append(encodeMessages(wideTelemetry(10_000), 'solar'));
    await log.append(telemetryBatch(5));
    for (const limit of ['10001', '99999999999999999999', '10000'])
      expect(bodyOf(await read(`${SOLAR}?limit=${limit}`))).toMatchObject({ count: 10_000, upToDate: false });
    expect(bodyOf(await read(SOLAR))).toMatchObject({ count: 10_000 });
  });

  test('a body stays within 8 MiB and the rest comes next', async () => {
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

  test('a timestamp selects by append time, is ISO 8601 or milliseconds, and says when it was clamped', async () => {
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

  test('offset wins over timestamp, and unknown parameters are ignored', async () => {
    const { log, read } = await setUp();
    const { lastOffset } = await log.append(telemetryBatch(3));
    const body = bodyOf(await read(`${SOLAR}?offset=${lastOffset}&timestamp=nonsense&colour=blue`));
    expect(body.count).toBe(1);
  });

  test('a message that arrives ends the wait of a full request; Prefer shortens a held one', async () => {
    const { log, call, tokenText } = await setUp();
    const held = call(`${SOLAR}?limit=1`, { token: tokenText, headers: { prefer: 'wait=15' } });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await log.append(telemetryBatch(1));
    const answer = await held;
    expect(bodyOf(answer).count).toBe(1);
    expect(answer.headers['preference-applied']).toBe('wait=15');
    const startedMs = performance.now();
    const short = await call(`${SOLAR}?limit=2`, {
      token: tokenText,
      headers: { prefer: 'respond-async, wait=0.2' },
    });
    expect(performance.now() - startedMs).toBeGreaterThan(190);
    expect(performance.now() - startedMs).toBeLessThan(900);
    expect(short.headers['preference-applied']).toBe('wait=0.2');
    expect(bodyOf(short).count).toBe(1);
  });

  test('without a preference an idle stream answers after one second, up to date and with a position', async () => {
    const { read } = await setUp();
    const startedMs = performance.now();
    const answer = await read(SOLAR, { prefer: 'return=minimal' });
    expect(performance.now() - startedMs).toBeGreaterThan(990);
    expect(answer.headers).not.toHaveProperty('preference-applied');
    expect(bodyOf(answer)).toMatchObject({ messages: [], upToDate: true, nextOffset: 0 });
  });

  test('a caller that goes away frees its request at once', async () => {
    const { call, tokenText, stream } = await setUp();
    const log = await stream.logOf('acme');
    let held = 0;
    const waitFor = log.waitFor.bind(log);
    log.waitFor = async (position, signal) => {
      held++;
      await waitFor(position, signal);
      held--;
    };
    const caller = new AbortController();
    const request = call(SOLAR, {
      token: tokenText,
      headers: { prefer: 'wait=20' },
      signal: caller.signal,
    }).catch(() => 'gone');
    await until(() => held === 1);
    const startedMs = performance.now();
    caller.abort();
    await until(() => held === 0);
    expect(performance.now() - startedMs).toBeLessThan(600);
    expect(await request).toBe('gone');
  });
});

describe('what a caller may see', () => {
  test('device groups filter every read and the position still moves on', async () => {
    const { log, call, token } = await setUp();
    for (const device of [1, 2, 3]) await log.append(telemetryBatch(2, { device }));
    await log.append(encodeMessages([{ actor: 'a', action: 'b', event_time: 1 }], 'audit_logs'));
    const { next } = await log.bounds();
    const seen = async (deviceGroups: string[], path = SOLAR) => {
      const body = bodyOf(await call(path, { token: await token({ deviceGroups }) }));
      expect(body.nextOffset).toBe(next);
      return body.messages.map((message) => ('device' in message ? message.device : undefined));
    };
    expect(await seen(['roof'])).toEqual([deviceId(1), deviceId(1)]);
    expect(await seen(['yard', 'roof'], ALL)).toEqual([1, 1, 2, 2].map(deviceId));
    expect(await seen(['gone'], ALL)).toEqual([]);
    expect(await seen(['roof'], '/api/v1/tables/acme/audit_logs/latest')).toEqual([]);
  });

  test('audit messages need org:audit, alone and in the wildcard', async () => {
    const { log, call, token } = await setUp();
    await log.append(
      encodeMessages([{ actor: 'ops', action: 'token.revoke', event_time: 1, data: { n: 1 } }], 'audit_logs'),
    );
    const reader = await token({ permissions: ['search:read'] });
    const required = ['search:read', 'org:audit'];
    for (const name of ['-', '%2D', 'audit_logs', '%61udit_logs']) {
      const path = `/api/v1/tables/acme/${name}/latest`;
      const refused = await call(path, { token: reader });
      expect(refused).toMatchObject({ status: 403, body: { error: 'InsufficientScope', required } });
      expect(refused.headers['www-authenticate']).toContain('insufficient_scope');
      const auditor = await token({ permissions: required });
      expect(bodyOf(await call(path, { token: auditor })).messages[0]).toMatchObject({
        kind: 'audit',
        actor: 'ops',
      });
      const auditOnly = await token({ permissions: ['org:audit'] });
      expect(await call(path, { token: auditOnly })).toMatchObject({ status: 403 });
    }
    expect(bodyOf(await call(SOLAR, { token: reader })).count).toBe(0);
    expect(await call(SOLAR, { token: await token({ permissions: ['data:write'] }) })).toMatchObject({
      status: 403,
      body: { required: ['search:read'] },
    });
  });

  test('without a token, with another scheme, or with a bad token it is 401 with the right challenge', async () => {
    const { call } = await setUp();
    const none: Record<string, string> = {};
    for (const headers of [none, { authorization: 'Basic YTpi' }, { authorization: 'Bearer' }]) {
      const answer = await call(SOLAR, { headers });
      expect(answer).toMatchObject({
        status: 401,
        body: { error: 'AuthenticationRequired', retryable: false },
      });
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
    const bad = await call(SOLAR, { headers: { authorization: 'bearer nonsense' } });
    expect(bad).toMatchObject({ status: 401, body: { error: 'InvalidToken' } });
    expect(bad.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
  });

  test('a revoked or expired token gets no further than its next request', async () => {
    const { access, call, clock, token, tokenText } = await setUp();
    const other = await token();
    access.revoke(access.list()[0]!.tokenId);
    expect(await call(SOLAR, { token: other })).toMatchObject({
      status: 401,
      body: { error: 'InvalidToken' },
    });
    expect(await call(SOLAR, { token: tokenText })).toMatchObject({ status: 200 });
    await clock.advance(3_600_000);
    expect(await call(SOLAR, { token: tokenText })).toMatchObject({
      status: 401,
      body: { error: 'InvalidToken', message: 'the token has expired' },
    });
  });

  test('a held read ends within a second of the end of its token, revoked or by time, and gives nothing from after it', async () => {
    const clock = createTestClock();
    const service = await startStreamService({ clock, streamTimer: clock.startTimer });
    const log = await service.stream.logOf('acme');
    const hold = async (lifetimeMs: number) => {
      const { token, tokenId } = await service.access.issue({
        subject: 't',
        scopes: { acme: { permissions: ['search:read'] } },
        lifetimeMs,
      });
      const before = clock.timersPending;
      const held: { answer?: Answer; afterMs?: number; tokenId: string } = { tokenId };
      const startedMs = clock.now();
      void service.call(SOLAR, { token, headers: { prefer: 'wait=20' } }).then((answer) => {
        Object.assign(held, { answer, afterMs: clock.now() - startedMs });
      });
      await until(() => clock.timersPending >= before + 2);
      return held;
    };
    const lasting = await hold(600_000);
    const brief = await hold(6_000);
    const revoked = await hold(600_000);
    // A message every half second keeps them all waiting for the next.
    for (let round = 1; round <= 24; round++) {
      if (round === 8) service.access.revoke(revoked.tokenId);
      await log.append(telemetryBatch(1, { first: round }));
      await clock.advance(500);
      if (round === 9) await until(() => revoked.answer !== undefined);
      if (round === 12) await until(() => brief.answer !== undefined);
    }
    // The clock is turned by half seconds, and a log that answers over a socket may see one of them late.
    const seenLateMs = 500;
    expect(revoked.answer).toMatchObject({ status: 401, body: { error: 'InvalidToken' } });
    expect(revoked.afterMs).toBeLessThanOrEqual(4_000 + seenLateMs);
    expect(brief.afterMs).toBeGreaterThanOrEqual(6_000);
    expect(brief.afterMs).toBeLessThanOrEqual(6_000 + seenLateMs);
    expect(bodyOf(brief.answer!)).toMatchObject({ count: 12, upToDate: true });
    expect(lasting.answer).toBeUndefined();
    await clock.advance(1_000);
    await until(() => lasting.answer !== undefined);
    expect(bodyOf(lasting.answer!).count).toBe(24);
    expect(lasting.afterMs).toBeGreaterThanOrEqual(12_500);
    expect(lasting.afterMs).toBeLessThanOrEqual(12_500 + seenLateMs);
  });

  test('a foreign workgroup and one that does not exist get the same answer, byte for byte', async () => {
    const { call, token, tokenText } = await setUp();
    const foreign = await call('/api/v1/tables/other/solar/latest', { token: tokenText });
    const missing = await call('/api/v1/tables/nowhere/solar/latest', { token: tokenText });
    const gone = await call('/api/v1/tables/nowhere/solar/latest', { token: await token({}, 'nowhere') });
    const nonsense = await call('/api/v1/tables/..%2Facme/solar/latest', { token: tokenText });
    expect(foreign).toMatchObject({
      status: 403,
      body: { error: 'WorkgroupForbidden', required: ['search:read'] },
    });
    for (const answer of [missing, gone, nonsense]) {
      expect(answer.status).toBe(403);
      expect(answer.bytes.equals(foreign.bytes)).toBe(true);
    }
  });

  test('workgroups do not see each other', async () => {
    const { call, log, stream, token } = await setUp();
    await log.append(telemetryBatch(3));
    await (await stream.logOf('other')).append(telemetryBatch(1));
    const other = await token({}, 'other');
    expect(bodyOf(await call('/api/v1/tables/other/-/latest', { token: other })).count).toBe(1);
    expect(await call(SOLAR, { token: other })).toMatchObject({ status: 403 });
  });
});

describe('errors', () => {
  test('an error is the map of the contract, byte for byte', async () => {
    const { read } = await setUp();
    const answer = await read(`${SOLAR}?limit=0`);
    const text = (value: string) =>
      Buffer.concat([
        Buffer.from(value.length < 24 ? [0x60 + value.length] : [0x78, value.length]),
        Buffer.from(value),
      ]);
    expect(answer.bytes.toString('hex')).toBe(
      Buffer.concat([
        Buffer.from([0xa5]),
        ...[text('error'), text('InvalidLimit')],
        ...[text('message'), text('limit must be one integer from 1 to 10000')],
        ...[text('status'), Buffer.from([0x19, 0x01, 0x90])],
        ...[text('retryable'), Buffer.from([0xf4])],
        ...[text('parameter'), text('limit')],
      ]).toString('hex'),
    );
    expect(answer.status).toBe(400);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/cbor',
      'content-length': String(answer.bytes.length),
      'x-content-type-options': 'nosniff',
    });
  });

  test.each([
    [
      'InvalidOffset',
      'offset',
      [
        '',
        '-1',
        '%2B1',
        '+1',
        '1,2',
        '%201',
        '1%20',
        '1.0',
        '1e3',
        '0x1',
        'abc',
        '18446744073709551616',
        '%00',
        '000000000000000000000',
        '1%0A',
        '1;limit=2',
        '%D9%A1',
        '%EF%BC%91',
      ],
    ],
    [
      'InvalidLimit',
      'limit',
      ['', '0', '-5', '1.5', 'ten', '1,2', '%2B1', '1e3', '%201', '5%00', '0x10', '%D9%A5'],
    ],
    [
      'InvalidTimestamp',
      'timestamp',
      [
        '',
        'yesterday',
        '2026-11-20',
        '2026-11-20T12:00:00',
        '2026-02-30T12:00:00Z',
        '-1',
        '1.5',
        '2026-11-20T13:00:05+01:00',
        '2026-11-20T23:59:60Z',
        '2026-11-20T24:00:00Z',
        '2026-11-20T12:00:00%2B24:00',
        '2026-11-20T12:00:00%E2%88%9202:00',
        '2026-11-20T12:00:00Z[Europe/Paris]',
        '2026-W47-5T12:00Z',
        '-1000000-01-01T00:00:00Z',
        '9999999999999999',
        'now',
      ],
    ],
  ])('%s for every value that is not one', async (error, parameter, values) => {
    const { read } = await setUp();
    const queries = values.map((value) => `${parameter}=${value}`);
    for (const query of [...queries, `${parameter}=1&${parameter}=1`])
      expect(await read(`${SOLAR}?${query}`), query).toMatchObject({
        status: 400,
        body: { error, parameter, status: 400, retryable: false },
      });
  });

  test('an expired offset is 410 with the way on, also for a caller who sees none of the messages', async () => {
    const { call, clock, log, read, token } = await setUp();
    const old = await log.append(telemetryBatch(3));
    await clock.advance(3_599_000);
    const young = await log.append(telemetryBatch(2));
    await clock.advance(2_000);
    // Tokens live for an hour as well.
    const fresh = await token();
    const { epoch } = await log.bounds();
    const details = { earliestOffset: young.firstOffset, nextOffset: young.lastOffset + 1n, epoch };
    expect(await call(`${SOLAR}?offset=${old.firstOffset}`, { token: fresh })).toMatchObject({
      status: 410,
      body: { error: 'OffsetExpired', retryable: false, ...details },
    });
    expect(await call(`${SOLAR}?offset=${old.lastOffset + 1n}`, { token: fresh })).toMatchObject({
      status: 200,
    });
    expect(await read(SOLAR)).toMatchObject({ status: 401 });
  });

  test('an offset past the tail is 416 with the tail, on an empty log too', async () => {
    const { log, read } = await setUp();
    const { epoch } = await log.bounds();
    expect(await read(`${SOLAR}?offset=1`)).toMatchObject({
      status: 416,
      body: { error: 'OffsetAhead', nextOffset: 0, epoch },
    });
    const { lastOffset } = await log.append(telemetryBatch(1));
    expect(await read(`${SOLAR}?offset=18446744073709551615`)).toMatchObject({
      status: 416,
      body: { error: 'OffsetAhead', nextOffset: lastOffset + 1n, epoch },
    });
  });

  test('a table name that cannot be one is refused', async () => {
    const { read } = await setUp();
    for (const name of [
      '.hidden',
      'a%2Fb',
      'a%20b',
      '%C3%A9',
      `${'x'.repeat(129)}`,
      '--',
      'a;b',
      'a%00',
      'audit_logs%00',
      'a%0d%0aX-Injected:%201',
    ])
      expect(await read(`/api/v1/tables/acme/${name}/latest`), name).toMatchObject({
        status: 400,
        body: { error: 'InvalidRequest', parameter: 'tableName' },
      });
    expect(await read(`/api/v1/tables/acme/${'x'.repeat(128)}/latest`)).toMatchObject({ status: 200 });
  });

  test('HEAD is answered as GET is, and only to whom GET is', async () => {
    const { baseUrl, tokenText } = await setUp();
    const head = (token: string) =>
      fetch(`${baseUrl}${SOLAR}`, { method: 'HEAD', headers: { authorization: `Bearer ${token}` } });
    const answer = await head(tokenText);
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'application/cbor',
      '',
    ]);
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(0);
    expect((await head('nobody')).status).toBe(401);
  });

  test('other methods are 405 with what is allowed, other addresses 404, all in CBOR', async () => {
    const { call, tokenText } = await setUp();
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await call(SOLAR, { method, token: tokenText, ...(method === 'POST' && { body: 'x' }) });
      expect(answer).toMatchObject({ status: 405, body: { error: 'MethodNotAllowed', status: 405 } });
      expect(answer.headers.allow).toBe('GET, HEAD');
    }
    expect(await call('/api/v1/tables/acme/solar/messages', { token: tokenText })).toMatchObject({
      status: 405,
      headers: { allow: 'POST' },
    });
    for (const path of [
      '/api/v1/tables/acme/solar',
      '/api/v1/tables/acme/solar/oldest',
      '/api/v1/tables/%zz/solar/latest',
    ])
      expect((await call(path, { token: tokenText })).headers['content-type'], path).toBe('application/cbor');
    expect(await call('/api/v1/tables/acme/solar', { token: tokenText })).toMatchObject({
      status: 404,
      body: { error: 'NotFound', status: 404, retryable: false },
    });
    expect(await call('/api/v2/anything', { token: tokenText })).toMatchObject({
      status: 404,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: { error: 'NotFound', status: 404 },
    });
  });

  test('a fault of the storage is 503 with Retry-After, never the caller’s fault; a fault of ours 500 with no inner text', async () => {
    const events: unknown[] = [];
    const logger = recordingLog(events);
    let fault: Error = new Error('disk /dev/sda on fire');
    const service = await startStreamService({
      logger,
      openLog: () => {
        throw fault;
      },
    });
    const token = await service.token();
    const unavailable = await service.call(`${SOLAR}?offset=5`, { token });
    expect(unavailable).toMatchObject({
      status: 503,
      body: { error: 'StorageUnavailable', retryable: true },
    });
    expect(unavailable.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(unavailable.bytes.toString()).not.toContain('fire');
    fault = new Error('x');
    const broken = await startStreamService({ logger });
    const opened = await broken.stream.logOf('acme');
    opened.countFrom = async () => {
      throw new Error('secret inner text');
    };
    const internal = await broken.call(SOLAR, { token: await broken.token() });
    expect(internal).toMatchObject({ status: 500, body: { error: 'Internal', retryable: true } });
    expect(internal.bytes.toString()).not.toContain('secret');
    const { correlationId } = internal.body;
    expect(internal.headers['x-request-id']).toBe(correlationId);
    expect(JSON.stringify(events)).toContain(String(correlationId));
    expect(JSON.stringify(events)).toContain('secret inner text');
  });
});

describe('draining', () => {
  test('held reads return what they have at once, and new requests get 503 with Retry-After', async () => {
    const { call, log, stream, tokenText } = await setUp();
    await log.append(telemetryBatch(2));
    const { waitFor } = log;
    const isHeld = new Promise<void>((resolve) => {
      log.waitFor = (position, signal) => {
        resolve();
        return waitFor(position, signal);
      };
    });
    const held = call(`${SOLAR}?limit=100`, { token: tokenText, headers: { prefer: 'wait=20' } });
    await isHeld;
    const startedMs = performance.now();
    stream.drain();
    const answer = await held;
    // By itself it would be answered a second after it had everything.
    expect(performance.now() - startedMs).toBeLessThan(700);
    expect(bodyOf(answer)).toMatchObject({ count: 2, upToDate: true });
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

test('messages of every kind come back as they were sent, also at the width of 64 bits', async () => {
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

function recordingLog(events: unknown[]) {
  const record = (fields: unknown, event?: string) => {
    events.push([event, fields]);
  };
  return {
    debug: record,
    info: record,
    warn: record,
    error: record,
    child: () => recordingLog(events),
  } as never;
}

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2_000; turn++) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error('it did not happen within 4 s');
}
