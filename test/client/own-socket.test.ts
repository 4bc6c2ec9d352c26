import { expect, onTestFinished, test } from 'vitest';
import { columnsToMessages } from '../../src/client/columns-to-messages.ts';
import type { Position } from '../../src/client/position.ts';
import { type ReadStreamOptions, readStream } from '../../src/client/read-stream.ts';
import {
  createSocketSource,
  type SocketSource,
  type SocketSourceOptions,
} from '../../src/client/socket-source.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { type StreamService, startStreamService } from '../support/stream-service.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

const device = '11111111-2222-4333-8444-555555555555';

function sourceOf(
  service: StreamService,
  token: SocketSourceOptions['token'],
  options: Partial<SocketSourceOptions> = {},
): SocketSource {
  const source = createSocketSource({
    url: service.baseUrl,
    workgroup: 'acme',
    logger: silentLogger,
    ...(token !== undefined && { token }),
    ...options,
  });
  onTestFinished(source.close);
  return source;
}

async function post(service: StreamService, values: number[], table = 'solar'): Promise<void> {
  const items = values.map((value) => ({
    device,
    event_time: 1_760_000_000_000 + value,
    data: { value },
  }));
  const answer = await service.call(`/api/v1/tables/acme/${table}/messages`, {
    method: 'POST',
    token: await service.token(),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(items),
  });
  expect(answer.status).toBe(200);
}

/** Reads until `count` messages have arrived. */
async function read(source: SocketSource, count: number, options: ReadStreamOptions = {}) {
  const values: unknown[] = [];
  const gaps: unknown[] = [];
  let position: Position | undefined;
  for await (const batch of readStream(source, { waitSeconds: 0.2, ...options })) {
    for (const message of columnsToMessages(batch.columns, batch.names))
      values.push(message.kind === 'telemetry' ? message.data.value : message.kind);
    if (batch.gap) gaps.push(batch.gap.reason);
    position = batch.position;
    if (values.length >= count) break;
  }
  source.noteLanded(position!.ask);
  return { values, gaps, position: position!, transport: source.transport };
}

const upTo = (count: number, first = 0) => Array.from({ length: count }, (_, index) => first + index);

test('stored and new messages are delivered over one subscription, once and in order', async () => {
  const service = await startStreamService();
  let connections = 0;
  service.app.server.on('upgrade', () => {
    connections += 1;
  });
  const source = sourceOf(service, await service.token());
  await post(service, upTo(5_000));
  const first = await read(source, 5_000);
  expect(first).toMatchObject({ values: upTo(5_000), gaps: [], transport: 'socket' });
  await post(service, upTo(10, 5_000));
  await post(service, upTo(10, 5_010));
  expect(await read(source, 20, { from: first.position })).toMatchObject({ values: upTo(20, 5_000) });
  expect(service.socket.counts()).toMatchObject({ sockets: 1, subscriptions: 1 });
  expect(connections).toBe(1);
  await source.close();
  await until('nothing is held for the client', () => service.socket.counts().sockets === 0);
});

test('a message arrives because it is stored, and waits for no timer', async () => {
  const clock = createTestClock();
  const service = await startStreamService({ clock, socketTimer: clock.startTimer });
  const source = sourceOf(service, await service.token());
  await post(service, [0]);
  let { position } = await read(source, 1, { waitSeconds: 3_600 });
  for (const value of upTo(15, 1)) {
    const next = read(source, 1, { from: position, waitSeconds: 3_600 });
    await post(service, [value]);
    const found = await next;
    expect(found).toMatchObject({ values: [value], transport: 'socket' });
    ({ position } = found);
  }
});

test('socket and REST use the same offsets and may change at any message', async () => {
  const service = await startStreamService();
  const token = await service.token();
  const values: unknown[] = [];
  let from: Position | undefined;
  for (const [round, way] of ['socket', 'rest', 'socket', 'rest', 'socket'].entries()) {
    await post(service, upTo(200, round * 200));
    const source = sourceOf(service, token, way === 'socket' ? {} : { socketPath: '/nowhere' });
    const found = await read(source, 1, {
      ...(from && { from }),
      messagesMax: way === 'socket' ? 10_000 : 137,
    });
    expect(found).toMatchObject({ gaps: [], transport: way });
    values.push(...found.values);
    from = found.position;
    await source.close();
  }
  expect(values).toEqual(upTo(1_000));
});

test('only the requested table is delivered', async () => {
  const service = await startStreamService();
  await post(service, [1], 'solar');
  await post(service, [2, 3], 'grid');
  await post(service, [4], 'solar');
  const source = sourceOf(service, await service.token(), { table: 'solar' });
  expect((await read(source, 2)).values).toEqual([1, 4]);
});

test('a reader behind the retention reports one gap', async () => {
  const clock = createTestClock();
  const service = await startStreamService({ clock, retentionMs: HOUR_MS });
  await post(service, [1, 2]);
  const before = sourceOf(service, await service.token());
  const { position } = await read(before, 2);
  await before.close();
  await post(service, [3]);
  clock.leap(70 * MINUTE_MS);
  await post(service, [4]);
  clock.leap(MINUTE_MS);
  const after = await read(sourceOf(service, await service.token()), 1, { from: position });
  expect(after).toMatchObject({ values: [4], gaps: ['expired'], transport: 'socket' });
});

test('a recreated log is recognized by its epoch, whether it is behind or ahead', async () => {
  const first = await startStreamService();
  await post(first, [1, 2]);
  const second = await startStreamService();
  await post(second, [11, 12]);
  for (const [from, to, expected] of [
    [first, second, [11, 12]],
    [second, first, [1, 2]],
  ] as const) {
    const { position } = await read(sourceOf(from, await from.token()), 2);
    const after = await read(sourceOf(to, await to.token()), 2, { from: position });
    expect(after).toMatchObject({ values: expected, gaps: ['recreated'] });
  }
});

test('a revoked token is renewed during reading; without a new one REST reports it', {
  tags: ['slow'],
}, async () => {
  const service = await startStreamService();
  const issue = () =>
    service.access.issue({
      subject: 'test',
      scopes: { acme: { permissions: ['search:read', 'org:audit'] } },
      lifetimeMs: HOUR_MS,
    });
  let current = await issue();
  let mayRenew = true;
  const source = sourceOf(service, async (renew) => {
    if (renew && mayRenew) current = await issue();
    return current.token;
  });
  await post(service, [1]);
  const first = await read(source, 1);
  service.access.revoke(current.tokenId);
  await until('the server has let it go', () => service.socket.counts().sockets === 0);
  await post(service, [2]);
  const second = await read(source, 1, { from: first.position });
  expect(second).toMatchObject({ values: [2], gaps: [], transport: 'socket' });
  mayRenew = false;
  service.access.revoke(current.tokenId);
  await until('the server has let it go again', () => service.socket.counts().sockets === 0);
  await expect(read(source, 1, { from: second.position })).rejects.toMatchObject({
    code: 'InvalidToken',
    retryable: false,
  });
});

test('a draining server disconnects its readers and nothing is lost', async () => {
  const service = await startStreamService();
  const source = sourceOf(service, await service.token());
  await post(service, upTo(10));
  const { position } = await read(source, 10);
  service.stream.drain();
  await until('it has gone', () => service.socket.counts().sockets === 0);
  const answer = await source.fetch({ ask: position.ask, waitSeconds: 0.1 });
  expect(source.transport).toBe('rest');
  expect(answer).toMatchObject({ status: 503 });
});
