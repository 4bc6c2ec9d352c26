import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { SOCKET_PATH, socketEvents } from '../../../src/contract/socket-events.ts';
import { telemetryBatch, wideTelemetry } from '../../support/messages.ts';
import { openRawWith } from '../../support/raw-socket.ts';
import { clientOf, connectTo } from '../../support/socket-client.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { memoryLog, refusal, request, setUp } from './start-socket-service.ts';

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

  test('in the middle of a replay names the position after the last frame', { tags: ['slow'] }, async () => {
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

  test('comes within a second after its token expires or any process revokes it', async () => {
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

  test.each([
    ['a WebSocket', false],
    ['a client that has polled first', true],
  ])(
    'is a reset for %s that has not read everything, so that nothing more is delivered',
    { tags: ['slow'] },
    async (_name, polls) => {
      const service = await setUp();
      const { access, clock, log, baseUrl } = service;
      await log.append(encodeMessages(wideTelemetry(60_000), 'solar'));
      const scopes = { acme: { permissions: ['search:read' as const] } };
      const { token, tokenId } = await access.issue({ subject: 't', scopes, lifetimeMs: 600_000 });
      const reader = polls ? await pollAndUpgrade(baseUrl, token) : await openRawWith(baseUrl, token);
      // The TCP connection of `ws`, which its types hide.
      const { _socket: wire } = reader as unknown as { _socket: Socket };
      wire.pause();
      reader.send(`42${JSON.stringify([socketEvents.subscribe, request({ offset: '0' })])}`);
      await until('it has subscribed', () => service.socket.counts().subscriptions === 1);
      const reset = once(wire, 'error');
      access.revoke(tokenId);
      await clock.advance(1_000);
      wire.resume();
      expect(await reset).toMatchObject([{ code: 'ECONNRESET' }]);
      expect(service.socket.counts()).toMatchObject({ sockets: 0, subscriptions: 0 });
    },
  );

  test('comes if unread messages are gone, and they are not skipped', async () => {
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

  test('comes for all when the service drains, with their positions; then connections close and new ones are refused', {
    tags: ['slow'],
  }, async () => {
    const service = await setUp();
    const { log, connect, stream } = service;
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
    stream.drain();
    const nextOffset = String((await log.bounds()).next);
    for (const reader of readers)
      expect(await reader.stopped).toMatchObject({ reason: 'server_draining', nextOffset });
    await Promise.all(closed);
    await expect(connect()).rejects.toThrow('websocket error');
    expect(service.socket.counts()).toMatchObject({ sockets: 0, subscriptions: 0 });
    const poll = async () => (await fetch(`${address}&sid=${sid}`, { method: 'POST', body: '3' })).status;
    await until('one that had not even said who it is has been ended', async () => (await poll()) === 400);
  });

  test('by a service that stops lets the library of the client connect again by itself', async () => {
    const { baseUrl, connect, stream, tokenText } = await setUp();
    const clients = await Promise.all([connect(), connect({ transports: ['polling'] })]);
    const gone = clients.map((client) => new Promise((resolve) => client.socket.once('disconnect', resolve)));
    stream.drain();
    expect(await Promise.all(gone)).toEqual(['transport close', 'transport close']);
    for (const transport of ['websocket', 'polling']) {
      const { socket } = clientOf(
        { baseUrl },
        { transports: [transport], auth: { token: tokenText }, reconnection: true, reconnectionDelay: 5 },
      );
      const refused = () => new Promise((resolve) => socket.once('connect_error', resolve));
      await refused();
      await refused();
      socket.disconnect();
    }
  });

  test('comes with the end of its connection and frees everything', async () => {
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

/** Signs in with polls, and changes to a WebSocket. */
async function pollAndUpgrade(baseUrl: string, token: string): Promise<WebSocket> {
  const query = `${SOCKET_PATH}/?EIO=4&transport=`;
  const opened = await (await fetch(`${baseUrl}${query}polling`)).text();
  const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
  const polls = `${baseUrl}${query}polling&sid=${sid}`;
  await fetch(polls, { method: 'POST', body: `40${JSON.stringify({ token })}` });
  await (await fetch(polls)).text();
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}${query}websocket&sid=${sid}`);
  socket.on('error', () => {});
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  socket.send('2probe');
  await once(socket, 'message');
  socket.send('5');
  return socket;
}
