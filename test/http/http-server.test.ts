import { once } from 'node:events';
import { connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { StreamError } from '../../src/contract/stream-errors.ts';
import { answerOfOwner } from '../../src/http/answer-of-owner.ts';
import { rejectOtherMethods } from '../../src/http/http-server.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { createTestAccess, recordingLog, setUp } from './start-http-server.ts';

beforeEach(createTestAccess);

describe('errors outside the stream', () => {
  test('are JSON maps with 64-bit integers as text', async () => {
    const app = setUp();
    app.get('/gone', async () => {
      throw new StreamError('OffsetExpired', 'gone', { nextOffset: 2n ** 63n });
    });
    const answer = await app.inject('/gone');
    expect(answer.statusCode).toBe(410);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.json()).toEqual({
      error: 'OffsetExpired',
      message: 'gone',
      status: 410,
      retryable: false,
      nextOffset: '9223372036854775808',
    });
  });

  test('a query that does not fit its schema names the parameter', async () => {
    const app = setUp();
    const querystring = z.object({ startDate: z.iso.date('must be a day') });
    const response = { 200: z.object({ ok: z.boolean() }) };
    app.get('/report', { schema: { querystring, response } }, async () => ({ ok: true }));
    const answer = await app.inject('/report?startDate=today');
    expect(answer.json()).toMatchObject({
      error: 'InvalidRequest',
      message: 'startDate: must be a day',
      status: 400,
      parameter: 'startDate',
    });
    expect((await app.inject('/report?startDate=2026-11-20')).json()).toEqual({ ok: true });
  });

  test('a report without parameters refuses all, and the stream ignores unknown ones', async () => {
    const app = setUp();
    for (const url of ['/api/v1/orgs/:workgroupId/things', '/api/v1/tables/:workgroupId/things'])
      app.get(url, async () => ({ ok: true }));
    expect((await app.inject('/api/v1/orgs/home/things')).json()).toEqual({ ok: true });
    expect((await app.inject('/api/v1/orgs/home/things?verbose=1')).json()).toMatchObject({
      message: 'verbose: is not a known parameter; this request takes no parameters',
      status: 400,
      parameter: 'verbose',
    });
    expect((await app.inject('/api/v1/tables/home/things?verbose=1')).json()).toEqual({ ok: true });
  });

  test('a report with unknown parameters is refused when it is registered', async () => {
    const app = setUp();
    app.get('/api/v1/orgs/:workgroupId/things', { schema: { querystring: z.any() } }, async () => 'ok');
    await expect(app.ready()).rejects.toThrow('/api/v1/orgs/:workgroupId/things must be a z.object');
  });

  test('of unexpected kinds hide their text; the log has it under the correlation id', async () => {
    const events: Array<[string, Record<string, unknown>]> = [];
    const app = setUp({ logger: recordingLog(events) });
    app.get('/broken', async () => {
      throw new TransientError('Oops', 'password=hunter2');
    });
    const answer = await app.inject('/broken?token=sesame');
    expect(answer.statusCode).toBe(500);
    expect(answer.body).not.toContain('hunter2');
    const { correlationId } = answer.json();
    expect(answer.headers['x-request-id']).toBe(correlationId);
    expect(events).toContainEqual([
      'http.internal-error',
      expect.objectContaining({ requestId: correlationId, route: '/broken', error: 'password=hunter2' }),
    ]);
  });

  test.each([
    ['job-17:a.b_C', true],
    ['x'.repeat(64), true],
    ['x'.repeat(65), false],
    ['two words', false],
    ['line\\nbreak', false],
    ['', false],
  ])('the id %s of a caller is kept: %s', async (given, isKept) => {
    const app = setUp();
    // Fastify knows another header, which is not read.
    const headers = { 'x-request-id': given, 'request-id': 'other' };
    const answer = await app.inject({ url: '/nothing', headers });
    const id = String(answer.headers['x-request-id']);
    if (isKept) expect(id).toBe(given);
    else expect(id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('are clear for a body that is too large, not JSON, or of another type', async () => {
    const app = setUp({ bodyBytesMax: 100 });
    app.post('/budget', async () => ({}));
    const post = (payload: string, type: string) =>
      app.inject({ method: 'POST', url: '/budget', payload, headers: { 'content-type': type } });
    expect((await post(`"${'x'.repeat(100)}"`, 'application/json')).json()).toMatchObject({
      error: 'PayloadTooLarge',
      message: 'the body is too large; at most 100 bytes can be sent at once',
    });
    expect((await post('{', 'application/json')).json()).toMatchObject({
      error: 'InvalidRequest',
      status: 400,
    });
    expect((await post('<a/>', 'application/xml')).json()).toMatchObject({
      error: 'UnsupportedMediaType',
      message: 'this Content-Type is not read here; /docs shows what this address accepts',
    });
  });

  test('are clear for an address that cannot be decoded or does not exist', async () => {
    const app = setUp();
    app.get('/a/:name', async () => ({}));
    expect((await app.inject('/a/%zz')).json()).toMatchObject({ error: 'InvalidRequest', status: 400 });
    expect((await app.inject('/b')).json()).toMatchObject({ error: 'NotFound', status: 404 });
  });

  test('for other methods of an address are 405 with its methods', async () => {
    const app = setUp();
    app.get('/a', async () => ({ some: 'thing' }));
    rejectOtherMethods(app, '/a', ['GET']);
    const answer = await app.inject({ method: 'POST', url: '/a', payload: 'x' });
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, HEAD']);
    expect(answer.json()).toMatchObject({ error: 'MethodNotAllowed' });
  });

  test('of HEAD are equal to answers of GET without the body', async () => {
    const app = setUp();
    app.get('/a', async () => ({ some: 'thing' }));
    rejectOtherMethods(app, '/a', ['GET']);
    const { statusCode, headers, body } = await app.inject({ method: 'HEAD', url: '/a' });
    expect([statusCode, headers['content-length'], body]).toEqual([200, '16', '']);
  });
});

test('every answer forbids sniffing, and log events contain no query strings and tokens', async () => {
  const events: Array<[string, Record<string, unknown>]> = [];
  const app = setUp({ logger: recordingLog(events) });
  app.get('/a/:name', async () => ({}));
  const headers = { authorization: 'Bearer sesame-header' };
  for (const url of ['/a/b?token=sesame-query', '/nothing?token=sesame-query'])
    expect((await app.inject({ url, headers })).headers['x-content-type-options']).toBe('nosniff');
  expect(events).toContainEqual([
    'http.request',
    expect.objectContaining({ route: '/a/:name', status: 200 }),
  ]);
  expect(JSON.stringify(events)).not.toContain('sesame');
});

describe('connections', () => {
  async function talk(app: FastifyInstance, ...pieces: string[]): Promise<string> {
    await app.listen({ host: '127.0.0.1', port: 0 });
    const socket = connect((app.server.address() as { port: number }).port, '127.0.0.1');
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    for (const piece of pieces) socket.write(piece);
    await once(socket, 'close');
    return received;
  }

  test('two Host headers are refused with any values', async () => {
    const app = setUp();
    app.get('/a', async () => ({}));
    const received = await talk(app, 'GET /a HTTP/1.1\r\nHost: a\r\nhOST: a\r\nConnection: close\r\n\r\n');
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    expect(received).toContain('"message":"Host: one only; this request has several"');
  });

  test.each([
    ['data that is no HTTP request', 'nonsense\r\n\r\n'],
    [
      'a body that is longer than its Content-Length',
      'POST /a HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n[1]',
    ],
  ])('%s gets an error in our form, and the connection ends', async (_, sent) => {
    const app = setUp();
    app.post('/a', async () => ({}));
    const received = await talk(app, sent);
    expect(received).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(received.split('\r\n\r\n')[1]!)).toEqual({
      error: 'InvalidRequest',
      message:
        'this is not an HTTP request, or the Content-Length of the request before was less than its body',
      status: 400,
      retryable: false,
    });
  });

  test('a request that no worker can do is logged', async () => {
    const events: Array<[string, Record<string, unknown>]> = [];
    const app = setUp({ logger: recordingLog(events) });
    app.get('/corrections', () => answerOfOwner({ kind: 'not-running' }, 'home', (error) => error));
    const answer = await app.inject('/corrections');
    expect(answer.statusCode).toBe(503);
    expect(answer.json().message).toMatch(/^no worker .* has the data of home open, so nothing was done/);
    expect(events).toContainEqual([
      'http.unavailable',
      expect.objectContaining({ error: 'no worker on this machine has the data of home open' }),
    ]);
  });

  test('a caller that disconnects during its body causes no error log', async () => {
    const events: Array<[string, Record<string, unknown>]> = [];
    const app = setUp({ logger: recordingLog(events) });
    app.post('/upload', async () => ({}));
    await app.listen({ host: '127.0.0.1', port: 0 });
    const arrived = once(app.server, 'request');
    const socket = connect((app.server.address() as { port: number }).port, '127.0.0.1');
    socket.write(
      'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    const [request] = await arrived;
    socket.destroy();
    await once(request.socket, 'close');
    await app.close();
    expect(events.map(([event]) => event)).not.toContain('http.internal-error');
  });

  test('a request without Host gets a clear error, and other expectations are ignored', async () => {
    const app = setUp();
    app.get('/here', async () => ({ ok: true }));
    const close = 'Connection: close\r\n\r\n';
    const received = await talk(app, `GET /here HTTP/1.1\r\n${close}`);
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(received.split('\r\n\r\n')[1]!)).toEqual({
      error: 'InvalidRequest',
      message: 'Host: HTTP/1.1 needs this header',
      status: 400,
      retryable: false,
    });
    const other = setUp();
    other.get('/here', async () => ({ ok: true }));
    expect(await talk(other, `GET /here HTTP/1.1\r\nHost: a\r\nExpect: foo\r\n${close}`)).toMatch(
      /^HTTP\/1\.1 200 .*\{"ok":true\}$/s,
    );
  });

  test('a request that offers another protocol, names the whole URL or has "host" as a value is answered like any other', async () => {
    const close = 'Connection: close, Upgrade, HTTP2-Settings\r\n\r\n';
    for (const head of [
      `GET /here HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n${close}`,
      `GET http://a.example:80/here HTTP/1.1\r\nHost: a.example\r\nX-Added-By: host\r\n${close}`,
      `GET http://a.example:80/here HTTP/1.1\r\nHost: a.example\r\n${close}`,
    ]) {
      const app = setUp();
      app.server.on('upgrade', (_request, connection) => connection.destroy());
      app.get('/here', async () => ({ ok: true }));
      expect(await talk(app, head)).toMatch(/^HTTP\/1\.1 200 .*\{"ok":true\}$/s);
    }
  });

  test('headers of more than 16 KiB are refused', async () => {
    const received = await talk(setUp(), `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(received).toMatch(/^HTTP\/1\.1 431 /);
  });

  test('a slow upload and a reader that does not read cannot hold up a closing server', {
    tags: ['slow'],
  }, async () => {
    const app = setUp({ closeWithinMs: 50 });
    app.post('/upload', async () => ({}));
    app.get('/large', async () => 'x'.repeat(50_000_000));
    await app.listen({ host: '127.0.0.1', port: 0 });
    const requests = [
      'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n',
      'GET /large HTTP/1.1\r\nHost: a\r\n\r\n',
    ];
    for (const request of requests) {
      const arrived = once(app.server, 'request');
      const { port } = app.server.address() as { port: number };
      connect(port, '127.0.0.1')
        .pause()
        .on('error', () => undefined)
        .write(request);
      await arrived;
    }
    await app.close();
    expect(app.server.listening).toBe(false);
  });

  test('a request with headers that never end has a time limit', () => {
    const { server } = setUp();
    expect(server.headersTimeout).toBe(10_000);
    expect(server.requestTimeout).toBe(60_000);
    expect(server.timeout).toBe(90_000);
  });
});
