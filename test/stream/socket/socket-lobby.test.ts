import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, IncomingMessage } from 'node:http';
import { connect as connectTcp, Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SOCKET_PATH } from '../../../src/contract/socket-events.ts';
import { createLobby } from '../../../src/stream/socket/socket-lobby.ts';
import type { StreamSocketOptions } from '../../../src/stream/socket/stream-socket.ts';
import { openRaw, openRawWith } from '../../support/raw-socket.ts';
import { connectTo } from '../../support/socket-client.ts';
import { startStreamService } from '../../support/stream-service.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';

const HANDSHAKE = `${SOCKET_PATH}/?EIO=4&transport=polling`;

async function setUp(socketLimits: StreamSocketOptions['limits'] = {}) {
  const clock = createTestClock();
  const service = await startStreamService({ clock, socketTimer: clock.startTimer, socketLimits });
  const tokenText = await service.token();
  const connect = (transport = 'websocket') =>
    connectTo(service, { auth: { token: tokenText, workgroupId: 'acme' }, transports: [transport] });
  return { ...service, clock, tokenText, connect };
}

/** Sends a plain request from one of this machine's addresses. */
function getFrom(localAddress: string, url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { localAddress, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

async function handshakeOf(baseUrl: string): Promise<string> {
  const answer = await fetch(`${baseUrl}${HANDSHAKE}`);
  return JSON.parse((await answer.text()).slice(1)).sid;
}

describe('connections that have not authenticated', () => {
  test('are limited for each address and leave room for others', async () => {
    const { baseUrl, socket, connect } = await setUp({ socketsMax: 30, socketsWaitingPerAddressMax: 20 });
    const statuses: number[] = [];
    for (let number = 0; number < 50; number++)
      statuses.push(await getFrom('127.0.0.2', `${baseUrl}${HANDSHAKE}`));
    expect(statuses).toEqual([...new Array(20).fill(200), ...new Array(30).fill(403)]);
    expect(socket.counts().waiting).toBe(20);
    for (const transport of ['websocket', 'polling']) {
      const client = await connect(transport);
      expect(await client.subscribe({ requestId: randomUUID() }).answer).toHaveProperty('nextOffset');
    }
    expect(socket.counts()).toMatchObject({ sockets: 2, waiting: 20 });
  });

  test.each<StreamSocketOptions['limits'] & object>([{ socketsWaitingPerAddressMax: 5 }, { socketsMax: 5 }])(
    'are counted on arrival, even if many requests arrive at once: %j',
    async (limits) => {
      const { baseUrl, socket } = await setUp(limits);
      const { port, hostname } = new URL(baseUrl);
      const raw = connectTcp(Number(port), hostname);
      onTestFinished(() => void raw.destroy());
      let answers = '';
      raw.on('data', (bytes) => {
        answers += bytes;
      });
      raw.write(`GET ${HANDSHAKE} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(40));
      await until('all are answered', () => answers.split('HTTP/1.1 ').length === 41);
      // Without a limit for the address, each one makes room for the next.
      if (limits.socketsMax === undefined) expect(answers.split('HTTP/1.1 200').length - 1).toBe(5);
      expect(socket.counts().waiting).toBe(5);
    },
  );

  test('make room for the next one if there is none, the oldest first', async () => {
    const { baseUrl, socket, connect } = await setUp({ socketsMax: 20 });
    const first = await openRaw(baseUrl);
    const closed = new Promise((resolve) => first.once('close', resolve));
    for (let host = 2; host < 42; host++)
      expect(await getFrom(`127.0.0.${host}`, `${baseUrl}${HANDSHAKE}`)).toBe(200);
    await closed;
    await connect();
    await connect('polling');
    expect(socket.counts().sockets + socket.counts().waiting).toBe(20);
  });

  test('are closed after 5 s with any transport, unlike authenticated ones', async () => {
    const { baseUrl, socket, clock, connect, tokenText } = await setUp({ socketsWaitingPerAddressMax: 3 });
    const reader = await connect();
    const wrong = await openRaw(baseUrl);
    wrong.send(`40${JSON.stringify({ token: `${tokenText}x` })}`);
    const silent = await openRaw(baseUrl);
    const closed = [wrong, silent].map((raw) => new Promise((resolve) => raw.once('close', resolve)));
    expect(await getFrom('127.0.0.1', `${baseUrl}${HANDSHAKE}`)).toBe(200);
    expect(await getFrom('127.0.0.1', `${baseUrl}${HANDSHAKE}`)).toBe(403);
    expect(socket.counts().waiting).toBe(3);
    await clock.advance(4_999);
    expect(socket.counts().waiting).toBe(3);
    await clock.advance(1);
    expect(socket.counts().waiting).toBe(0);
    await Promise.all(closed);
    expect(await getFrom('127.0.0.1', `${baseUrl}${HANDSHAKE}`)).toBe(200);
    expect(reader.socket.connected).toBe(true);
  });

  test('are closed if they send many packets', async () => {
    const { baseUrl, socket } = await setUp();
    for (const packet of ['40{"token":"x"}', '40/elsewhere,', '41']) {
      const sid = await handshakeOf(baseUrl);
      const body = new Array(100).fill(packet).join('\x1e');
      await fetch(`${baseUrl}${HANDSHAKE}&sid=${sid}`, { method: 'POST', body });
      // The next poll may still bring the end of the connection.
      await fetch(`${baseUrl}${HANDSHAKE}&sid=${sid}`);
      expect((await fetch(`${baseUrl}${HANDSHAKE}&sid=${sid}`)).status).toBe(400);
    }
    expect(socket.counts()).toMatchObject({ sockets: 0, waiting: 0 });
  });

  test('are closed after authentication, too, if they open many namespaces', async () => {
    const { baseUrl, socket, tokenText } = await setUp();
    const raw = await openRawWith(baseUrl, tokenText);
    for (let number = 0; number < 10; number++) raw.send(`40/elsewhere${number},`);
    await until('it is closed', () => socket.counts().sockets === 0);
  });

  test('are closed after authentication, too, if they send many packets at once', async () => {
    const { baseUrl, socket, tokenText } = await setUp();
    const raw = await openRawWith(baseUrl, tokenText);
    const ended = new Promise((resolve) => raw.once('close', resolve));
    for (let number = 0; number < 128; number++) raw.send('43[]');
    raw.send('42["stream:latest",{}]');
    await once(raw, 'message');
    const sid = await handshakeOf(baseUrl);
    const url = `${baseUrl}${HANDSHAKE}&sid=${sid}`;
    await fetch(url, { method: 'POST', body: `40${JSON.stringify({ token: tokenText })}` });
    await fetch(url);
    expect(socket.counts().sockets).toBe(2);
    await fetch(url, { method: 'POST', body: new Array(5_000).fill('43[]').join('\x1e') });
    await until('it is closed', () => socket.counts().sockets === 1);
    raw.close();
    await ended;
  });

  test('with several Host headers are refused, with any transport', async () => {
    const { baseUrl, socket } = await setUp();
    const { port, hostname } = new URL(baseUrl);
    const upgrade =
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';
    for (const [transport, more] of [
      ['polling', ''],
      ['websocket', upgrade],
    ]) {
      const raw = connectTcp(Number(port), hostname);
      onTestFinished(() => void raw.destroy());
      raw.write(
        `GET ${SOCKET_PATH}/?EIO=4&transport=${transport} HTTP/1.1\r\nHost: a\r\nHost: b\r\n${more}\r\n`,
      );
      const [bytes] = await once(raw, 'data');
      expect(String(bytes)).toMatch(/^HTTP\/1.1 400 /);
    }
    expect(socket.counts()).toMatchObject({ sockets: 0, waiting: 0 });
  });

  test('cannot return by leaving the namespace and keeping the connection', async () => {
    const { baseUrl, socket, tokenText } = await setUp();
    const raw = await openRawWith(baseUrl, tokenText);
    const closed = new Promise((resolve) => raw.once('close', resolve));
    expect(socket.counts()).toMatchObject({ sockets: 1, waiting: 0 });
    raw.send('41');
    await closed;
    expect(socket.counts()).toMatchObject({ sockets: 0, waiting: 0 });
  });
});

test('a connection that opens after its place was given up is closed', async () => {
  const { startTimer, advance } = createTestClock();
  const lobby = createLobby({
    connectionsMax: 10,
    waitingPerAddressMax: 10,
    waitingMsMax: 5_000,
    countInside: () => 0,
    startTimer,
  });
  const request = new IncomingMessage(new Socket());
  expect(lobby.enter(request)).toBeUndefined();
  await advance(5_000);
  const closed: boolean[] = [];
  lobby.noteOpened(request, { once: () => undefined, close: (discard) => closed.push(discard) });
  expect(closed).toEqual([true]);
});

test('a connection whose place is given up is closed at once, without waiting for what it does not read', async () => {
  const { startTimer, advance } = createTestClock();
  const lobby = createLobby({
    connectionsMax: 2,
    waitingPerAddressMax: 10,
    waitingMsMax: 5_000,
    countInside: () => 0,
    startTimer,
  });
  const closed: Array<[name: string, discard: boolean]> = [];
  const arrive = (name: string) => {
    const request = new IncomingMessage(new Socket());
    expect(lobby.enter(request)).toBeUndefined();
    lobby.noteOpened(request, { once: () => undefined, close: (discard) => closed.push([name, discard]) });
    return request;
  };
  arrive('first');
  const second = arrive('second');
  arrive('third');
  expect(closed).toEqual([['first', true]]);
  lobby.letIn(second);
  await advance(5_000);
  expect(closed).toEqual([
    ['first', true],
    ['third', true],
  ]);
});

test('a connection is refused if all places are taken by connections that have authenticated', () => {
  let inside = 2;
  const lobby = createLobby({
    connectionsMax: 3,
    waitingPerAddressMax: 10,
    waitingMsMax: 5_000,
    countInside: () => inside,
    startTimer: createTestClock().startTimer,
  });
  const request = () => new IncomingMessage(new Socket());
  const first = request();
  expect(lobby.enter(first)).toBeUndefined();
  lobby.letIn(first);
  inside = 3;
  expect(lobby.enter(request())).toBe('too many connections');
  inside = 2;
  expect(lobby.enter(request())).toBeUndefined();
});

test.each(['connectionsPerTokenMax', 'connectionsPerWorkgroupMax'] as const)(
  'of many connections that are accepted at once, at most %s stay',
  async (limit) => {
    const { baseUrl, socket, stream, tokenText } = await setUp({ [limit]: 4 });
    const { logOf } = stream;
    const opened = Promise.withResolvers<void>();
    let waiting = 0;
    // All of them wait for the log of their workgroup, and continue in the same turn.
    stream.logOf = async (workgroupId) => {
      waiting++;
      await opened.promise;
      return logOf(workgroupId);
    };
    const raws = await Promise.all(Array.from({ length: 30 }, () => openRaw(baseUrl)));
    const answers = raws.map(
      (raw) => new Promise<string>((resolve) => raw.once('message', (data) => resolve(String(data)))),
    );
    for (const raw of raws) raw.send(`40${JSON.stringify({ token: tokenText })}`);
    await until('all are admitted', () => waiting === 30);
    opened.resolve();
    const kinds = (await Promise.all(answers)).map((text) => text.slice(0, 2));
    expect(kinds.filter((kind) => kind === '40')).toHaveLength(4);
    expect(kinds.filter((kind) => kind === '44')).toHaveLength(26);
    expect(socket.counts().sockets).toBe(4);
  },
);
