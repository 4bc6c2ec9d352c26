import { request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { RouteOptions } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import type { z } from 'zod';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { StreamError } from '../../src/contract/stream-errors.ts';
import { createInputs } from '../../src/inputs/inputs.ts';
import { registerLineRoutes } from '../../src/inputs/line-routes.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { startSystemTimer } from '../../src/lib/timer.ts';
import { createMemoryLog } from '../../src/stream/log/memory-log.ts';
import type { StreamLog } from '../../src/stream/log/stream-log.ts';
import { readToTail } from '../support/redis-log.ts';
import { startStreamService } from '../support/stream-service.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

const GARAGE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const YARD = '1f0c8d0e-3b52-4f0c-9d7e-2b9a4a1c6d11';
const TIME_NS = `${TEST_START_MS}000000`;

async function start({ openLog }: { openLog?: (log: StreamLog) => StreamLog } = {}) {
  const clock = createTestClock(TEST_START_MS);
  const config = configSchema.parse({
    workgroups: [
      {
        id: 'acme',
        devices: [
          { id: GARAGE, name: 'garage' },
          { id: YARD, name: 'yard' },
        ],
        inputs: {
          lines: [
            { measurement: 'power*', device: '{host}' },
            { measurement: 'modbus*', table: 'meter', device: '{name}', fields: { total_wh: 'Energy' } },
            {
              measurement: 'kWh',
              table: 'ha',
              device: '{entity}',
              fields: { wh: { from: 'value', scale: 1_000 } },
            },
          ],
        },
      },
      { id: 'other' },
    ],
  });
  let inputs: ReturnType<typeof createInputs> | undefined;
  const described: RouteOptions[] = [];
  const events: Array<[string, Record<string, unknown>]> = [];
  const debug = (facts: Record<string, unknown>, event: string) => events.push([event, facts]);
  const service = await startStreamService({
    clock,
    logger: Object.assign(Object.create(silentLogger), { debug }),
    groups: { house: [GARAGE] },
    openLog: () => {
      const log = createMemoryLog({
        clock,
        retentionMs: 3_600_000,
        bytesMax: 1e8,
        logger: silentLogger,
      });
      return openLog?.(log) ?? log;
    },
    addRoutes(app, { stream, groupsOf }) {
      app.addHook('onRoute', (route) => {
        if (route.method === 'POST' && route.url.endsWith('/write')) described.push(route);
      });
      inputs = createInputs({
        stream,
        workgroups: createWorkgroups(config),
        lease: { acquireOrRenew: async () => true, release: async () => undefined },
        clock,
        startTimer: startSystemTimer,
        logger: silentLogger,
      });
      registerLineRoutes(app, { stream, inputs, groupsOf, clock, logger: silentLogger });
    },
  });
  onTestFinished(() => inputs!.stop());
  const tokenText = await service.token({ permissions: ['data:write'] });
  const write = (
    body: string | Uint8Array,
    path = '/api/v2/write?bucket=acme',
    headers: Record<string, string> = {},
  ) =>
    service.call(path, {
      method: 'POST',
      body,
      headers: {
        authorization: `Token ${tokenText}`,
        'content-type': 'text/plain; charset=utf-8',
        ...headers,
      },
    });
  const stored = async () => (await readToTail(await service.stream.logOf('acme'))).messages;
  return { ...service, described, events, tokenText, write, stored, inputs: inputs! };
}

test('lines are stored by the rules, with the answers of InfluxDB', async () => {
  const { write, stored, inputs, events } = await start();
  const answer = await write(
    [
      '# a comment',
      `power_meter,host=garage wh=12i,state="on",ok=true ${TIME_NS}`,
      '',
      `kWh,entity=yard value=1.5 ${TIME_NS}\r`,
      `cpu,host=garage idle=97 ${TIME_NS}`,
      'power,host=garage wh=13',
      '',
    ].join('\n'),
  );
  expect(answer.status).toBe(204);
  expect(answer.bytes).toHaveLength(0);
  expect(await stored()).toMatchObject([
    {
      table: 'power_meter',
      device: GARAGE,
      source: null,
      event_time: TEST_START_MS,
      data: { wh: 12, state: 'on', ok: true },
    },
    { table: 'ha', device: YARD, event_time: TEST_START_MS, data: { wh: 1_500 } },
    { table: 'power', device: GARAGE, event_time: TEST_START_MS, data: { wh: 13 } },
  ]);
  // The lines of each table are one batch. The log has the offsets of all of them.
  const offsets = (await stored()).map(({ offset }) => String(offset));
  expect(events).toContainEqual([
    'http.request',
    expect.objectContaining({ firstOffset: offsets[0], lastOffset: offsets.at(-1) }),
  ]);
  expect(inputs.states()).toMatchObject([
    {
      workgroupId: 'acme',
      kind: 'lines',
      received: 4,
      stored: 3,
      ignored: 1,
      refused: 0,
      lastIgnored: expect.stringContaining('cpu'),
    },
  ]);
});

test('what Telegraf sends is read, and the log has its offsets', async () => {
  const { write, stored, events } = await start();
  const line = (energy: number) =>
    `modbus.InputRegisters,host=orangepizero,name=garage Current=0,Energy=${energy},Voltage=123.9000015258789 ${TIME_NS}\n`;
  // Its output packs, and names no precision.
  const answer = await write(gzipSync(line(12_345.5) + line(12_350)), '/api/v2/write?bucket=acme&org=any', {
    'content-encoding': 'gzip',
    'user-agent': 'Telegraf/1.30.0 Go/1.22.0',
  });
  expect(answer.status).toBe(204);
  const messages = await stored();
  const common = { table: 'meter', device: GARAGE, event_time: TEST_START_MS };
  expect(messages).toMatchObject([
    { ...common, data: { total_wh: 12_345.5 } },
    { ...common, data: { total_wh: 12_350 } },
  ]);
  const [firstOffset, lastOffset] = messages.map(({ offset }) => String(offset));
  const requestId = answer.headers['x-request-id'];
  expect(events).toContainEqual([
    'http.request',
    expect.objectContaining({ requestId, firstOffset, lastOffset }),
  ]);
});

test('bad lines are refused with their numbers and reasons, and the others are stored', async () => {
  const { write, stored, inputs } = await start();
  const body = `power,host=garage wh=1 ${TIME_NS}\npower,host=garage wh=abc\npower wh=2\npower,host=garage wh=3 ${TIME_NS}`;
  const answer = await write(body);
  expect(answer.status).toBe(400);
  expect(answer.body).toEqual({
    code: 'invalid',
    message:
      'partial write: 2 of 4 lines were refused, and the others were stored: line 2: invalid value "abc" of field "wh"; line 3: the device has a placeholder without a value',
    line: 2,
    lines: [
      { line: 2, reason: 'invalid value "abc" of field "wh"' },
      { line: 3, reason: 'the device has a placeholder without a value' },
    ],
  });
  expect((await stored()).map((message) => 'data' in message && message.data)).toEqual([
    { wh: 1 },
    { wh: 3 },
  ]);
  expect(inputs.states()).toMatchObject([{ stored: 2, refused: 2, lastRefused: { about: 'line 3' } }]);
  const old = await write('power,host=garage wh=abc', '/write?db=acme');
  expect(old.status).toBe(400);
  expect(old.body).toEqual({
    error: expect.stringContaining('partial write: 1 of 1 line was refused: line 1'),
  });
  const none = await write('power,host=garage wh=abc\npower wh=2');
  expect(none.body.message).toMatch(/^partial write: 2 of 2 lines were refused: line 1: /);
});

test('a token is taken from each place that clients of InfluxDB use', async () => {
  const { call, tokenText: token, stored } = await start();
  const line = `power,host=garage wh=1 ${TIME_NS}`;
  const basic = Buffer.from(`any:body:${token}`).toString('base64');
  const post = (path: string, authorization?: string) =>
    call(path, { method: 'POST', body: line, headers: authorization === undefined ? {} : { authorization } });
  for (const authorization of [`Token ${token}`, `Bearer ${token}`, `Token me:${token}`, `Basic ${basic}`])
    expect((await post('/write?db=acme', authorization)).status).toBe(204);
  expect((await post(`/write?db=acme%2Fautogen&u=me&p=${token}`)).status).toBe(204);
  expect(await stored()).toHaveLength(5);
  const none = await post('/api/v2/write?bucket=acme');
  expect([none.status, none.body.code, none.headers['www-authenticate']]).toEqual([
    401,
    'unauthorized',
    'Bearer',
  ]);
  const wrong = await post('/api/v2/write?bucket=acme', 'Token abc');
  expect([wrong.status, wrong.body.code]).toEqual([401, 'unauthorized']);
  // Another interface does not take a token from these places.
  expect(
    (
      await call('/api/v1/tables/acme/power/messages', {
        method: 'POST',
        headers: { authorization: `Token ${token}` },
      })
    ).status,
  ).toBe(401);
});

test('a token needs data:write in the workgroup, and writes for its devices only', async () => {
  const { token: tokenOf, write, stored } = await start();
  const line = `power,host=garage wh=1 ${TIME_NS}\npower,host=yard wh=2 ${TIME_NS}`;
  const send = async (token: string, path?: string) =>
    write(line, path, { authorization: `Bearer ${token}` });
  const reader = await send(await tokenOf({ permissions: ['search:read'] }));
  expect([reader.status, reader.body.code]).toEqual([403, 'forbidden']);
  const stranger = await send(await tokenOf({}, 'other'));
  expect([stranger.status, stranger.body.code]).toEqual([403, 'forbidden']);
  const restricted = await send(await tokenOf({ permissions: ['data:write'], deviceGroups: ['house'] }));
  expect(restricted.status).toBe(400);
  expect(restricted.body.lines).toEqual([
    { line: 2, reason: 'device is not a device that this token may write for' },
  ]);
  expect(await stored()).toMatchObject([{ device: GARAGE }]);
  const noRules = await send(await tokenOf({}, 'other'), '/api/v2/write?bucket=other');
  expect([noRules.status, noRules.body.message]).toEqual([
    400,
    expect.stringContaining('has no rules for lines'),
  ]);
});

test('lines may be packed, and a body has limits before and after it is unpacked', async () => {
  const { write, stored, call } = await start();
  const line = `power,host=garage wh=1 ${TIME_NS}\n`;
  const packed = { 'content-encoding': 'gzip' };
  expect((await write(gzipSync(line), undefined, packed)).status).toBe(204);
  expect((await write('not gzip', undefined, packed)).body).toMatchObject({ code: 'invalid' });
  const large = Buffer.alloc(9 * 1024 * 1024, '#');
  expect((await write(gzipSync(large), undefined, packed)).status).toBe(413);
  expect((await write(large)).status).toBe(413);
  expect((await call('/api/v2/write?bucket=acme', { method: 'POST', body: large })).status).toBe(401);
  const many = await write(line.repeat(10_001));
  expect([many.status, many.body.code]).toEqual([413, 'request too large']);
  expect(await stored()).toHaveLength(1);
  expect((await write(`power,host=garage wh="${'x'.repeat(300_000)}"`)).body.lines).toMatchObject([
    { line: 1 },
  ]);
  expect((await write(line, undefined, { 'content-encoding': 'br' })).status).toBe(415);
  expect((await write('')).status).toBe(204);
});

test('parameters are checked, and only POST is possible', async () => {
  const { write, call, tokenText: token } = await start();
  const line = 'power,host=garage wh=1 1';
  expect((await write(line, '/api/v2/write')).body).toMatchObject({
    code: 'invalid',
    message: expect.stringContaining('bucket'),
  });
  expect((await write(line, '/api/v2/write?bucket=acme&precision=day')).status).toBe(400);
  expect((await write(line, '/api/v2/write?bucket=acme&bucket=acme')).status).toBe(400);
  const get = await call('/write?db=acme', { token });
  expect([get.status, get.headers.allow]).toEqual([405, 'POST']);
});

test('a precision is the unit of the times', async () => {
  const { write, stored } = await start();
  const texts = { us: `${TEST_START_MS}000`, ms: `${TEST_START_MS}`, s: `${TEST_START_MS / 1_000}` };
  for (const [precision, text] of Object.entries(texts))
    expect(
      (await write(`power,host=garage wh=1 ${text}`, `/api/v2/write?bucket=acme&precision=${precision}`))
        .status,
    ).toBe(204);
  expect((await stored()).map(({ event_time }) => event_time)).toEqual([
    TEST_START_MS,
    TEST_START_MS,
    TEST_START_MS,
  ]);
});

test('the answer comes only when the lines are stored, and 503 says to send them again', async () => {
  const waiting = Promise.withResolvers<void>();
  let isFull = false;
  const { write, stored } = await start({
    openLog: (log) => ({
      ...log,
      async append(batch) {
        if (isFull) throw new StreamError('StorageUnavailable', 'the disk is full', {}, 2);
        await waiting.promise;
        return log.append(batch);
      },
    }),
  });
  let answered = false;
  const writing = write(`power,host=garage wh=1 ${TIME_NS}`).then((answer) => {
    answered = true;
    return answer;
  });
  expect((await write('# nothing to store')).status).toBe(204);
  expect([answered, await stored()]).toEqual([false, []]);
  waiting.resolve();
  expect((await writing).status).toBe(204);
  expect(await stored()).toHaveLength(1);
  isFull = true;
  const refused = await write(`power,host=garage wh=2 ${TIME_NS}`);
  expect([refused.status, refused.body.code, refused.headers['retry-after']]).toEqual([
    503,
    'unavailable',
    '2',
  ]);
});

test('packed lines count with the size that they can have, so a token cannot fill the memory with them', async () => {
  const { write, tokenText, baseUrl } = await start();
  const packed = { 'content-encoding': 'gzip' };
  for (let number = 0; number < 16; number++) {
    const request = httpRequest(`${baseUrl}/api/v2/write?bucket=acme`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Token ${tokenText}`, 'content-length': 100, ...packed },
    });
    request.on('error', () => undefined).write('a part');
    onTestFinished(() => void request.destroy());
  }
  const line = `power,host=garage wh=1 ${TIME_NS}`;
  await until('16 of 8 MiB are under way', async () => {
    const { status } = await write(gzipSync(line), undefined, packed);
    return status === 429;
  });
});

test('each endpoint is described with its parameter and the errors of its version of InfluxDB', async () => {
  const { described } = await start();
  const answers = [{ code: 'invalid', message: 'no' }, { error: 'no' }];
  expect(
    described.map(({ url, schema }) => {
      const { querystring, response } = schema as {
        querystring: z.ZodObject;
        response: Record<number, { content: Record<string, { schema: z.ZodType }> }>;
      };
      const body = response[400]!.content['application/json']!.schema;
      return [url, Object.keys(querystring.shape), answers.map((one) => body.safeParse(one).success)];
    }),
  ).toEqual([
    ['/api/v2/write', ['bucket', 'precision'], [true, false]],
    ['/write', ['db', 'precision'], [false, true]],
  ]);
});
