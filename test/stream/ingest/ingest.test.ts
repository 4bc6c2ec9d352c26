import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { encodeCbor } from '../../../src/cbor/cbor-codec.ts';
import type { ReadBody } from '../../../src/contract/messages.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { MEBIBYTE } from '../../../src/lib/units.ts';
import { deviceId, telemetry, wideTelemetry } from '../../support/messages.ts';
import { type CallOptions, startStreamService } from '../../support/stream-service.ts';

const SOLAR = '/api/v1/tables/acme/solar/messages';
const CBOR = 'application/cbor';
const JSON_TYPE = 'application/json';
const NDJSON = 'application/x-ndjson';

/** A CBOR array of one map with this many members. */
function mapOf(members: number): Buffer {
  const entries = Array.from({ length: members }, (_, key) => [String(key), 1]);
  return Buffer.concat([Buffer.from([0x81]), encodeCbor(Object.fromEntries(entries))]);
}

async function setUp(scope = {}, logger = silentLogger) {
  const service = await startStreamService({ logger, groups: { roof: [deviceId(1)] } });
  const token = await service.token(scope);
  const post = (
    type: string | undefined,
    body: string | Uint8Array,
    path = SOLAR,
    options: CallOptions = {},
  ) =>
    service.call(path, {
      method: 'POST',
      token,
      body,
      ...options,
      headers: { ...(type !== undefined && { 'content-type': type }), ...options.headers },
    });
  const stored = async () => {
    const reader = await service.token();
    const answer = await service.call('/api/v1/tables/acme/-/latest', { token: reader });
    return (answer.body as unknown as ReadBody).messages;
  };
  return { ...service, post, stored };
}

const jsonItem = (changes = {}) => ({
  device: deviceId(1),
  event_time: 1_800_000_000_000,
  data: { p: 1 },
  ...changes,
});

describe('bodies that are accepted', () => {
  test('CBOR, JSON and NDJSON of the same items store the same messages', async () => {
    const { post, stored } = await setUp();
    const items = telemetry(3);
    const lines = `${items.map((item) => JSON.stringify(item)).join('\n\n')}\r\n`;
    for (const [type, body] of [
      [CBOR, encodeCbor(items)],
      [`${JSON_TYPE}; charset=utf-8`, JSON.stringify(items)],
      [NDJSON, lines],
    ] as const)
      expect(await post(type, body)).toMatchObject({ status: 200, body: { accepted: 3 } });
    const messages = await stored();
    expect(messages).toHaveLength(9);
    const contents = messages.map(({ offset: _, store_time: __, ...content }) => content);
    expect(contents.slice(3, 6)).toEqual(contents.slice(0, 3));
    expect(contents.slice(6)).toEqual(contents.slice(0, 3));
    expect(contents[0]).toEqual({ ...items[0], table: 'solar', kind: 'telemetry' });
  });

  test('the answer and the log have the offsets, which can be read at once', async () => {
    const events: unknown[] = [];
    const debug = (facts: object, event: string) => events.push([event, facts]);
    const logger = Object.assign(Object.create(silentLogger), { debug });
    const { call, post, token } = await setUp({}, logger);
    const { body, headers } = await post(CBOR, encodeCbor(telemetry(5)));
    expect(events).toContainEqual([
      'http.request',
      expect.objectContaining({
        requestId: headers['x-request-id'],
        firstOffset: String(body.firstOffset),
        lastOffset: String(body.lastOffset),
      }),
    ]);
    const answer = await call(`/api/v1/tables/acme/solar/latest?offset=${body.lastOffset}&limit=1`, {
      token: await token(),
    });
    expect(answer.body).toMatchObject({ count: 1, upToDate: true });
    expect(BigInt(body.lastOffset as bigint) - BigInt(body.firstOffset as bigint)).toBe(4n);
  });

  test('integers beyond 2^53 keep their digits in JSON, device ids become lower case, and a missing source is null', async () => {
    const { post, stored } = await setUp();
    const text = `[{"device":"${deviceId(1).toUpperCase()}","event_time":1,"msg_id":null,
      "data":{"register":9007199254740993,"negative":-9007199254740993,"text":"9007199254740993","float":1.5}}]`;
    expect(await post(JSON_TYPE, text)).toMatchObject({ status: 200 });
    const [message] = await stored();
    expect(message).toMatchObject({
      device: deviceId(1),
      source: null,
      data: {
        register: 9007199254740993n,
        negative: -9007199254740993n,
        text: '9007199254740993',
        float: 1.5,
      },
    });
    expect(message).not.toHaveProperty('msg_id');
  });

  test('the table "devices" accepts only device status items', async () => {
    const { post, stored } = await setUp();
    const path = '/api/v1/tables/acme/devices/messages';
    const status = { device: deviceId(3), state: 'offline', event_time: 5, reason: 'no signal' };
    expect(await post(JSON_TYPE, JSON.stringify([status]), path)).toMatchObject({ status: 200 });
    expect(await stored()).toMatchObject([{ ...status, table: 'devices', kind: 'device_status' }]);
    expect(await post(JSON_TYPE, JSON.stringify([jsonItem()]), path)).toMatchObject({ status: 400 });
    expect(await post(JSON_TYPE, JSON.stringify([status]))).toMatchObject({ status: 400 });
  });

  test('at most 10,000 items and 8 MiB are one request', { tags: ['slow'] }, async () => {
    const { post, stored } = await setUp();
    const body = encodeCbor(wideTelemetry(10_000));
    const { status, body: answer } = await post(CBOR, body);
    expect([status, answer.accepted]).toEqual([200, 10_000]);
    expect(
      createHash('sha1')
        .update(JSON.stringify((await stored()).map((m) => 'msg_id' in m && m.msg_id)))
        .digest('hex'),
    ).toBe(
      createHash('sha1')
        .update(JSON.stringify(Array.from({ length: 10_000 }, (_, index) => index)))
        .digest('hex'),
    );
  });

  test('many requests at once get separate offsets', async () => {
    const { post } = await setUp();
    const answers = await Promise.all(Array.from({ length: 40 }, () => post(CBOR, encodeCbor(telemetry(3)))));
    const first = answers.map(({ body }) => BigInt(body.firstOffset as bigint));
    expect(new Set(first).size).toBe(40);
  });
});

describe('bodies that are refused as a whole', () => {
  test('a bad item refuses its whole request, and every bad item is listed', async () => {
    const { post, stored } = await setUp();
    const items = [jsonItem(), jsonItem({ device: 'x' }), jsonItem(), jsonItem({ data: { p: [], q: {} } })];
    const answer = await post(JSON_TYPE, JSON.stringify(items));
    expect(answer).toMatchObject({
      status: 400,
      body: {
        error: 'InvalidRequest',
        message: '2 of 4 items cannot be accepted, so none was stored',
        parameter: 'body',
        retryable: false,
        items: [
          { index: 1, field: 'device', reason: 'must be a UUID' },
          { index: 3, field: 'data.p', reason: 'must be a number, text, true, false or null' },
          { index: 3, field: 'data.q', reason: 'must be a number, text, true, false or null' },
        ],
      },
    });
    expect(await stored()).toEqual([]);
  });

  test('a long list of bad items is cut, and the error mentions it', async () => {
    const { post } = await setUp();
    const { status, body } = await post(JSON_TYPE, JSON.stringify(Array.from({ length: 300 }, () => ({}))));
    expect(status).toBe(400);
    expect(body.message).toBe(
      '300 of 300 items cannot be accepted, so none was stored; the first 100 problems are listed',
    );
    expect(body.items).toHaveLength(100);
  });

  test('integers of more than 64 bits and infinite numbers in JSON are refused, not rounded', async () => {
    const { post } = await setUp();
    for (const number of ['18446744073709551616', '-18446744073709551617', '9'.repeat(5_000), '1e400']) {
      const text = `[{"device":"${deviceId(1)}","event_time":1,"data":{"n":${number}}}]`;
      expect(await post(JSON_TYPE, text), number).toMatchObject({
        status: 400,
        body: { items: [{ index: 0, field: 'data.n' }] },
      });
    }
  });

  test('a lone surrogate is refused anywhere', async () => {
    const { post, stored } = await setUp();
    const before = `[{"device":"${deviceId(1)}","event_time":1,`;
    for (const [rest, field] of [
      ['"data":{"\\ud800":1}}]', 'data'],
      ['"data":{"a\\udfffb":1,"\\ud800":2}}]', 'data'],
      ['"data":{"name":"x\\ud83d"}}]', 'data.name'],
      ['"source":"\\ude00\\ud83d","data":{}}]', 'source'],
    ] as const)
      for (const type of [JSON_TYPE, NDJSON]) {
        const body = type === NDJSON ? `${before}${rest}`.slice(1, -1) : `${before}${rest}`;
        expect(await post(type, body), rest).toMatchObject({
          status: 400,
          body: {
            error: 'InvalidRequest',
            items: expect.arrayContaining([expect.objectContaining({ field })]),
          },
        });
      }
    const status = `[{"device":"${deviceId(1)}","state":"online","event_time":1,"reason":"\\ud800"}]`;
    expect(await post(JSON_TYPE, status, '/api/v1/tables/acme/devices/messages')).toMatchObject({
      status: 400,
      body: { items: [{ index: 0, field: 'reason' }] },
    });
    expect(await stored()).toEqual([]);
    const whole = `${before}"source":"\\ud83d\\ude00","data":{"\\ud83d\\ude00":"\\ud83d\\ude00"}}]`;
    expect(await post(JSON_TYPE, whole)).toMatchObject({ status: 200 });
    expect(await stored()).toMatchObject([{ source: '😀', data: { '😀': '😀' } }]);
  });

  const malformed: Array<[type: string, body: string | Uint8Array, place: string]> = [
    [
      JSON_TYPE,
      `[{"device":"${deviceId(1)}","event_time":1,"data":{"p":1,"q":{},"\\u0070":2}}]`,
      'the JSON names "p" twice in one object, at position 86',
    ],
    [
      NDJSON,
      `{"a":1}\n{"b":[{"c":1}],"c":"b:,\\"","b":2}`,
      'the JSON in line 2 names "b" twice in one object, at position 27',
    ],
    [JSON_TYPE, '[{"__proto__":1,"__proto__":2}]', 'names "__proto__" twice'],
    [CBOR, Buffer.from('81a2616101616102', 'hex'), 'the same key twice in a map'],
    [CBOR, Buffer.from('826161', 'hex'), 'at byte 3'],
    [CBOR, Buffer.from('80ff', 'hex'), 'at byte 1'],
    [CBOR, Buffer.from('81c100', 'hex'), 'at byte 1'],
    [CBOR, Buffer.from('ff', 'hex'), 'at byte 0'],
    [CBOR, Buffer.from(`${'81'.repeat(64)}00`, 'hex'), 'at byte'],
    [CBOR, Buffer.from('9bffffffffffffffff', 'hex'), 'at byte'],
    [JSON_TYPE, '[{"device": }]', `malformed: Unexpected token '}', "[{"device": }]"`],
    [JSON_TYPE, '[{}', "malformed: Expected ',' or ']' after array element in JSON at position 3"],
    [JSON_TYPE, Buffer.from([0x22, 0xff, 0x22]), 'not UTF-8'],
    [JSON_TYPE, '['.repeat(1_000_000), 'nested too deep'],
    [JSON_TYPE, `[[${'{},'.repeat(300_000)}{}]]`, 'too many objects'],
    [
      JSON_TYPE,
      `[{${Array.from({ length: 10_001 }, (_, key) => `"${key}":1`).join()}}]`,
      'too many objects or members',
    ],
    [CBOR, mapOf(10_001), 'at byte 1: more than 10000 members in a map'],
    [CBOR, Buffer.concat([Buffer.from('9f', 'hex'), mapOf(1)]), 'at byte'],
    [
      NDJSON,
      '{}\n{"a":1}\n{"a"\n',
      "in line 3 is malformed: Expected ':' after property name in JSON at position 4",
    ],
    [CBOR, Buffer.from('a0', 'hex'), 'must be an array'],
    [JSON_TYPE, '{"device": 1}', 'must be an array'],
    [CBOR, Buffer.from('80', 'hex'), 'no items'],
    [JSON_TYPE, '[]', 'no items'],
    [NDJSON, '\n\n', 'no items'],
  ];

  test('a malformed body is 400 with the place', async () => {
    const { post, stored } = await setUp();
    for (const [index, [type, body, place]] of malformed.entries()) {
      const answer = await post(type, body);
      expect(answer, String(index)).toMatchObject({
        status: 400,
        body: { error: 'InvalidRequest', parameter: 'body', message: expect.stringContaining(place) },
      });
    }
    expect(await stored()).toEqual([]);
  });

  test('too many items are 413, and the items after the ten thousandth are not checked', async () => {
    const { post } = await setUp();
    const broken = Buffer.from('ff1c', 'hex');
    for (const [type, body] of [
      [CBOR, Buffer.concat([Buffer.from('9f', 'hex'), Buffer.alloc(1_000_000, 0xf6), broken])],
      [CBOR, Buffer.concat([Buffer.from('9a000f4240', 'hex'), Buffer.alloc(1_000_000), broken])],
      [JSON_TYPE, `[${'12345678901234567890,'.repeat(100_000)}?]`],
    ] as const)
      expect(await post(type, body)).toMatchObject({ status: 413, body: { error: 'PayloadTooLarge' } });
  });

  test('more than 10,000 items, or more than 8 MiB, is 413', { tags: ['slow'] }, async () => {
    const { post } = await setUp();
    const small = { device: deviceId(1), event_time: 1, data: {} };
    const items = Array.from({ length: 10_001 }, () => small);
    const lines = `${JSON.stringify(small)}\n`.repeat(10_001);
    for (const [type, body] of [
      [CBOR, encodeCbor(items)],
      [JSON_TYPE, JSON.stringify(items)],
      [NDJSON, lines],
      [JSON_TYPE, ' '.repeat(8 * MEBIBYTE + 1)],
    ] as const)
      expect(await post(type, body)).toMatchObject({
        status: 413,
        body: { error: 'PayloadTooLarge', status: 413, retryable: false },
      });
    expect(await post(CBOR, encodeCbor(items.slice(1)))).toMatchObject({ status: 200 });
    expect(await post(JSON_TYPE, ' '.repeat(8 * MEBIBYTE))).toMatchObject({ status: 400 });
  });

  test('a message of more than 1 MiB is a bad item', async () => {
    const { post } = await setUp();
    const data = Object.fromEntries(
      Array.from({ length: 400 }, (_, index) => [`f${index}`, 'x'.repeat(4_000)]),
    );
    expect(await post(CBOR, encodeCbor([jsonItem(), jsonItem({ data })]))).toMatchObject({
      status: 400,
      body: { items: [{ index: 1, field: 'data', reason: 'is larger than 1048576 bytes' }] },
    });
  });

  test('other content types, and content encodings, are 415', async () => {
    const { post } = await setUp();
    for (const type of [undefined, 'text/plain', 'application/xml', 'multipart/form-data; boundary=x'])
      expect(await post(type, '[]'), String(type)).toMatchObject({
        status: 415,
        body: { error: 'UnsupportedMediaType', status: 415 },
      });
    expect(await post(JSON_TYPE, '[]', SOLAR, { headers: { 'content-encoding': 'gzip' } })).toMatchObject({
      status: 415,
    });
  });

  test('audit_logs and the wildcard cannot be written from outside', async () => {
    const { post, stored } = await setUp();
    const audit = [{ actor: 'me', action: 'nothing', event_time: 1 }];
    for (const table of ['audit_logs', '-'])
      for (const items of [audit, [jsonItem()]])
        expect(
          await post(JSON_TYPE, JSON.stringify(items), `/api/v1/tables/acme/${table}/messages`),
        ).toMatchObject({
          status: 400,
          body: { error: 'InvalidRequest', parameter: 'tableName' },
        });
    expect(await post(JSON_TYPE, JSON.stringify(audit))).toMatchObject({ status: 400 });
    expect(await stored()).toEqual([]);
  });

  test('a token without data:write, for another workgroup or for other devices cannot send', async () => {
    const reader = await setUp({ permissions: ['search:read'] });
    const body = JSON.stringify([jsonItem()]);
    expect(await reader.post(JSON_TYPE, body)).toMatchObject({
      status: 403,
      body: { error: 'InsufficientScope', required: ['data:write'] },
    });
    expect(await reader.post(JSON_TYPE, body, '/api/v1/tables/other/solar/messages')).toMatchObject({
      status: 403,
      body: { error: 'WorkgroupForbidden' },
    });
    expect(await reader.call(SOLAR, { method: 'POST', body })).toMatchObject({ status: 401 });
    const gateway = await setUp({ permissions: ['data:write'], deviceGroups: ['roof'] });
    expect(await gateway.post(JSON_TYPE, body)).toMatchObject({ status: 200 });
    expect(await gateway.post(JSON_TYPE, JSON.stringify([jsonItem({ device: deviceId(2) })]))).toMatchObject({
      status: 400,
      body: {
        items: [{ index: 0, field: 'device', reason: 'is not a device that this token may write for' }],
      },
    });
  });
});
