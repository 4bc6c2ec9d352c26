import { describe, expect, test } from 'vitest';
import { telemetryBatch } from '../../support/messages.ts';
import { startStreamService } from '../../support/stream-service.ts';
import { recordingLog, SOLAR, setUp } from './start-rest-service.ts';

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

  test('an expired offset is 410 with the positions to continue from, even if no message is visible', async () => {
    const { call, clock, log, read, token } = await setUp();
    const old = await log.append(telemetryBatch(3));
    await clock.advance(3_599_000);
    const young = await log.append(telemetryBatch(2));
    await clock.advance(2_000);
    // Tokens also expire after an hour.
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

  test('an offset past the end is 416 with the end, also for an empty log', async () => {
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

  test('an invalid table name is refused', async () => {
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

  test('HEAD is answered like GET, with the same rights', { tags: ['slow'] }, async () => {
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

  test('other methods are 405 with the allowed ones, other addresses are 404, all in CBOR', async () => {
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

  test('a storage failure is 503 with Retry-After; an internal error is 500 without details', async () => {
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
