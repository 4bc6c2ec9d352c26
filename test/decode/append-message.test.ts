import { describe, expect, it } from 'vitest';
import { createNameTable } from '../../src/decode/name-table.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { columnMessages } from './column-messages.ts';

const DEVICE = '0f8fad5b-d9cb-469f-a165-70867728950e';
const OTHER_DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const OFFSET = 2n ** 60n + 7n;
const TIME_MS = 1_763_640_300_123;
const telemetry = {
  offset: OFFSET,
  table: 'solar',
  kind: 'telemetry',
  device: DEVICE,
  source: 'grid',
  event_time: TIME_MS,
  store_time: TIME_MS + 1,
  msg_id: 12,
  data: { power: 1.5 },
};
const expected = {
  offset: OFFSET,
  table: 'solar',
  kind: 'telemetry',
  device: DEVICE,
  source: 'grid',
  eventTimeMs: TIME_MS,
  storeTimeMs: TIME_MS + 1,
  messageId: 12,
  fields: [['power', 1.5]],
  other: undefined,
};

function read(messages: unknown[], defaultTable?: string) {
  const names = createNameTable();
  const columns = messagesToColumns(messages, names, { defaultTable });
  return { messages: columnMessages(columns, names), rejected: columns.rejected, names };
}

function without(member: keyof typeof telemetry, instead: object = {}): object {
  const { [member]: _, ...rest } = telemetry;
  return { ...rest, ...instead };
}

describe('a message', () => {
  it.each<[spelling: string, message: object]>([
    ['as ours', telemetry],
    ['with its offset as text', { ...telemetry, offset: String(OFFSET) }],
    ['with times as bigints that are small', { ...telemetry, event_time: BigInt(TIME_MS) }],
    ['with times as digits', { ...telemetry, event_time: String(TIME_MS), store_time: String(TIME_MS + 1) }],
    [
      'with times as ISO 8601',
      { ...telemetry, event_time: '2025-11-20T12:05:00.123Z', store_time: '2025-11-20T14:05:00.124+02:00' },
    ],
    ['with device_id', without('device', { device_id: DEVICE })],
    ['with deviceId', without('device', { deviceId: DEVICE.toUpperCase() })],
    [
      'with eventTime and storeTime',
      { ...without('event_time', { eventTime: TIME_MS }), store_time: null, storeTime: TIME_MS + 1 },
    ],
    ['with timestamp', without('event_time', { timestamp: TIME_MS })],
    ['with tableName', without('table', { tableName: 'solar' })],
    ['with msgId', without('msg_id', { msgId: 12 })],
    ['with no kind', without('kind')],
  ])('is read %s', (_, message) => {
    expect(read([message])).toMatchObject({ messages: [expected], rejected: [] });
  });

  it('with a state is telemetry if it has data', () => {
    expect(read([without('kind', { state: 'online' })]).messages).toMatchObject([
      { kind: 'telemetry', fields: [['power', 1.5]] },
    ]);
  });

  it('without a table belongs to the default table', () => {
    expect(read([without('table')], 'solar').messages).toStrictEqual([expected]);
  });

  it.each([
    ['null', null],
    ['empty', ''],
    ['missing', undefined],
  ])('has no source where it is %s', (_, source) => {
    expect(read([{ ...telemetry, source }]).messages[0]!.source).toBeNull();
  });

  it('has times in milliseconds, never in seconds', () => {
    expect(read([{ ...telemetry, event_time: 1_763_640_300 }]).messages[0]!.eventTimeMs).toBe(1_763_640_300);
  });

  it('keeps every field: numbers in lists, all others as JSON with every digit', () => {
    const data = {
      nan: Number.NaN,
      infinity: Number.NEGATIVE_INFINITY,
      zero: -0,
      big: 2n ** 63n,
      text: 'ü"\n',
      on: true,
      none: null,
      list: [1, 2n ** 60n, Number.NaN],
      map: { a: { b: new Uint8Array([1, 2]) } },
    };
    const [message] = read([{ ...telemetry, data }]).messages;
    expect(message!.fields).toStrictEqual([
      ['infinity', Number.NEGATIVE_INFINITY],
      ['nan', Number.NaN],
      ['zero', -0],
    ]);
    expect(message!.other).toStrictEqual({
      big: 2n ** 63n,
      text: 'ü"\n',
      on: true,
      none: null,
      list: [1, 2n ** 60n, 'NaN'],
      map: { a: { b: 'AQI=' } },
    });
  });

  it('keeps members that the contract does not name under $extra, also a counter of another type', () => {
    const [message] = read([
      { ...telemetry, msg_id: 'a-7', quality: 'good', nested: { a: [1] }, timestamp: 5, data: { note: 'x' } },
    ]).messages;
    expect(message).toMatchObject({ messageId: null, fields: [], eventTimeMs: TIME_MS });
    expect(message!.other).toStrictEqual({
      note: 'x',
      $extra: { msg_id: 'a-7', quality: 'good', nested: { a: [1] }, timestamp: 5 },
    });
  });

  it('keeps __proto__ as an ordinary field and member', () => {
    const message = JSON.parse(
      `{"offset":1,"table":"solar","device":"${DEVICE}","event_time":1,"store_time":1,"data":{"__proto__":5,"constructor":"x"},"__proto__":{"offset":9}}`,
    );
    const [read_] = read([message]).messages;
    expect(read_!.fields).toStrictEqual([['__proto__', 5]]);
    expect(JSON.stringify(read_!.other)).toBe('{"constructor":"x","$extra":{"__proto__":{"offset":9}}}');
  });

  it('is a device status because of its kind, its table or its state', () => {
    const status = { offset: 1, device: OTHER_DEVICE, state: 'online', event_time: 5, store_time: 6 };
    const wanted = {
      kind: 'device_status',
      table: 'devices',
      device: OTHER_DEVICE,
      other: { state: 'online', reason: 'boot' },
    };
    for (const spelling of [
      { table: 'devices', kind: 'device_status', reason: 'boot' },
      { table: 'devices', reason: 'boot' },
    ]) {
      expect(read([{ ...status, ...spelling }]).messages[0]).toMatchObject(wanted);
    }
    expect(read([{ ...status, table: 'gateways', reason: 'boot' }]).messages[0]).toMatchObject({
      ...wanted,
      table: 'gateways',
    });
  });

  it('is an audit message with all its members, without a device', () => {
    const audit = {
      offset: 1,
      table: 'audit_logs',
      actor: 'ann',
      action: 'x',
      data: { a: 2n ** 60n },
      device: 'd',
      event_time: 5,
      store_time: 6,
    };
    expect(read([audit]).messages[0]).toMatchObject({
      kind: 'audit',
      device: null,
      other: { actor: 'ann', action: 'x', data: { a: 2n ** 60n }, device: 'd' },
    });
  });

  it.each<[problem: string, message: unknown, reason: string, detail: string]>([
    ['it is no map', [1], 'not_a_map', 'a message is a map, not an array'],
    ['it is nothing', undefined, 'not_a_map', 'missing'],
    ['it has no offset', without('offset'), 'invalid_offset', 'offset must be an integer'],
    [
      'its offset is a float beyond 2^53',
      { ...telemetry, offset: 2 ** 60 },
      'invalid_offset',
      'without lost digits',
    ],
    ['its offset is negative', { ...telemetry, offset: -1 }, 'invalid_offset', 'offset'],
    ['its offset is beyond 64 bits', { ...telemetry, offset: 2n ** 64n }, 'invalid_offset', 'offset'],
    ['its offset is not digits', { ...telemetry, offset: '12a' }, 'invalid_offset', 'offset'],
    ['it has no table', without('table'), 'invalid_table', 'table must be a table name'],
    ['its table would name another folder', { ...telemetry, table: '../x' }, 'invalid_table', 'table'],
    ['its kind is another', { ...telemetry, kind: 'alarm' }, 'invalid_kind', 'kind must be one of telemetry'],
    ['it has no device', without('device'), 'invalid_device', 'device must be a UUID'],
    ['its device is no UUID', { ...telemetry, device: 'meter-7' }, 'invalid_device', 'device must be a UUID'],
    ['its source is a number', { ...telemetry, source: 5 }, 'invalid_source', 'source must be text'],
    ['its source is too long', { ...telemetry, source: 'x'.repeat(129) }, 'invalid_source', '1 to 128'],
    [
      'its time has no zone',
      { ...telemetry, event_time: '2025-11-20T12:05:00' },
      'invalid_event_time',
      'with a zone',
    ],
    [
      'its time is no day',
      { ...telemetry, event_time: '2025-02-30T12:05:00Z' },
      'invalid_event_time',
      'event_time',
    ],
    ['its time is a fraction', { ...telemetry, event_time: 1.5 }, 'invalid_event_time', 'whole milliseconds'],
    ['its time is before 1970', { ...telemetry, event_time: -1 }, 'invalid_event_time', 'since 1970'],
    [
      'its time is too large',
      { ...telemetry, store_time: 253_402_300_800_000 },
      'invalid_store_time',
      '9999',
    ],
    ['it has no store time', without('store_time'), 'invalid_store_time', 'store_time'],
    ['its data are no map', { ...telemetry, data: [1] }, 'invalid_data', 'not an array'],
    ['it has no data', without('data'), 'invalid_data', 'missing'],
    [
      'a field has no name',
      { ...telemetry, data: { '': 1 } },
      'invalid_data',
      'has a name that must be text of 1 to 128',
    ],
    [
      'a field has an endless name',
      { ...telemetry, data: { ['x'.repeat(129)]: 1 } },
      'invalid_data',
      'has a name that must be text of 1 to 128',
    ],
    ['a field takes the name of ours', { ...telemetry, data: { $extra: 1 } }, 'invalid_data', '$extra'],
    [
      'a name is no Unicode',
      { ...telemetry, data: { '\ud800': 1 } },
      'invalid_data',
      'has a name that must be text of 1 to 128',
    ],
    [
      'a state is another',
      { ...telemetry, kind: 'device_status', state: 'sleepy' },
      'invalid_state',
      'online or offline',
    ],
  ])('is rejected where %s', (_, message, reason, detail) => {
    const { messages, rejected, names } = read([telemetry, message, telemetry]);
    expect(messages).toStrictEqual([expected, expected]);
    expect(rejected).toHaveLength(1);
    expect(rejected[0]!.reason).toBe(reason);
    expect(rejected[0]!.detail).toContain(detail);
    expect(
      names
        .takeNew()
        .names.map(({ name }) => name)
        .sort(),
    ).toStrictEqual(['grid', 'power', 'solar']);
  });

  it('is rejected with all its problems, a valid offset, and itself as JSON', () => {
    const { rejected } = read([{ ...telemetry, device: 1, data: null, event_time: 'noon' }]);
    expect(rejected[0]).toMatchObject({ offset: OFFSET, reason: 'invalid_device' });
    expect(rejected[0]!.detail).toMatch(/^device .*; event_time .*; data .*/);
    const kept = JSON.parse(Buffer.from(rejected[0]!.bytes).toString());
    expect(kept).toMatchObject({ device: 1, data: null, event_time: 'noon', table: 'solar' });
    expect(Buffer.from(rejected[0]!.bytes).toString()).toContain(`"offset":${OFFSET}`);
    expect(rejected[0]!.detail).not.toContain('noon');
  });
});
