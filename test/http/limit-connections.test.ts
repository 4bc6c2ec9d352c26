import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { SOCKET_PATH } from '../../src/contract/socket-events.ts';
import { connectTo } from '../support/socket-client.ts';
import { startStreamService } from '../support/stream-service.ts';
import { until } from '../support/until.ts';
import { access, createTestAccess, setUp } from './start-http-server.ts';

beforeEach(createTestAccess);

/** A connection that has sent this. */
async function open(port: number, text: string): Promise<{ socket: Socket; received: () => string }> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes;
  });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(text);
  return { socket, received: () => received };
}

async function start(connectionsMax: number) {
  const app = setUp({ connectionsMax });
  app.get('/x', async () => ({ ok: true }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const { token } = await access.issue({
    subject: 'test',
    scopes: { home: { permissions: ['search:read'] } },
    lifetimeMs: 60_000,
  });
  const ask = async (text = '') => {
    const caller = await open(port, `GET /x HTTP/1.1\r\nHost: a\r\n${text}\r\n`);
    await until('it is answered', () => caller.received().includes('{"ok":true}'));
    return caller;
  };
  const withToken = () => ask(`Authorization: Bearer ${token}\r\n`);
  return { app, port, ask, withToken };
}

test('silent connections cannot keep others out, and valid tokens keep their connection', async () => {
  const { port, ask, withToken } = await start(20);
  const kept = await withToken();
  const silent = await Promise.all(Array.from({ length: 60 }, () => open(port, 'GET /x HTTP/1.1\r\n')));
  await until('the oldest are closed', () => silent.filter(({ socket }) => socket.closed).length === 41);
  await ask();
  await withToken();
  kept.socket.write('GET /x HTTP/1.1\r\nHost: a\r\n\r\n');
  await until('the kept one is answered again', () => kept.received().split('{"ok":true}').length === 3);
});

test('if a valid token was used on all connections, a new one is closed', async () => {
  const { port, withToken } = await start(3);
  const kept = [await withToken(), await withToken(), await withToken()];
  const next = await open(port, '');
  await until('it is closed', () => next.socket.closed);
  kept[0]!.socket.destroy();
  await once(kept[0]!.socket, 'close');
  await withToken();
});

test('a reader over socket.io keeps its connections', async () => {
  const service = await startStreamService({ connectionsMax: 20 });
  const { port } = service.app.server.address() as AddressInfo;
  const auth = { token: await service.token(), workgroupId: 'acme' };
  const reasons: string[] = [];
  for (const transport of ['websocket', 'polling'] as const) {
    const { socket } = await connectTo(service, { auth, transports: [transport] });
    socket.on('disconnect', (reason) => reasons.push(reason));
  }
  const { subscribe } = await connectTo(service, { auth, transports: ['polling'] });
  const silent = await Promise.all(
    Array.from({ length: 60 }, () => open(Number(port), `GET ${SOCKET_PATH}/ HTTP/1.1\r\n`)),
  );
  await until('the oldest are closed', () => silent.filter(({ socket }) => socket.closed).length > 40);
  expect(await subscribe({ requestId: randomUUID() }).answer).toHaveProperty('nextOffset');
  expect(reasons).toEqual([]);
});
