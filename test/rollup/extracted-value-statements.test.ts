import { expect, test } from 'vitest';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statement of chapter 10 that makes readings of messages, over a few rows. */
const open = chapterTables();
const one = deviceOf(1);
const NOW_MS = Date.UTC(2024, 5, 1);
const DAY_MS = 86_400_000;
const MILLION = 1_000_000;
const { future_ms, clock_set_ms, register_max_wh, power_max_w, interval_max_wh } = ruleConstants;
const SETTING =
  'stream_id INTEGER, table_name VARCHAR, field VARCHAR, field_pointer VARCHAR, unit_pointer VARCHAR, method VARCHAR, dimension VARCHAR, factor DOUBLE, multiplier DOUBLE, modulus_wh DOUBLE, net BOOLEAN';
const MESSAGE =
  'batch_id, stream_offset, table_id, kind, device, source_id, event_time_ms, store_time_ms, message_id, field_ids, numbers, other';
const [TABLE, OTHER_TABLE, FIELD, OTHER_FIELD] = [1, 2, 3, 4];

interface Setting {
  method?: string;
  net?: boolean;
  modulus?: number;
  factor?: number;
  multiplier?: number;
  /** The unit that the reading names. */
  unit?: string;
  readsUnit?: boolean;
}
interface Message {
  batch?: number;
  table?: number;
  kind?: number;
  device?: string | null;
  source?: number | null;
  timeMs?: number;
  storeMs?: number;
  fields?: number[];
  numbers?: Array<number | string>;
  other?: string | null;
}

async function openMessages({
  method = 'total_energy',
  net = false,
  modulus,
  factor = 1,
  multiplier = 1,
  ...more
}: Setting = {}) {
  const tables = await open();
  const { fill, run } = tables;
  await run('create_unit_factor');
  await fill('unit_factor', 'dimension, unit, factor', ['energy', 'MWh', MILLION], ['power', 'MW', MILLION]);
  await fill(
    'name',
    'name_id, name',
    [TABLE, 'meter'],
    [OTHER_TABLE, 'other'],
    [FIELD, 'wh'],
    [OTHER_FIELD, 'w'],
  );
  const unitPointer = more.readsUnit === false ? null : '/unit';
  const dimension = method === 'power_curve' ? 'power' : 'energy';
  await fill('stream_setting', SETTING, [
    1,
    'meter',
    'wh',
    '/wh',
    unitPointer,
    method,
    dimension,
    factor,
    multiplier,
    modulus ?? null,
    net,
  ]);
  await fill('energy_stream', 'stream_id, batch_id', [1, 10], [2, 0], [3, 0]);
  return tables;
}

const messageOf = (offset: number, message: Message = {}) => [
  message.batch ?? 11,
  offset,
  message.table ?? TABLE,
  message.kind ?? 0,
  message.device === undefined ? one : message.device,
  message.source === undefined ? 9 : message.source,
  message.timeMs ?? NOW_MS,
  message.storeMs ?? NOW_MS,
  100 + offset,
  (message.fields ?? [FIELD]).map(String),
  (message.numbers ?? [5]).map(String),
  message.other ?? null,
];
const taken = { after: 0n, upto: 20n, now_ms: BigInt(NOW_MS), archived: false };

type Received = number | string;

/**
 * @param received plain numbers and JSON texts
 * @returns the value of each, or why it is rejected, and its text
 */
async function readAll(
  received: readonly Received[],
  { unit, ...setting }: Setting = {},
  message: Message = {},
) {
  const { fill, run, rows } = await openMessages(setting);
  for (const [place, value] of received.entries()) {
    const isPlain = typeof value === 'number';
    const others = [
      ...(isPlain ? [] : [`"wh": ${value}`]),
      ...(unit === undefined ? [] : [`"unit": "${unit}"`]),
    ];
    const other = others.length === 0 ? null : `{${others.join(', ')}}`;
    const numbers = isPlain ? { fields: [FIELD], numbers: [value] } : { fields: [], numbers: [] };
    await fill('message', MESSAGE, messageOf(place, { ...numbers, other, ...message }));
  }
  await run('extract_readings', taken);
  const found = await rows('extracted', 'stream_offset, value, reason, "text"');
  return found.map(([, value, reason, text]) => (reason === null && text === null ? value : [reason, text]));
}
const readOne = async (value: Received, setting: Setting = {}, message: Message = {}) =>
  (await readAll([value], setting, message))[0];

test.each<[received: Received, value: number]>([
  [5.5, 5.5],
  [0, 0],
  ['1.5', 1.5],
  ['7', 7],
  ['-7', -7],
  ['1e3', 1_000],
  ['"12"', 12],
  ['" +1.5e3 "', 1_500],
  ['"-.5E+1"', -5],
  ['"\\t5\\n"', 5],
  ['"5."', 5],
  ['"1e-1"', 0.1],
])('%s is a number', async (received, value) => {
  expect(await readOne(received, { net: true })).toBe(value);
});

test.each([
  ['null', 'null', null],
  ['"NaN"', 'not_a_number', 'NaN'],
  ['"1,5"', 'not_a_number', '1,5'],
  ['"0x10"', 'not_a_number', '0x10'],
  ['"1_000"', 'not_a_number', '1_000'],
  ['"1e"', 'not_a_number', '1e'],
  ['"."', 'not_a_number', '.'],
  ['""', 'not_a_number', ''],
  ['"12 Wh"', 'not_a_number', '12 Wh'],
  ['true', 'not_a_number', 'true'],
  ['[5]', 'not_a_number', '[5]'],
  ['{"wh":5}', 'not_a_number', '{"wh":5}'],
  ['"1e999"', 'not_finite', '1e999'],
])('%s is no number', async (received, reason, text) => {
  expect(await readOne(received)).toEqual([reason, text]);
});

const power = { method: 'power_curve' };
test.each<[name: string, setting: Setting, wanted: number | unknown[]]>([
  ['that of the stream', { factor: 1_000, multiplier: 10 }, 5_000],
  ['its own, with the multiplier', { factor: 1_000, multiplier: 10, unit: 'MWh' }, 50 * MILLION],
  ['its own of power', { ...power, unit: 'MW' }, 5 * MILLION],
  ['that of the stream, if the stream reads no unit', { factor: 2, unit: 'Wh', readsUnit: false }, 10],
  ['unknown', { unit: 'Mwh' }, ['unknown_unit', '5.0']],
  ['one of another dimension', { unit: 'MW' }, ['unknown_unit', '5.0']],
])('the unit of a value is %s', async (_name, setting, wanted) => {
  expect(await readOne(5, setting)).toEqual(wanted);
});

const smallest = [-(2 ** 31), -(2 ** 63)];
const largest = [2 ** 31 - 1, 2 ** 32 - 1, 2 ** 63, 2 ** 64];
const ends = [-(2 ** 15), 2 ** 15 - 1, 2 ** 16 - 1];
const of = (method: string, more: Setting = {}): Setting => ({ method, net: true, ...more });
test.each<[name: string, numbers: readonly number[], setting: Setting, isSentinel: boolean]>([
  ['the smallest integers of a register', smallest, of('total_energy', { modulus: 9 }), true],
  ['those of power', smallest, of('power_curve'), true],
  ['the largest integers of a register', largest, of('total_energy'), true],
  ['those of a register with a modulus', largest.slice(0, 2), of('total_energy', { modulus: 9 }), false],
  ['those of power', largest, of('power_curve', { modulus: 9 }), true],
  ['the ends of 16 bits of a register', ends, of('total_energy'), false],
  ['those of energy of an interval', ends, of('interval_energy'), false],
  ['those of power', ends, of('power_curve'), true],
  ['those of power in a unit of less than a kW', ends, of('power_curve', { factor: 999 }), true],
  ['those of power in kW', ends, of('power_curve', { factor: 1_000 }), false],
  ['neighbours of them', [32_766, -32_767, 65_534], of('power_curve'), false],
])('a value that says that there is none, or not: %s', async (_name, numbers, setting, isSentinel) => {
  const wanted = numbers.map((number) =>
    isSentinel ? ['sentinel', expect.any(String)] : number * (setting.factor ?? 1),
  );
  expect(await readAll(numbers, setting)).toEqual(wanted);
});

test.each<[method: string, max: number]>([
  ['total_energy', register_max_wh.value],
  ['daily_energy', register_max_wh.value],
  ['power_curve', power_max_w.value],
  ['interval_energy', interval_max_wh.value],
])('values of %s are in range up to %d in both directions, with their factor', async (method, max) => {
  const beyond = ['out_of_range', expect.any(String)];
  const numbers = [max / 10, -max / 10, max / 9.9, -max / 9.9];
  expect(await readAll(numbers, { method, net: true, factor: 10 })).toEqual([max, -max, beyond, beyond]);
});

test('a value that is infinite in Wh is out of range', async () => {
  expect(await readOne(1e300, { factor: 1e300 })).toEqual(['out_of_range', '1e+300']);
});

test.each<[setting: Setting, isNegative: boolean]>([
  [{ method: 'total_energy' }, true],
  [{ method: 'daily_energy' }, true],
  [{ method: 'total_energy', net: true }, false],
  [{ method: 'power_curve' }, false],
  [{ method: 'interval_energy' }, false],
])('a value below zero is rejected of registers that are not net: %o', async (setting, isNegative) => {
  expect(await readAll([-1, 0], setting)).toEqual([isNegative ? ['negative', '-1.0'] : -1, 0]);
});

test.each<[name: string, message: Message, reason: string | null]>([
  ['at its store time, and a little later', { timeMs: NOW_MS + future_ms.value }, null],
  ['later than that', { timeMs: NOW_MS + future_ms.value + 1 }, 'future'],
  ['after an earlier store time', { storeMs: NOW_MS - future_ms.value - 1 }, 'future'],
  [
    'up to a day after the clock of this service',
    { timeMs: NOW_MS + DAY_MS + future_ms.value, storeMs: NOW_MS + 9 * DAY_MS },
    null,
  ],
  [
    'later than that',
    { timeMs: NOW_MS + DAY_MS + future_ms.value + 1, storeMs: NOW_MS + 9 * DAY_MS },
    'future',
  ],
  ['when clocks are set', { timeMs: clock_set_ms.value }, null],
  ['before that', { timeMs: clock_set_ms.value - 1 }, 'clock_not_set'],
  ['of no device', { device: null }, 'no_device'],
])('a reading is possible, or not: %s', async (_name, message, reason) => {
  expect(await readOne(5, {}, message)).toEqual(reason === null ? 5 : [reason, '5.0']);
});

test.each<[received: Received, setting: Setting, message: Message, reason: string]>([
  ['"a"', {}, { device: null, timeMs: 0 }, 'no_device'],
  ['null', {}, { timeMs: 0 }, 'clock_not_set'],
  ['null', { unit: '?' }, {}, 'null'],
  ['"1e999"', { unit: '?' }, {}, 'not_finite'],
  [smallest[0]!, { unit: '?' }, {}, 'unknown_unit'],
  [smallest[1]!, {}, {}, 'sentinel'],
  [-1e300, {}, {}, 'negative'],
])('of several reasons the first one counts: %s, %o, %o: %s', async (received, setting, message, reason) => {
  expect(await readOne(received, setting, message)).toEqual([
    reason,
    expect.toBeOneOf([expect.any(String), null]),
  ]);
});

test('each stream reads its field of the new messages of its table', async () => {
  const { fill, run, rows } = await openMessages();
  const more = [null, 'power_curve', 'power', 1, 1, null, false];
  // The field of stream 3 was never a plain number, so it has no name in the warehouse.
  await fill(
    'stream_setting',
    SETTING,
    [2, 'meter', 'w', '/w', ...more],
    [3, 'meter', 'text', '/text', ...more],
  );
  const both = { fields: [OTHER_FIELD, FIELD], numbers: [70, 5] };
  await fill(
    'message',
    MESSAGE,
    messageOf(1, both),
    messageOf(2, { numbers: ['inf'], source: null }),
    // Stream 1 has read it, and it is too old or too new for both.
    messageOf(3, { ...both, batch: 10 }),
    messageOf(4, { ...both, batch: 9 }),
    messageOf(5, { batch: 12 }),
    messageOf(6, { batch: 13 }),
    messageOf(12, { fields: [], numbers: [], other: '{"text": "6"}' }),
    // Not of the table, no telemetry, without a field that is read, and with text that is not JSON.
    messageOf(7, { table: OTHER_TABLE }),
    messageOf(8, { kind: 1 }),
    messageOf(9, { fields: [99] }),
    messageOf(10, { fields: [], numbers: [], other: '{"w' }),
    messageOf(11, { fields: [], numbers: [], other: '{"x": 5, "unit": "MWh"}' }),
  );
  await fill('archived_message', MESSAGE, messageOf(13));
  const read = async (archived: boolean) => {
    await run('extract_readings', { ...taken, after: 9n, upto: 12n, archived });
    return rows(
      'extracted',
      'stream_offset, stream_id, device::VARCHAR, source_id, event_time_ms, value, reason, "text", message_id, batch_id',
    );
  };
  const found = [
    [1, 1, one, 9, NOW_MS, 5, null, null, 101, 11],
    [1, 2, one, 9, NOW_MS, 70, null, null, 101, 11],
    [2, 1, one, -1, NOW_MS, Number.POSITIVE_INFINITY, 'not_finite', 'inf', 102, 11],
    [3, 2, one, 9, NOW_MS, 70, null, null, 103, 10],
    [5, 1, one, 9, NOW_MS, 5, null, null, 105, 12],
    [12, 3, one, 9, NOW_MS, 6, null, null, 112, 11],
  ];
  expect(await read(false)).toEqual(found);
  expect(await read(true)).toEqual([...found, [13, 1, one, 9, NOW_MS, 5, null, null, 113, 11]]);
});
