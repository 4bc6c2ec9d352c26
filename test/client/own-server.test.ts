import { expect, onTestFinished, test } from 'vitest';
import { systemWaiting } from '../../src/client/backoff.ts';
import { columnsToMessages } from '../../src/client/columns-to-messages.ts';
import type { Position } from '../../src/client/position.ts';
import { type ReadStreamOptions, readStream } from '../../src/client/read-stream.ts';
import { createRestSource, type RestSource, type RestSourceOptions } from '../../src/client/rest-source.ts';
import type { StreamMessage } from '../../src/contract/messages.ts';
import { DAY_MS, dayStart, HOUR_MS, localDateOf, MINUTE_MS } from '../../src/lib/time.ts';
import { createSite } from '../../src/simulate/create-site.ts';
import { runSimulation } from '../../src/simulate/run-simulation.ts';
import { type StreamService, startStreamService } from '../support/stream-service.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

const device = '11111111-2222-4333-8444-555555555555';

function sourceOf(service: StreamService, token: RestSourceOptions['token'], table = '-'): RestSource {
  const source = createRestSource({
    url: service.baseUrl,
    workgroup: 'acme',
    table,
    ...(token !== undefined && { token }),
  });
  onTestFinished(source.close);
  return source;
}

async function post(service: StreamService, values: number[], table = 'solar', from = device): Promise<void> {
  const items = values.map((value) => ({
    device: from,
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

async function drain(source: Pick<RestSource, 'fetch'>, options: ReadStreamOptions = {}) {
  const messages: StreamMessage[] = [];
  const gaps: unknown[] = [];
  let position: Position | undefined;
  for await (const batch of readStream(source, {
    untilUpToDate: true,
    waitSeconds: 0,
    pollEveryMs: 0,
    ...options,
  })) {
    messages.push(...columnsToMessages(batch.columns, batch.names));
    if (batch.gap) gaps.push(batch.gap.reason);
    position = batch.position;
  }
  const values = messages.map((message) =>
    message.kind === 'telemetry' ? message.data.value : message.kind,
  );
  return { messages, values, gaps, position: position! };
}

test('every arrival of a simulated day is read from the stream once and in order', {
  tags: ['slow'],
}, async () => {
  const service = await startStreamService();
  const today = dayStart(localDateOf(Date.now(), 'Europe/Paris'), 'Europe/Paris');
  const options = {
    seed: 5,
    timezone: 'Europe/Paris',
    startMs: today - 2 * DAY_MS,
    readingEveryMs: 5 * MINUTE_MS,
  };
  const untilMs = today - DAY_MS;
  const report = await runSimulation({
    site: createSite(options),
    url: service.baseUrl,
    workgroup: 'acme',
    token: await service.token(),
    speed: Number.POSITIVE_INFINITY,
    untilMs,
    itemsPerRequestMax: 500,
  });
  const { messages } = await drain(sourceOf(service, await service.token()), { messagesMax: 400 });
  expect(messages).toHaveLength(report.items);
  for (const table of ['solar', 'grid', 'battery', 'devices']) {
    const expected = createSite(options)
      .arrivals(options.startMs, untilMs)
      .filter((arrival) => arrival.table === table)
      .map(({ item }) => ({
        device: item.device,
        event_time: item.event_time,
        ...('data' in item && { data: item.data }),
      }));
    const found = messages
      .filter((message) => message.table === table)
      .map((message) => ({
        device: 'device' in message ? message.device : undefined,
        event_time: message.event_time,
        ...(message.kind === 'telemetry' && { data: message.data }),
      }));
    expect(found).toEqual(expected);
  }
});

test('a reader resumes from a stored position without losing or repeating a message', async () => {
  const service = await startStreamService();
  const source = sourceOf(service, await service.token());
  await post(service, [1, 2, 3]);
  const first = await drain(source, { messagesMax: 2 });
  await post(service, [4, 5]);
  const second = await drain(source, { from: first.position });
  expect([first.values, second.values]).toEqual([
    [1, 2, 3],
    [4, 5],
  ]);
});

test('at the head the server answers at once, or waits for a message, as requested', async () => {
  // No timer of the server rings, so only the message ends a read that waits.
  const clock = createTestClock();
  const service = await startStreamService({ clock, streamTimer: clock.startTimer });
  const source = sourceOf(service, await service.token());
  await post(service, [1]);
  const { position } = await drain(source);
  await drain(source, { from: position });
  const waiting = readStream(source, { from: position, waitSeconds: 10, messagesMax: 1 });
  const next = waiting.next();
  await until('the read is held', () => service.stream.counts()[0]!.heldReads === 1);
  await post(service, [2]);
  const batch = (await next).value;
  expect(batch && columnsToMessages(batch.columns, batch.names)).toHaveLength(1);
  await waiting.return();
});

test('a filtered reader advances past messages that it may not read', async () => {
  const service = await startStreamService();
  await post(service, [1], 'solar');
  await post(service, [2, 3, 4], 'grid');
  const { values, position } = await drain(sourceOf(service, await service.token(), 'solar'), {
    messagesMax: 1,
  });
  expect(values).toEqual([1]);
  const whole = await drain(sourceOf(service, await service.token()));
  expect(position.ask).toEqual(whole.position.ask);
});

test('a reader behind the retention reports one gap and continues', async () => {
  const clock = createTestClock();
  const service = await startStreamService({ clock, retentionMs: HOUR_MS });
  const source = sourceOf(service, await service.token());
  await post(service, [1, 2]);
  const { position } = await drain(source, { messagesMax: 1 });
  await post(service, [3]);
  clock.leap(50 * MINUTE_MS);
  await post(service, [4]);
  clock.leap(20 * MINUTE_MS);
  await post(service, [5]);
  // The token has expired.
  const later = sourceOf(service, await service.token());
  const after = await drain(later, { from: position });
  expect(after).toMatchObject({ values: [4, 5], gaps: ['expired'] });
  await post(service, [6]);
  expect(await drain(later, { from: after.position })).toMatchObject({ values: [6], gaps: [] });
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
    const { position } = await drain(sourceOf(from, await from.token()));
    const after = await drain(sourceOf(to, await to.token()), { from: position });
    expect(after).toMatchObject({ values: expected, gaps: ['recreated'] });
  }
});

test('a revoked token is renewed during reading, and without a new one the reader stops', async () => {
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
  const { position } = await drain(source);
  service.access.revoke(current.tokenId);
  await post(service, [2]);
  const after = await drain(source, { from: position });
  expect(after).toMatchObject({ values: [2], gaps: [] });
  mayRenew = false;
  service.access.revoke(current.tokenId);
  await expect(drain(source, { from: after.position })).rejects.toMatchObject({
    code: 'InvalidToken',
    retryable: false,
  });
});

test('a draining server answers with a position, and the reader waits for the next server', async () => {
  const service = await startStreamService();
  const source = sourceOf(service, await service.token());
  await post(service, [1]);
  const { position } = await drain(source);
  service.stream.drain();
  const setbacks: string[] = [];
  const reading = drain(source, {
    from: position,
    waiting: { ...systemWaiting, sleep: async () => {} },
    onSetback: ({ kind, because }) => setbacks.push(`${kind} ${because}`),
  });
  await expect(reading).rejects.toMatchObject({ code: 'Draining', retryable: true });
  expect(setbacks.every((setback) => setback.startsWith('again Draining'))).toBe(true);
});
