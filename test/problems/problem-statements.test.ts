import { expect, test } from 'vitest';
import { deviceId } from '../support/messages.ts';
import {
  intervals,
  message,
  messages,
  names,
  other,
  own,
  series,
  stream,
  streams,
  type TableRows,
  warehouseTables,
} from '../warehouse/warehouse-tables.ts';

const HOUR_MS = 3_600_000;
const found = warehouseTables();

test('a stream has the number of its series, and with a modulus the highest index of the newest time', async () => {
  const rows = await found(
    {
      energy_stream: streams(
        stream(1, 1, { modulus: 9_000 }),
        stream(2, 0, {}),
        stream(3, null, { modulus: 9_000 }),
        stream(4, 2, { modulus: 9_000 }),
      ),
      series: series(
        `1, 1, '${own}', 'a', 0, ${2 * HOUR_MS}, 1`,
        `2, 1, '${other}', 'a', 0, 0, 1`,
        `3, 2, '${own}', 'a', 0, 0, 1`,
        `4, 3, '${own}', 'a', 0, 0, 1`,
      ),
      interval_energy: intervals(
        `1, ${HOUR_MS}, 0, 0, 0, 900`,
        `1, ${HOUR_MS + 1}, 0, 0, 0, 500`,
        `2, ${HOUR_MS + 1}, 0, 0, 0, 600`,
        `3, ${HOUR_MS + 1}, 0, 0, 0, 700`,
      ),
    },
    'problems/find_streams',
    { newest_ms: HOUR_MS },
  );
  expect(rows).toEqual([
    [0, 1, null],
    [1, 2, 600],
    [2, 0, null],
  ]);
});

/** Rejected readings, with the batch and the text of their first sample. */
const rejected = (
  ...rows: Array<[whose: string, reason: string, readings: number, ...string[]]>
): TableRows => [
  'day_start_ms, import_id, first_ms, last_ms, device, source, field, reason, readings, samples',
  ...rows.map(
    ([whose, reason, readings, batch = '0', text = '']) =>
      `0, 0, 0, 0, ${whose}, '${reason}', ${readings}, [row(0, 0, ${batch}, '${text}')]`,
  ),
];
const messageOfBatch = (batch: number, table: number) => message(0, { table }).replace('0', `${batch}`);

test('rejected readings are added up by table, device, source and field, with the most frequent reason', async () => {
  const tables = {
    name: names('solar', 'grid'),
    message: messages(messageOfBatch(1, 0), messageOfBatch(2, 1)),
    rejected_reading: rejected(
      [`'${own}', 'b', 'total'`, 'negative', 4, '1', '-1'],
      [`'${own}', 'b', 'total'`, 'not_a_number', 2, '1', 'high'],
      [`'${own}', 'b', 'total'`, 'not_a_number', 4, '1', 'five'],
      [`'${own}', 'b', 'total'`, 'negative', 9, '2', '-2'],
      [`'${own}', 'a', 'total'`, 'negative', 9, '2', '-3'],
      [`'${own}', 'b', 'power'`, 'negative', 9, '9', '-4'],
      [`'${own}', 'b', 'power'`, 'null', 90],
      [`NULL, 'b', 'total'`, 'negative', 90],
      [`'${other}', 'b', 'total'`, 'future', 1, '1', '7'],
    ),
  };
  const rows = [
    ['solar', 'total', own, 'b', 'not_a_number', 10, 'five'],
    [null, 'power', own, 'b', 'negative', 9, '-4'],
    ['grid', 'total', own, 'a', 'negative', 9, '-3'],
    ['grid', 'total', own, 'b', 'negative', 9, '-2'],
    ['solar', 'total', other, 'b', 'future', 1, '7'],
  ];
  expect(await found(tables, 'problems/find_rejected', { rows_max: 9 })).toEqual(rows);
  expect(await found(tables, 'problems/find_rejected', { rows_max: 2 })).toEqual(rows.slice(0, 2));
});

for (const [what, isFound, identity, source, table] of [
  ['of the same table and field', false, { table: 'solar', field: 'total' }, 'b', 0],
  ['of another source', true, { table: 'solar', field: 'total' }, 'c', 0],
  [
    'of another source, as which the field is booked',
    false,
    { table: 'solar', field: 'total', as: 'c' },
    'c',
    0,
  ],
  ['of another field', true, { table: 'solar', field: 'power' }, 'b', 0],
  ['of another table', true, { table: 'grid', field: 'total' }, 'b', 0],
  [
    'of any table, if the messages are no longer kept',
    false,
    { table: 'grid', field: 'total' },
    'b',
    undefined,
  ],
] as const)
  test(`rejected readings count unless their device has a series ${what}`, async () => {
    const tables = {
      ...(table !== undefined && {
        name: names('solar', 'grid'),
        message: messages(messageOfBatch(1, table)),
      }),
      energy_stream: streams(stream(1, 0, identity)),
      series: series(`1, 1, '${own}', '${source}', 0, 0, 1`, `2, 1, '${other}', 'x', 0, 0, 1`),
      rejected_reading: rejected([`'${own}', 'b', 'total'`, 'negative', 1, '1', '-1']),
    };
    expect(await found(tables, 'problems/find_rejected', { rows_max: 9 })).toHaveLength(isFound ? 1 : 0);
  });

test('tables of telemetry are listed, those with a similar name first, and then by name', async () => {
  const tables = {
    name: names('solar', 'grid', 'Soler', 'audit'),
    message: messages(
      ...[0, 0, 1, 2].map((table, order) => message(order, { table })),
      message(9, { table: 3, kind: 2 }),
    ),
  };
  expect(await found(tables, 'problems/find_tables', { table: 'SOLER' })).toEqual([
    ['Soler', 1],
    ['solar', 2],
    ['grid', 1],
  ]);
});

test('fields of the newest telemetry of a table are listed, those with a similar name first', async () => {
  const tables = {
    name: names('solar', 'grid', 'total', 'power', 'old', 'status'),
    message: messages(
      message(1, { fields: '[4]' }),
      message(2, { fields: '[2, 3]', other: `'{"totals":"x"}'` }),
      message(3, { fields: '[2]', other: `'{"broken'` }),
      message(4, { fields: '[4]', table: 1 }),
      message(5, { fields: '[5]', kind: 1 }),
    ),
  };
  const rows = await found(tables, 'problems/find_fields', {
    table: 'solar',
    field: 'TOTALS',
    messages_max: 2,
  });
  expect(rows).toEqual([['totals'], ['total'], ['power']]);
});

test('units of the newest telemetry of a table are listed by name, each once', async () => {
  const tables = {
    name: names('solar', 'grid'),
    message: messages(
      message(1, { other: `'{"unit":"old"}'` }),
      message(2, { other: `'{"unit":"kWh"}'` }),
      message(3, { other: `'{"unit":"MWh"}'` }),
      message(4, { other: `'{"unit":"kWh"}'` }),
      message(5, { other: `'{"broken'` }),
      message(6, { other: `'{"state":"on"}'` }),
      message(7),
      message(8, { other: `'{"unit":"GWh"}'`, table: 1 }),
      message(9, { other: `'{"unit":"TWh"}'`, kind: 1 }),
    ),
  };
  const unitsOf = (units_max: number) =>
    found(tables, 'problems/find_units', {
      table: 'solar',
      unit_pointer: '/unit',
      messages_max: 5,
      units_max,
    });
  expect(await unitsOf(9)).toEqual([['MWh'], ['kWh']]);
  expect(await unitsOf(1)).toEqual([['MWh']]);
});

test('the sources of each device are listed by name, each once', async () => {
  const tables = {
    series: series(
      ...[`'${own}', 'b'`, `'${own}', 'a'`, `'${own}', 'b'`, `'${other}', 'c'`].map(
        (whose, id) => `${id}, ${id}, ${whose}, 0, 0, 1`,
      ),
    ),
  };
  const rows = await found(tables, 'problems/find_sources');
  expect(new Map(rows.map(([device, sources]) => [device, (sources as { items: string[] }).items]))).toEqual(
    new Map([
      [own, ['a', 'b']],
      [other, ['c']],
    ]),
  );
});

test('a source clashes if another stream of its table without as has it, and the first such stream is named', async () => {
  const tables = {
    energy_stream: streams(
      stream(1, 0, { table: 'solar', field: 'e', as: 'import' }),
      stream(2, 2, { table: 'solar', field: 'f' }),
      stream(3, 1, { table: 'solar', field: 'g' }),
      stream(4, 3, { table: 'solar', field: 'h', as: 'import' }),
      stream(5, 4, { table: 'grid', field: 'i' }),
      stream(6, null, { table: 'solar', field: 'j' }),
      stream(7, 5, { table: 'wind', field: 'k', as: 'import' }),
      stream(8, 6, { table: 'wind', field: 'l' }),
    ),
    series: series(
      `1, 1, '${own}', 'import', 0, 0, 1`,
      `2, 2, '${own}', 'import', 0, 0, 1`,
      `3, 3, '${deviceId(3)}', 'import', 0, 0, 1`,
      `4, 3, '${other}', 'import', 0, 0, 1`,
      `5, 5, '${deviceId(0)}', 'import', 0, 0, 1`,
      `6, 6, '${deviceId(0)}', 'import', 0, 0, 1`,
      `8, 8, '${own}', 'export', 0, 0, 1`,
    ),
  };
  expect(await found(tables, 'problems/find_source_clashes')).toEqual([
    [0, 'import', other, 'g', 1],
    [3, 'import', other, 'g', 1],
  ]);
});

test('sources are merged if the newest messages of a device name a field with several of them', async () => {
  const tables = {
    name: names('solar', 'grid', 'total', 'a', 'b'),
    message: messages(
      message(0, { device: `'${deviceId(3)}'`, source: '3', fields: '[2]' }),
      // A number, and one that is not plain. Without a source it is the default one.
      message(1, { device: `'${other}'`, fields: '[2]' }),
      message(2, { device: `'${other}'`, source: '3', other: `'{"total":"9007199254740993"}'` }),
      message(3, { source: '4', fields: '[2]' }),
      message(4, { source: '3', fields: '[2]' }),
      message(5, { source: '3', fields: '[2]' }),
      // Only one of these has the field.
      message(6, { device: `'${deviceId(4)}'`, source: '3', fields: '[2]' }),
      message(7, { device: `'${deviceId(4)}'`, source: '4', fields: '[3]' }),
      message(8, { device: `'${deviceId(4)}'`, source: '4', fields: '[2]', table: 1 }),
      message(9, { device: `'${deviceId(4)}'`, source: '4', fields: '[2]', kind: 1 }),
      message(10, { device: 'NULL', source: '3', fields: '[2]' }),
      message(11, { device: 'NULL', source: '4', fields: '[2]' }),
      message(12, { device: `'${deviceId(3)}'`, source: '4', fields: '[2]' }),
    ),
  };
  const mergedOf = async (devices_max: number) => {
    const parameters = { table: 'solar', field: 'total', messages_max: 8, devices_max };
    const rows = await found(tables, 'problems/find_merged_sources', parameters);
    return rows.map(([device, sources]) => [device, (sources as { items: string[] }).items]);
  };
  expect(await mergedOf(9)).toEqual([
    [own, ['a', 'b']],
    [other, ['a', 'default']],
  ]);
  expect(await mergedOf(1)).toEqual([[own, ['a', 'b']]]);
});
