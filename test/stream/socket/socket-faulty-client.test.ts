import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SOCKET_PATH, socketEvents } from '../../../src/contract/socket-events.ts';
import { MINUTE_MS } from '../../../src/lib/time.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { openRaw, openRawWith } from '../../support/raw-socket.ts';
import { clientOf } from '../../support/socket-client.ts';
import { until } from '../../support/until.ts';
import { request, setUp } from './start-socket-service.ts';

describe('a faulty client', () => {
  const frames: Array<string | Buffer> = [
    '',
    '9',
    '4',
    '40',
    '4zzz',
    '42',
    '42[]',
    '42{}',
    '42[null]',
    '42["stream:latest"',
    '42["connect"]',
    '42["disconnect",1]',
    '42["__proto__",{"requestId":"x"}]',
    '42["constructor",{}]',
    '42["hasOwnProperty"]',
    '42["error",{"message":"x"}]',
    '42["newListener",1]',
    '42[7,{}]',
    '42["stream:latest",{"__proto__":{"requestId":"b9e0e1ce-5e4c-4c5b-8f6c-0f0f0f0f0f0f"}}]',
    '42["stream:latest",{"requestId":{"toString":1}}]',
    '42["stream:latest:stop",{"requestId":["x"]}]',
    '42["stream:latest:data","x"]',
    `42["stream:latest",${'['.repeat(10_000)}${']'.repeat(10_000)}]`,
    '42999999999999999999["stream:latest",{}]',
    '43999[]',
    '43-1[]',
    '430{}',
    '451-["stream:latest",{"_placeholder":true,"num":0}]',
    '451-["stream:latest",{"_placeholder":true,"num":7}]',
    '459999999-["stream:latest"]',
    '461-0[{"_placeholder":true,"num":0}]',
    '41',
    '44{"message":"x"}',
    '40/other,{}',
    '2probe',
    '3probe',
    '5',
    '1',
    '6',
    Buffer.from([0, 1, 2]),
    Buffer.alloc(20_000, 0x34),
    `42["stream:latest","${'x'.repeat(64_000)}"]`,
    Buffer.alloc(200_000),
  ];

  test('may lose its own connection but harms no other client', async () => {
    const { baseUrl, tokenText, connect, log, socket } = await setUp();
    const good = await connect();
    const reader = good.subscribe(request());
    await reader.answer;
    for (const frame of frames) {
      for (const raw of [await openRaw(baseUrl), await openRawWith(baseUrl, tokenText)]) {
        raw.send(frame);
        raw.send(`42["${socketEvents.subscribe}",{}]`);
        await Promise.race([once(raw, 'close'), once(raw, 'message'), sleep(20)]);
        raw.terminate();
      }
    }
    await log.append(telemetryBatch(1));
    await reader.until((messages) => messages.length === 1);
    await until('they are gone', () => socket.counts().sockets === 1);
  });

  test('gets an error for each wrong request', async () => {
    const { connect, baseUrl, tokenText, socket } = await setUp();
    const client = await connect();
    const ask = (payload: unknown) => client.socket.emitWithAck(socketEvents.subscribe, payload);
    const noId = { requestId: null, error: 'InvalidRequest', parameter: 'requestId' };
    const text = JSON.stringify(request());
    for (const payload of [undefined, null, 7, text, [request()], Buffer.from(text), { requestId: 7 }])
      expect(await ask(payload)).toMatchObject(noId);
    for (const requestId of [Buffer.alloc(16), 'x'.repeat(30_000), [randomUUID()], { toString: 'x' }])
      expect(await ask({ requestId })).toMatchObject(noId);
    const wrong: Array<[members: Record<string, unknown>, error: string, parameter: string]> = [
      [{ offset: Buffer.from('0') }, 'InvalidOffset', 'offset'],
      [{ offset: 2 ** 60 }, 'InvalidOffset', 'offset'],
      [{ offset: true }, 'InvalidOffset', 'offset'],
      [{ timestamp: -1 }, 'InvalidTimestamp', 'timestamp'],
      [{ timestamp: Buffer.from('0') }, 'InvalidTimestamp', 'timestamp'],
      [{ limit: 1.5 }, 'InvalidLimit', 'limit'],
      [{ table: 7 }, 'InvalidRequest', 'table'],
      [{ table: ['solar'] }, 'InvalidRequest', 'table'],
      [{ table: '' }, 'InvalidRequest', 'table'],
    ];
    for (const [members, error, parameter] of wrong)
      expect(await ask(request(members))).toMatchObject({ error, parameter });
    for (const event of ['stream:lates', socketEvents.data, 'toString'])
      expect(await client.socket.emitWithAck(event, {})).toMatchObject({
        error: 'InvalidRequest',
        message: 'this event does not exist: send stream:latest or stream:latest:stop',
      });
    const polluting = JSON.parse(`{"requestId":"${randomUUID()}","__proto__":{"offset":"1","admin":true}}`);
    expect(await ask(polluting)).toHaveProperty('epoch');
    expect({}).not.toHaveProperty('admin');
    expect(socket.counts()).toMatchObject({ sockets: 1, subscriptions: 1 });

    const namespace = clientOf({ baseUrl: `${baseUrl}/admin` }, { auth: { token: tokenText } });
    const refused = await new Promise<Error>((resolve) => namespace.socket.once('connect_error', resolve));
    expect(refused.message).toBe('Invalid namespace');
    const large = await openRaw(baseUrl);
    large.send(`40${JSON.stringify({ token: tokenText, junk: 'x'.repeat(40_000) })}`);
    await once(large, 'close');
    expect(socket.counts().sockets).toBe(1);
  });

  test.each([
    '/socket.io/',
    '/socket.io-client',
    '/socket.io-clients/',
    `${SOCKET_PATH}/?EIO=4&transport=websocket`,
    `${SOCKET_PATH}/`,
  ])('that resets a connection which it wants to turn into a WebSocket at %s harms nobody', async (path) => {
    const { baseUrl, connect } = await setUp();
    const { port } = new URL(baseUrl);
    const lines = [
      `GET ${path} HTTP/1.1`,
      'Host: here',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      '',
      '',
    ];
    const resets = Array.from({ length: 10 }, async (_, number) => {
      const stranger = connectTcp({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
      stranger.on('error', () => undefined);
      await once(stranger, 'connect');
      stranger.write(lines.join('\r\n'));
      // Some of these requests wait for the answer.
      if (number % 2 === 0) await Promise.race([once(stranger, 'data'), sleep(50)]);
      else await sleep(5);
      stranger.resetAndDestroy();
    });
    await Promise.all(resets);
    await sleep(20);
    expect((await connect()).socket.connected).toBe(true);
  });

  test('is disconnected if it stays after it was refused', { tags: ['slow'] }, async () => {
    const { baseUrl } = await setUp();
    const { port } = new URL(baseUrl);
    const stranger = connectTcp({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    stranger.write('GET /x HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const [answer] = await once(stranger, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1.1 404 [\s\S]*socket\.io-client/);
    // The client sends until the server disconnects it.
    const ended = once(stranger, 'error');
    const sending = setInterval(() => stranger.write('x'), 20);
    await ended;
    clearInterval(sending);
  });

  test('gets 400, 413 or 404 for requests that are no use of the transport', async () => {
    const { baseUrl, call } = await setUp();
    const address = `${baseUrl}${SOCKET_PATH}/`;
    const bad = ['', '?EIO=4', '?EIO=3&transport=polling', '?EIO=4&transport=polling&sid=__proto__'];
    for (const query of bad) expect((await fetch(`${address}${query}`)).status).toBe(400);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      expect((await fetch(`${address}?EIO=4&transport=polling`, { method, body: null })).status).toBe(400);
    const opened = await (await fetch(`${address}?EIO=4&transport=polling`)).text();
    const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
    const large = await fetch(`${address}?EIO=4&transport=polling&sid=${sid}`, {
      method: 'POST',
      body: 'x'.repeat(100_000),
    });
    expect(large.status).toBe(413);
    expect((await call('/nothing')).status).toBe(404);
  });

  test('is disconnected if it asks again and again, and reads no answer', { tags: ['slow'] }, async () => {
    const { baseUrl, tokenText, socket } = await setUp();
    const raw = await openRawWith(baseUrl, tokenText);
    await until('it is there', () => socket.counts().sockets === 1);
    raw.pause();
    const wrong = JSON.stringify([socketEvents.subscribe, { requestId: 'x'.repeat(60) }]);
    let sent = 0;
    // The system takes some megabytes of answers before they wait in the service. More requests at once would
    // end the connection, too.
    const asking = setInterval(() => {
      for (let count = 0; count < 50 && sent < 50_000; count++) raw.send(`42${sent++}${wrong}`);
    });
    onTestFinished(() => clearInterval(asking));
    await until('it is gone', () => socket.counts().sockets === 0);
    expect(sent).toBeLessThan(50_000);
  });

  test('may ask without an end if it reads the answers', { tags: ['slow'] }, async () => {
    const { baseUrl, tokenText, socket } = await setUp();
    const raw = await openRawWith(baseUrl, tokenText);
    let answers = 0;
    raw.on('message', () => answers++);
    for (let round = 1; round <= 10; round++) {
      for (let count = 0; count < 400; count++) raw.send(`42["${socketEvents.subscribe}",{}]`);
      await until('all are answered', () => answers >= round * 400);
    }
    expect(socket.counts().sockets).toBe(1);
  });

  test('is disconnected if it continues to ask although its requests are refused', async () => {
    const { baseUrl, tokenText, socket, clock } = await setUp({ requestsPerMinuteMax: 1 });
    const raw = await openRawWith(baseUrl, tokenText);
    let answers = 0;
    raw.on('message', () => answers++);
    const ask = () => raw.send(`42["${socketEvents.subscribe}",{}]`);
    for (let count = 0; count < 100; count++) ask();
    await until('all are answered', () => answers === 100);
    // A request that is not refused begins the count again.
    clock.set(clock.now() + MINUTE_MS);
    for (let count = 0; count < 101; count++) ask();
    await until('all are answered again', () => answers >= 201);
    expect(socket.counts().sockets).toBe(1);
    for (let count = 0; count < 2; count++) ask();
    await until('it is gone', () => socket.counts().sockets === 0);
    expect(answers).toBeLessThan(203);
  });

  test('cannot open more subscriptions than the limit, however fast it asks', async () => {
    const { baseUrl, tokenText, socket } = await setUp();
    const raw = await openRawWith(baseUrl, tokenText);
    let answers = 0;
    raw.on('message', () => answers++);
    for (let number = 0; number < 400; number++)
      raw.send(`42${JSON.stringify([socketEvents.subscribe, request()])}`);
    await until('all are answered', () => answers >= 400);
    expect(socket.counts().subscriptions).toBe(32);
    raw.terminate();
    await until('all are gone', () => socket.counts().subscriptions === 0);
  });
});
