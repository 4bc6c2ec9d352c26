import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemWaiting } from '../../src/client/backoff.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';
import { createReportClient } from '../../src/report-client/report-client.ts';
import type { ReportRequestOptions } from '../../src/report-client/report-request.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { openReport } from '../report/report-fixture.ts';
import { deviceId } from '../support/messages.ts';

const TOKEN = 'secret.token.of-a-person';
const days = { startDate: '2026-11-18', endDate: '2026-11-19' };

/** A client without waits, and the waits that it wanted. */
function clientOf(url: string, options: Partial<ReportRequestOptions> = {}) {
  const waitsMs: number[] = [];
  const waiting = {
    ...systemWaiting,
    random: () => 0,
    sleep: async (ms: number) => void waitsMs.push(ms),
  };
  const client = createReportClient({ url, token: TOKEN, workgroup: WORKGROUP, waiting, ...options });
  return { client, waitsMs };
}

/** A server that answers as the test says, and the requests that it got. */
async function serve(answer: (response: ServerResponse, request: IncomingMessage, turn: number) => void) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(response, request, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

async function allOf(rows: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable('it should fail'),
    (error: unknown) => error as TransientError | TerminalError,
  );

test('reports, rows and the refusals of a real service have their types', { tags: ['slow'] }, async () => {
  const at = await openReport({ devices: [{ id: deviceId(1), name: 'garage' }] });
  await storeDays(at.shard, [
    { day: '2026-11-18', device: 1, energyWh: 500 },
    { day: '2026-11-19', device: 1, energyWh: 700 },
  ]);
  await at.publish();
  const sent: Array<{ ifNoneMatch: string | null; status: number }> = [];
  const { client } = clientOf(at.base, {
    token: at.token,
    async fetch(url, init) {
      const response = await fetch(url, init);
      sent.push({ ifNoneMatch: new Headers(init.headers).get('if-none-match'), status: response.status });
      return response;
    },
  });
  const energy = await client.dailyEnergy({ ...days, devices: ['garage'] });
  expect(energy).toEqual({
    '2026-11-18': { [deviceId(1)]: 500 },
    '2026-11-19': { [deviceId(1)]: 700 },
  });
  energy['2026-11-18']![deviceId(1)] = 0;
  // The same answer again, which the caller of the first one has changed.
  expect((await client.dailyEnergy({ ...days, devices: ['garage'] }))['2026-11-18']).toEqual({
    [deviceId(1)]: 500,
  });
  expect(sent).toEqual([
    { ifNoneMatch: null, status: 200 },
    { ifNoneMatch: expect.stringMatching(/^W\//), status: 304 },
  ]);
  expect(await client.dailyEnergy({ ...days, resolution: 'month' })).toEqual({
    '2026-11': { [deviceId(1)]: 1_200 },
  });
  expect((await client.quality(days)).kinds).toHaveLength(1);
  expect((await client.workgroup()).workgroup).toBe(WORKGROUP);
  const rows = [];
  for await (const row of client.rows('daily-energy', days)) rows.push([row.day, row.energy_wh]);
  expect(rows).toEqual([
    ['2026-11-18', 500],
    ['2026-11-19', 700],
  ]);
  const refused = await failureOf(client.dailyEnergy({ ...days, devices: ['garag'] }));
  expect(refused).toBeInstanceOf(TerminalError);
  expect(refused).toMatchObject({
    code: 'InvalidRequest',
    retryable: false,
    details: { status: 400, parameter: 'devices' },
    message: expect.stringContaining('garage'),
  });
  const wrong = await failureOf(clientOf(at.base).client.dailyEnergy(days));
  expect(wrong).toMatchObject({ retryable: false, details: { status: 401 } });
});

test('a question has its lists with commas, and leaves out what is undefined', async () => {
  const { url, requests } = await serve((response) => response.end('{}'));
  const { client } = clientOf(`${url}/behind/a/proxy/`);
  await client.dailyEnergy({ ...days, devices: ['a', 'b c'], resolution: undefined, top: 8 });
  const asked = new URL(requests[0]!.url!, url);
  expect(asked.pathname).toBe(`/behind/a/proxy/api/v1/orgs/${WORKGROUP}/daily-energy`);
  expect(Object.fromEntries(asked.searchParams)).toEqual({ ...days, devices: 'a,b c', top: '8' });
});

test('an answer is asked for again with its ETag by the same question alone, whatever the message to wait for', async () => {
  const at = await serve((response) => response.setHeader('ETag', 'W/"1"').end('{}'));
  const { client } = clientOf(at.url);
  await client.dailyEnergy({ ...days, devices: ['garage', 'roof'] });
  await client.dailyEnergy(days);
  await client.dailyEnergy({ ...days, after: 7n });
  expect(at.requests.map(({ url, headers }) => [url!.split('?')[1], headers['if-none-match']])).toEqual([
    ['startDate=2026-11-18&endDate=2026-11-19&devices=garage%2Croof', undefined],
    ['startDate=2026-11-18&endDate=2026-11-19', undefined],
    ['startDate=2026-11-18&endDate=2026-11-19&after=7', 'W/"1"'],
  ]);
});

test('rows of several pages are one iterator', async () => {
  const at = await serve((response, request) => {
    const page = new URL(request.url!, 'http://x').searchParams.get('page');
    if (page === null) response.setHeader('Wattline-Next', 'second');
    response.end(`{"day":"${page ?? 'first'}"}\n`);
  });
  const seen = [];
  for await (const { day } of clientOf(at.url).client.rows('daily-energy/changes', { since: '2026-11-01' }))
    seen.push(day);
  expect(seen).toEqual(['first', 'second']);
  const endless = await serve((response) => response.setHeader('Wattline-Next', 'same').end('{}\n'));
  const rows = clientOf(endless.url).client.rows('audit');
  await expect(allOf(rows)).rejects.toMatchObject({ code: 'NoProgress' });
});

test('a 503 is repeated after its Retry-After, a bounded number of times', async () => {
  const busy = (response: ServerResponse) =>
    response
      .writeHead(503, { 'Retry-After': '7' })
      .end('{"error":"StorageUnavailable","message":"ask again","status":503,"retryable":true}');
  const once = await serve((response, _, turn) =>
    turn === 1 ? busy(response) : response.end('{"2026-11-18":{}}'),
  );
  const { client, waitsMs } = clientOf(once.url);
  expect(await client.dailyEnergy(days)).toEqual({ '2026-11-18': {} });
  expect(waitsMs).toEqual([7_000]);
  const always = await serve(busy);
  const error = await failureOf(clientOf(always.url).client.dailyEnergy(days));
  expect(error).toBeInstanceOf(TransientError);
  expect(error).toMatchObject({
    code: 'StorageUnavailable',
    retryable: true,
    details: { status: 503, retryAfterMs: 7_000 },
  });
  expect(always.requests).toHaveLength(4);
  const never = await serve((response) =>
    response.writeHead(503).end('{"error":"Closed","message":"for good","retryable":false}'),
  );
  expect(await failureOf(clientOf(never.url).client.dailyEnergy(days))).toMatchObject({ code: 'Closed' });
  expect(never.requests).toHaveLength(1);
});

test('an answer beyond the bound is refused, with and without an announced length', async () => {
  const announced = await serve((response) => response.setHeader('Content-Length', 101).end('x'.repeat(101)));
  const endless = await serve((response) => {
    const more = () => {
      while (response.write('x'.repeat(50)));
      response.once('drain', more);
    };
    more();
  });
  for (const { url, requests } of [announced, endless]) {
    const { client } = clientOf(url, { bytesMax: 100 });
    expect(await failureOf(client.dailyEnergy(days))).toMatchObject({
      code: 'AnswerTooLarge',
      retryable: false,
    });
    expect(requests).toHaveLength(1);
  }
  const refused = await serve((response) => response.writeHead(400).end('x'.repeat(64 * 1024 + 1)));
  expect(await failureOf(clientOf(refused.url).client.dailyEnergy(days))).toMatchObject({
    code: 'AnswerTooLarge',
  });
  const wordy = await serve((response) =>
    response.writeHead(400).end(JSON.stringify({ error: 'InvalidRequest', message: 'x'.repeat(600) })),
  );
  expect((await failureOf(clientOf(wordy.url).client.dailyEnergy(days))).message).toHaveLength(500);
  const fits = await serve((response) => response.end(`{"a":{}}`.padEnd(100)));
  expect(await clientOf(fits.url, { bytesMax: 100 }).client.dailyEnergy(days)).toEqual({ a: {} });
  const line = await serve((response) => response.end('x'.repeat(2 * 1024 * 1024)));
  await expect(allOf(clientOf(line.url).client.rows('audit'))).rejects.toMatchObject({
    code: 'AnswerTooLarge',
  });
});

test('no error has the token, whatever a server or a network does', async () => {
  const told = await serve((response, request) =>
    response
      .writeHead(400)
      .end(JSON.stringify({ error: 'InvalidRequest', message: `no: ${request.headers.authorization}` })),
  );
  const moved = await serve((response) => response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end());
  const cut = await serve((response) => void response.socket!.destroy());
  const page = await serve((response) => response.end('<html>'));
  const seen = [];
  for (const { url } of [told, moved, cut, page]) {
    const error = await failureOf(clientOf(url).client.dailyEnergy(days));
    seen.push(error.code);
    const whole = [error.message, error.stack, JSON.stringify(error.details), String(error.cause)].join();
    expect(whole).not.toContain(TOKEN);
  }
  expect(seen).toEqual(['InvalidRequest', 'RedirectRefused', 'NetworkFailure', 'InvalidAnswer']);
  const split = await failureOf(clientOf(told.url, { token: `${TOKEN}\n` }).client.dailyEnergy(days));
  expect([split.code, String(split.stack).includes(TOKEN)]).toEqual(['InvalidToken', false]);
  for (const url of ['http://user:password@127.0.0.1', 'http://user@127.0.0.1', 'http://:password@127.0.0.1'])
    expect(() => clientOf(url)).toThrow(/without a user/);
});

test('a refused token is renewed once, and the request is sent again', async () => {
  const at = await serve((response, { headers }) =>
    headers.authorization === 'Bearer new' ? response.end('{}') : response.writeHead(401).end('{}'),
  );
  const asked: boolean[] = [];
  const token = (renew: boolean) => {
    asked.push(renew);
    return renew ? 'new' : 'old';
  };
  expect(await clientOf(at.url, { token }).client.dailyEnergy(days)).toEqual({});
  expect(asked).toEqual([false, true]);
  const same = clientOf(at.url, { token: () => 'old' }).client.dailyEnergy(days);
  expect(await failureOf(same)).toMatchObject({ details: { status: 401 } });
  expect(at.requests).toHaveLength(3);
});

test('an abort ends a request at once with its reason, and a silent server ends it after the time', async () => {
  const controller = new AbortController();
  const asked = await serve(() => controller.abort(new Error('the person has gone')));
  const call = clientOf(asked.url).client.dailyEnergy(days, { signal: controller.signal });
  await expect(call).rejects.toThrow('the person has gone');
  const silent = await serve(() => undefined);
  const { client } = clientOf(silent.url, { timeoutMs: 20, backoff: { attemptsMax: 2 } });
  expect(await failureOf(client.dailyEnergy(days))).toMatchObject({
    code: 'AnswerTimeout',
    retryable: true,
  });
});

test('rows that stop on the way end after the time', { tags: ['slow'] }, async () => {
  const halfway = await serve((response) => void response.write('{"day":1}\n'));
  const rows = clientOf(halfway.url, { timeoutMs: 2_000 }).client.rows('audit');
  expect((await rows.next()).value).toEqual({ day: 1 });
  await expect(rows.next()).rejects.toMatchObject({ retryable: true });
});
