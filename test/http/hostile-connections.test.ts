import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { MEBIBYTE } from '../../src/lib/units.ts';
import { until } from '../support/until.ts';
import { access, createTestAccess, setUp } from './start-http-server.ts';

beforeEach(createTestAccess);

async function open(app: FastifyInstance): Promise<{ socket: Socket; received: () => string }> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect((app.server.address() as { port: number }).port, '127.0.0.1');
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.on('data', (data) => {
    text += data;
  });
  await once(socket, 'connect');
  return { socket, received: () => text };
}

async function issue(): Promise<{ tokenId: string; head: string }> {
  const scopes = { acme: { permissions: ['search:read' as const] } };
  const { tokenId, token } = await access.issue({ subject: 'test', scopes, lifetimeMs: 60_000 });
  return { tokenId, head: `Host: a\r\nAuthorization: Bearer ${token}\r\n` };
}

describe('requests of one connection that are not answered', () => {
  test('are sixteen at most; one more closes the connection, and the rest of a packet is not begun', async () => {
    const app = setUp();
    let begun = 0;
    let ended = 0;
    app.get('/held', (_request, reply) => {
      begun++;
      reply.raw.once('close', () => ended++);
    });
    const { socket } = await open(app);
    socket.write('GET /held HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(16));
    await until('all are begun', () => begun === 16);
    expect(socket.closed).toBe(false);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write('GET /held HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(200));
    await closed;
    await until('all have ended', () => ended === 16);
    expect(begun).toBe(16);
  });

  test('do not count once they are answered', async () => {
    const app = setUp();
    app.get('/fast', async () => 'ok');
    const { socket, received } = await open(app);
    for (let round = 1; round <= 3; round++) {
      socket.write('GET /fast HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(10));
      await until('ten more answers', () => received().split('200 OK').length === 10 * round + 1);
    }
  });
});

describe('a body that nobody reads', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'of %s to an unknown address is answered before it arrives',
    async (method) => {
      const app = setUp();
      const { socket, received } = await open(app);
      socket.write(
        `${method} /nothing HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n`,
      );
      await until('an answer', () => received() !== '');
      expect(received()).toMatch(/^HTTP\/1\.1 404 /);
    },
  );

  test('is thrown away up to a size, and then the connection is closed', async () => {
    const app = setUp();
    const { socket, received } = await open(app);
    socket.write('POST /nothing HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    await until('an answer', () => received() !== '');
    const chunk = `${(64 * 1024).toString(16)}\r\n${'x'.repeat(64 * 1024)}\r\n`;
    let sent = 0;
    const closed = new Promise((resolve) => socket.once('close', () => resolve('closed')));
    while (sent < 64 * MEBIBYTE && !socket.destroyed) {
      sent += 64 * 1024;
      if (!socket.write(chunk))
        await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    }
    expect(await closed).toBe('closed');
    expect(sent).toBeGreaterThan(15 * MEBIBYTE);
    expect(sent).toBeLessThan(48 * MEBIBYTE);
  });
});

describe('after a token was revoked', () => {
  test('a body that still arrives, and an answer that still leaves, are cut off', {
    tags: ['slow'],
  }, async () => {
    const app = setUp();
    app.put('/body', async () => 'stored');
    app.get('/endless', (_request, reply) => {
      const source = new Readable({ read() {} });
      source.push('begin');
      reply.send(source);
    });
    const { tokenId, head } = await issue();
    const sending = await open(app);
    sending.socket.write(
      `PUT /body HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    );
    const reading = await open(app);
    reading.socket.write(`GET /endless HTTP/1.1\r\n${head}\r\n`);
    await until('the answer begins', () => reading.received().includes('begin'));
    expect([sending.socket.closed, reading.socket.closed]).toEqual([false, false]);
    access.revoke(tokenId);
    await until('both are cut off', () => sending.socket.closed && reading.socket.closed);
    expect(sending.received()).toBe('');
  });

  test('what the system has not sent yet is thrown away, and the connection is reset', {
    tags: ['slow'],
  }, async () => {
    const app = setUp();
    app.get('/large', (_request, reply) => reply.send(Readable.from(endless())));
    const { tokenId, head } = await issue();
    const reading = await open(app);
    let failure: Error | undefined;
    reading.socket.once('error', (error) => {
      failure = error;
    });
    reading.socket.write(`GET /large HTTP/1.1\r\n${head}\r\n`);
    await until('the answer begins', () => reading.received() !== '');
    reading.socket.pause();
    const connections = () => new Promise((done) => app.server.getConnections((_, count) => done(count)));
    access.revoke(tokenId);
    await until('it is cut off', async () => (await connections()) === 0);
    reading.socket.resume();
    await until('the caller learns it', () => reading.socket.closed);
    expect(failure).toMatchObject({ code: 'ECONNRESET' });
  });

  test('a request of the process itself needs no connection to be cut off', { tags: ['slow'] }, async () => {
    const app = setUp();
    const answer = Promise.withResolvers<string>();
    app.get('/slow', () => answer.promise);
    app.get('/endless', (_request, reply) => {
      const source = new Readable({ read() {} });
      source.push('begin');
      reply.send(source);
    });
    const { tokenId, head } = await issue();
    const authorization = /Bearer .+(?=\r\n)/.exec(head)![0];
    const slow = app.inject({ url: '/slow', headers: { authorization } });
    const reading = await open(app);
    reading.socket.write(`GET /endless HTTP/1.1\r\n${head}\r\n`);
    await until('the answer begins', () => reading.received().includes('begin'));
    access.revoke(tokenId);
    // The same look at all tokens sees both.
    await until('the connection is cut off', () => reading.socket.closed);
    answer.resolve('secret');
    expect((await slow).statusCode).toBe(401);
  });

  test('a body that is complete is not used, and an answer that is ready is not sent', async () => {
    const app = setUp();
    let used = 0;
    app.addHook('preParsing', async () => void access.revoke(tokenId));
    app.put('/body', async () => ++used);
    const { tokenId, head } = await issue();
    const authorization = /Bearer .+(?=\r\n)/.exec(head)![0];
    const put = await app.inject({ method: 'PUT', url: '/body', payload: {}, headers: { authorization } });
    expect([put.statusCode, put.json().error, used]).toEqual([401, 'InvalidToken', 0]);

    const third = await issue();
    const doer = setUp();
    doer.put('/body', async () => {
      access.revoke(third.tokenId);
      return 'secret';
    });
    const done = await doer.inject({
      method: 'PUT',
      url: '/body',
      payload: {},
      headers: { authorization: /Bearer .+(?=\r\n)/.exec(third.head)![0] },
    });
    expect([done.statusCode, done.json().message]).toEqual([
      401,
      'the token is not valid any more; the request may already have been carried out',
    ]);

    const other = await issue();
    const reader = setUp();
    reader.get('/report', async (_request, reply) => {
      access.revoke(other.tokenId);
      return reply
        .header('ETag', 'W/"1"')
        .header('Content-Length', '6')
        .send(Readable.from(['secret']));
    });
    const answer = await reader.inject({
      url: '/report',
      headers: { authorization: /Bearer .+(?=\r\n)/.exec(other.head)![0] },
    });
    expect([answer.statusCode, answer.json().error, answer.headers.etag]).toEqual([
      401,
      'InvalidToken',
      undefined,
    ]);
  });
});

test('the bytes of unread answers are limited for each token, and one answer is always possible', async () => {
  const app = setUp();
  app.get('/large', async (_request, reply) =>
    reply.header('Content-Length', String(200 * MEBIBYTE)).send(Readable.from(endless())),
  );
  app.get('/small', async () => 'small');
  const [own, theirs] = [await issue(), await issue()];
  const ask = async ({ head }: { head: string }, url: string, method = 'GET') => {
    const one = await open(app);
    one.socket.write(`${method} ${url} HTTP/1.1\r\n${head}\r\n`);
    await until('an answer', () => one.received() !== '');
    one.socket.pause();
    return { socket: one.socket, status: one.received().slice(9, 12) };
  };
  const large = await ask(theirs, '/large');
  expect(large.status).toBe('200');
  expect((await ask(theirs, '/small')).status).toBe('429');
  // An answer without a body takes no memory.
  expect((await ask(theirs, '/small', 'HEAD')).status).toBe('200');
  expect((await ask(own, '/small')).status).toBe('200');
  large.socket.destroy();
  await until('the bytes are free again', async () => (await ask(theirs, '/small')).status === '200');
});

test('a body of unknown length counts as the largest body of its route', async () => {
  const app = setUp();
  const arrived = Promise.withResolvers<void>();
  app.post('/body', { preParsing: async () => arrived.resolve() }, async () => 'taken');
  app.get('/small', async () => 'small');
  const { head } = await issue();
  const sender = await open(app);
  sender.socket.write(
    `POST /body HTTP/1.1\r\n${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  await arrived.promise;
  const other = await open(app);
  other.socket.write(`GET /small HTTP/1.1\r\n${head}\r\n`);
  await until('an answer', () => other.received() !== '');
  expect(other.received().slice(9, 12)).toBe('200');
});

function* endless(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(64 * 1024, 'x');
}
