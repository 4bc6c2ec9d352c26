import { describe, expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { parseTopicPattern } from '../../src/config/topic-pattern.ts';
import { createMessageReader } from '../../src/inputs/read-mqtt-message.ts';

const GARAGE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const NOW_MS = Date.parse('2026-11-20T08:00:00Z');

function workgroupWith(rules: object[]) {
  const mqtt = [{ id: 'house', url: 'mqtt://127.0.0.1', rules }];
  const devices = [{ id: GARAGE, name: 'Garage' }];
  return configSchema.parse({ workgroups: [{ id: 'home', devices, inputs: { mqtt } }] }).workgroups[0]!;
}

function read(rule: object, topic: string, payload: string | Uint8Array) {
  const workgroup = workgroupWith([rule]);
  const { read: readMessage } = createMessageReader(workgroup, workgroup.inputs!.mqtt[0]!.rules);
  return readMessage(topic, Buffer.from(payload), NOW_MS);
}

const plain = { topic: 'a/{device}/power', table: 't', fields: { power: 'payload' } };
const json = { topic: 'a/{device}', table: 't', fields: { wh: { from: '/E/total', scale: 1000 }, p: '/p' } };

describe('a topic pattern', () => {
  test.each([
    ['a/{device}/power', 'a/x/power', { device: 'x' }],
    ['a/{device}/power', 'a/x/y/power', undefined],
    ['a/shelly-{id}/{channel}', 'a/shelly-7/0', { id: '7', channel: '0' }],
    ['a/shelly-{id}', 'a/other-7', undefined],
    ['a/+/power', 'a/x/power', {}],
    ['a/#', 'a', {}],
    ['a/#', 'a/b/c', {}],
    ['{site}/#', 'x/y', { site: 'x' }],
    ['a.c/{d}', 'abc/1', undefined],
  ])('%s and %s', (pattern, topic, levels) => {
    const parsed = parseTopicPattern(pattern);
    if ('problem' in parsed) throw new Error(parsed.problem);
    expect(parsed.match(topic)).toEqual(levels);
  });

  test('is what a broker is asked for', () => {
    expect(parseTopicPattern('a/shelly-{id}/{c}/#')).toMatchObject({ filter: 'a/+/+/#', names: ['id', 'c'] });
  });

  test.each(['', 'a/#/b', 'a/b#', 'a/+b', 'a/{b', 'a/{}', 'a/{b}/{b}', 'a/{b}{c}', '$share/g/a'])(
    '%s is refused',
    (pattern) => expect(parseTopicPattern(pattern)).toHaveProperty('problem'),
  );
});

describe('a configuration is refused', () => {
  test.each([
    [
      'a name that the topic does not have',
      { ...plain, device: '{other}' },
      '{other} is not a level of the topic',
    ],
    ['no fields', { ...plain, fields: {} }, 'must name 1 to 100 fields'],
    ['a table that is not for readings', { ...plain, table: 'audit_logs' }, 'is not a table for readings'],
    ['something that is no pointer', { ...plain, fields: { p: 'power' } }, 'JSON pointer'],
    ['a zone that does not exist', { ...plain, time: { from: '/t', zone: 'Nowhere' } }, 'time zone'],
  ])('with %s', (_name, rule, message) => {
    expect(() => workgroupWith([rule])).toThrow(message);
  });

  test('with inputs of a workgroup that reads another stream, or two inputs of one name', () => {
    const one = { id: 'house', url: 'mqtt://127.0.0.1', rules: [plain] };
    const parse = (workgroup: object) => configSchema.parse({ workgroups: [{ id: 'home', ...workgroup }] });
    expect(() => parse({ inputs: { mqtt: [one] }, upstream: { url: 'http://x.example' } })).toThrow(
      'upstream',
    );
    expect(() => parse({ inputs: { mqtt: [one, one] } })).toThrow('used twice');
    expect(() => parse({ inputs: { mqtt: [{ ...one, id: 'lines' }] } })).toThrow('choose another id');
    expect(() => parse({ inputs: { mqtt: [{ ...one, url: 'mqtt://me:secret@host' }] } })).toThrow('password');
  });
});

test('a device is found by its configured name in any case, by its id, or gets the same id each time', () => {
  const deviceOf = (name: string) => {
    const [outcome] = read(plain, `a/${name}/power`, '1');
    return outcome?.kind === 'reading' ? outcome.item.device : outcome;
  };
  expect(deviceOf('garage')).toBe(GARAGE);
  expect(deviceOf(GARAGE.toUpperCase())).toBe(GARAGE);
  expect(deviceOf('12345678-1234-4234-9234-123456789abc')).toBe('12345678-1234-4234-9234-123456789abc');
  expect(deviceOf('shellyem-B9F2A1')).toBe('7e6f507c-4e99-521c-b9fb-cb69a068857f');
  expect(deviceOf('shellyem-B9F2A1')).toBe(deviceOf('shellyem-B9F2A1'));
  expect(deviceOf('shellyem-B9F2A2')).not.toBe(deviceOf('shellyem-B9F2A1'));
});

test.each([
  ['12.5', { power: 12.5 }],
  [' 12.5 ', { power: 12.5 }],
  ['"-3e2"', { power: -300 }],
  ['true', { power: true }],
  ['9007199254740993', { power: 9007199254740993n }],
  ['"9007199254740993"', { power: 9007199254740993n }],
  [' +9007199254740993', { power: 9007199254740993n }],
])('the payload %s is a value', (payload, data) => {
  expect(read(plain, 'a/x/power', payload)).toMatchObject([
    { kind: 'reading', table: 't', hasOwnTime: false, item: { source: null, event_time: NOW_MS, data } },
  ]);
});

test('parts of a payload are values, with their factors and without noise, and a missing one is left out', () => {
  const dataOf = (payload: string) =>
    read(json, 'a/x', payload).map((one) => (one.kind === 'reading' ? one.item.data : one));
  expect(dataOf('{"E":{"total":6.532},"p":3}')).toEqual([{ wh: 6532, p: 3 }]);
  expect(dataOf('{"E":{"total":4.35}}')).toEqual([{ wh: 4350 }]);
  // An integer beyond 2^53 is a bigint. Its digits beyond the 15th are noise, too.
  expect(dataOf('{"E":{"total":9007199254740993}}')).toEqual([{ wh: 9_007_199_254_740_990_000 }]);
  expect(dataOf('{"E":null,"p":"7"}')).toEqual([{ p: 7 }]);
});

test('members of a payload fill placeholders, also numbers and items of lists', () => {
  const rule = { ...json, device: '{/src}', source: 'phase-{/id}', fields: { '{/name}_{/list/1}': '/v' } };
  expect(read(rule, 'a/x', '{"src":"garage","id":0,"name":"power","list":[1,2],"v":5}')).toMatchObject([
    { kind: 'reading', item: { device: GARAGE, source: 'phase-0', data: { power_2: 5 } } },
  ]);
  expect(read(rule, 'a/x', '{"src":"garage","v":5,"name":"power","list":[1,2]}')).toEqual([
    { kind: 'refused', reason: 'the source has a placeholder without a value' },
  ]);
});

test.each([
  ['iso', '"2026-11-20T07:00:00.250Z"', '2026-11-20T07:00:00.250Z'],
  ['iso', '"2026-11-20 08:00:00+01:00"', '2026-11-20T07:00:00.000Z'],
  ['seconds', '1795158000.25', '2026-11-20T07:00:00.250Z'],
  ['seconds', '"1795158000"', '2026-11-20T07:00:00.000Z'],
  ['milliseconds', '1795158000250', '2026-11-20T07:00:00.250Z'],
  ['microseconds', '1795158000250123', '2026-11-20T07:00:00.250Z'],
  ['nanoseconds', '1795158000250123456', '2026-11-20T07:00:00.250Z'],
])('a time in %s: %s', (format, text, instant) => {
  expect(read({ ...json, time: { from: '/t', format } }, 'a/x', `{"p":1,"t":${text}}`)).toMatchObject([
    { kind: 'reading', hasOwnTime: true, item: { event_time: Date.parse(instant) } },
  ]);
});

test('a message has no reading if it is empty or has none of the values, which is no fault', () => {
  for (const payload of ['', '{}', '{"E":{}}', '{"p":null}', '{"E":{"total":""}}'])
    expect(read(json, 'a/x', payload)).toMatchObject([{ kind: 'ignored' }]);
  expect(read(json, 'b/x', '{"p":1}')).toEqual([]);
});

test.each<[string, object, string | Uint8Array, string]>([
  ['no JSON', json, '{"p":', 'the payload is not JSON, and the rule reads a part of it'],
  ['no number', plain, 'on', 'the value at payload is "on", and must be a number'],
  ['an object', plain, '{}', 'the value at payload is an object or a list, and must be a number'],
  ['no text', plain, Uint8Array.of(0xff, 0xfe), 'the payload is not text in UTF-8'],
  [
    'a scale of a truth',
    json,
    '{"E":{"total":true}}',
    'the value at /E/total is "true", and must be a number',
  ],
  ['no time', { ...json, time: '/t' }, '{"p":1}', 'the time at /t is nothing, and must be a time such as'],
  ['a time without a zone', { ...json, time: '/t' }, '{"p":1,"t":"2026-01-01T00:00:00"}', 'set zone'],
  [
    'the repeated hour',
    { ...json, time: { from: '/t', zone: 'Europe/Paris' } },
    '{"p":1,"t":"2026-10-25T02:30:00"}',
    'twice',
  ],
  [
    'a clock that was not set',
    { ...json, time: { from: '/t', zone: 'Europe/Paris' } },
    '{"p":1,"t":"1970-01-01T00:00:12"}',
    'not set',
  ],
  ['a table that cannot be', { ...json, table: '{/t}' }, '{"p":1,"t":"a b"}', 'table name'],
  ['the table of the audit log', { ...json, table: '{/t}' }, '{"p":1,"t":"audit_logs"}', 'cannot be sent'],
  ['the table of device states', { ...json, table: '{/t}' }, '{"p":1,"t":"devices"}', 'cannot be sent'],
  [
    'a source that is too long',
    { ...json, source: '{/s}' },
    `{"p":1,"s":"${'x'.repeat(129)}"}`,
    'source must be text of 1 to 128',
  ],
  [
    'a field that cannot be stored',
    { ...json, fields: { '{/f}': '/p' } },
    '{"p":1,"f":"__proto__"}',
    '__proto__',
  ],
  ['a large payload', plain, `"${'x'.repeat(1024 * 1024)}"`, 'larger than'],
])('%s is refused with its reason', (_name, rule, payload, reason) => {
  const topic = (rule as { topic: string }).topic.replace('{device}', 'x');
  const outcomes = read(rule, topic, payload);
  expect(outcomes).toMatchObject([{ kind: 'refused' }]);
  expect(outcomes[0]).toHaveProperty('reason', expect.stringContaining(reason));
});
