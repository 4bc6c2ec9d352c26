import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../../src/warehouse/query.ts';

/** Runs a statement over tables, each with its columns and its rows as SQL. `order`: of the result. */
async function read(
  statement: string,
  tables: Record<string, [columns: string, ...rows: string[]]>,
  {
    parameters = {},
    columns = '*',
    order = 'ALL',
  }: { parameters?: SqlParameters; columns?: string; order?: string } = {},
) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run(loadSql('report/create_report_macros'));
  for (const [name, [names, ...rows]] of Object.entries(tables))
    await connection.run(
      `CREATE TABLE ${name} AS FROM (VALUES ${rows.map((row) => `(${row})`).join(', ')}) AS row (${names})`,
    );
  const sql = `SELECT ${columns} FROM (${loadSql(statement)}) ORDER BY ${order}`;
  const rows = await queryText(connection, sql, parameters);
  connection.closeSync();
  instance.closeSync();
  return rows;
}

/** Days of devices: day of January, device, Wh, and whether it is incomplete. */
const deviceDay = (
  ...days: Array<readonly [day: number, device: string, wh: number | null]>
): [string, ...string[]] => [
  'day, device, energy_wh, is_mixed, is_undeclared, is_incomplete',
  ...days.map(
    ([day, device, wh]) => `DATE '2026-01-0${day}', '${device}', ${wh}::BIGINT, false, false, ${wh === null}`,
  ),
];
const month = { period_digits: 7n };

test('a device without energy in a month is no member of it, and its days are counted as incomplete', async () => {
  const device_day = deviceDay([1, 'a', null], [2, 'a', null], [1, 'b', 5], [2, 'b', null]);
  const columns = 'period, decode(members) AS members, incomplete';
  expect(
    await read('report/answer_periods_by_device', { device_day }, { parameters: month, columns }),
  ).toEqual([{ period: '2026-01', members: '"b":5', incomplete: 3 }]);
  expect(await read('rows/sum_periods_by_device', { device_day }, { parameters: month })).toEqual([
    { period: '2026-01', device: 'b', energy_wh: 5n, days: 1n },
  ]);
});

test('the days of devices with several roles, without a role and with a gap are counted apart', async () => {
  const device_day: [string, ...string[]] = [
    'day, device, energy_wh, is_mixed, is_undeclared, is_incomplete',
    "DATE '2026-01-01', 'b', 5, true, false, false",
    "DATE '2026-01-01', 'a', 2, true, true, false",
    "DATE '2026-01-01', 'c', NULL, true, true, true",
  ];
  const counts = { members: '"a":2,"b":5', mixed: 3, undeclared: 2, incomplete: 1 };
  const columns = '* REPLACE (decode(members) AS members)';
  expect(await read('report/answer_by_device', { device_day }, { columns })).toEqual([
    { period: '2026-01-01', ...counts },
  ]);
  expect(
    await read('report/answer_periods_by_device', { device_day }, { parameters: month, columns }),
  ).toEqual([{ period: '2026-01', ...counts }]);
  expect(
    await read('report/select_energy_by_device', { device_day }, { parameters: month, order: 'name' }),
  ).toEqual(
    [
      ['a', 2, true, true, false],
      ['b', 5, true, false, false],
      ['c', null, true, true, true],
    ].map(([device, energy_wh, is_mixed, is_undeclared, is_incomplete]) => ({
      ...{ period: '2026-01', name: `"${String(device)}"` },
      ...{ energy_wh, is_mixed, is_undeclared, is_incomplete },
    })),
  );
});

test('details have each fact of a day under its own name, with sorted flags', async () => {
  const facts = `0.5, 'final', 3, TIMESTAMPTZ '2026-01-02 00:00:00Z'`;
  const details = async (statement: string, tables: Record<string, [string, ...string[]]>) => {
    const [row] = await read(statement, tables, { columns: 'period, decode(members) AS members' });
    return { [String(row!.period)]: JSON.parse(`{${String(row!.members)}}`) as unknown };
  };
  const day = {
    ...{ energyWh: 5, methods: ['power_curve'], flags: ['gap', 'reset'], coverage: 0.5, status: 'final' },
    ...{ version: 3, computedAt: '2026-01-02T00:00:00.000Z' },
  };
  expect(
    await details('report/answer_details_by_device', {
      device_day: [
        'day, device, energy_wh, methods, flags, coverage, status, version, computed_at',
        `DATE '2026-01-01', 'a', 5, ['power_curve'], ['gap', 'reset'], ${facts}`,
      ],
    }),
  ).toEqual({ '2026-01-01': { a: day } });
  expect(
    await details('report/answer_details_by_source', {
      chosen: [
        'day, device, source, energy_wh, method, flags, coverage, status, version, computed_at, file_row_number',
        `DATE '2026-01-01', 'a', 'x', 5, 'power_curve', ['reset', 'gap'], ${facts}, 0`,
      ],
    }),
  ).toEqual({ '2026-01-01': { 'a.x': day } });
  expect(
    await details('report/answer_meter_details', {
      meter_day: [
        'day, key, energy_wh, quality, flags, coverage, revision',
        `DATE '2026-01-01', 'M', 5, 'estimated', ['partial'], 0.5, 2`,
        `DATE '2026-01-01', 'D', 6, 'measured', []::VARCHAR[], 1, 3`,
      ],
      member: ['key, device, source', "'M', NULL, NULL", "'D', 'a', 'x'"],
    }),
  ).toEqual({
    '2026-01-01': {
      D: {
        ...{ energyWh: 6, quality: 'measured', flags: [], coverage: 1, revision: 3 },
        source: { kind: 'derived', device: 'a', source: 'x' },
      },
      M: {
        ...{ energyWh: 5, quality: 'estimated', flags: ['partial'], coverage: 0.5, revision: 2 },
        source: { kind: 'uploaded' },
      },
    },
  });
  expect(
    await details('report/answer_budget_details', {
      meter_day: [
        'day, key, energy_wh, scenario, period_start, period_end, period_wh, revision, uploaded_at',
        `DATE '2026-01-01', 'M', 5, 'P50', DATE '2026-01-01', DATE '2026-01-31', 155, 2, TIMESTAMPTZ '2025-12-01 00:00:00Z'`,
        `DATE '2026-01-01', 'N', 6, 'P50', DATE '2026-01-01', DATE '2026-01-01', 6, 2, TIMESTAMPTZ '2025-12-01 00:00:00Z'`,
      ],
    }),
  ).toMatchObject({
    '2026-01-01': {
      M: {
        ...{
          energyWh: 5,
          scenario: 'P50',
          periodStart: '2026-01-01',
          periodEnd: '2026-01-31',
          periodWh: 155,
        },
        ...{ flags: ['estimated'], revision: 2, uploadedAt: '2025-12-01T00:00:00.000Z' },
      },
      N: { flags: [] },
    },
  });
});

test('energy of a name below 0 is as much as above it', async () => {
  const energy: [string, ...string[]] = [
    'period, name, energy_wh, is_mixed, is_undeclared, is_incomplete',
    ...[`'"a"', 3`, `'"b"', -5`, `'"c"', 1`].map((one) => `'2026-01', ${one}, false, false, false`),
  ];
  const columns = 'decode(members) AS members';
  expect(await read('report/answer_top', { energy }, { parameters: { top: 2n }, columns })).toEqual([
    { members: '"b":-5,"a":3,"others":1' },
  ]);
});

test('sources are in the order of their devices', async () => {
  const rows = await read(
    'report/answer_periods_by_source',
    {
      chosen: [
        'day, device, source, energy_wh',
        "DATE '2026-01-01', 'b', 'x', 1",
        "DATE '2026-01-01', 'a', 'y', 2",
      ],
    },
    { parameters: month, columns: 'decode(members) AS members' },
  );
  expect(rows).toEqual([{ members: '"a.y":2,"b.x":1' }]);
});

test('beside the names with most energy, the others are one, and names without energy are counted', async () => {
  const rows = await read(
    'report/answer_top',
    {
      energy: [
        'period, name, energy_wh, is_mixed, is_undeclared, is_incomplete',
        `'2026-01', '"a"', 5, false, false, false`,
        `'2026-01', '"b"', 3, false, false, false`,
        `'2026-01', '"c"', 1, false, false, false`,
        `'2026-01', '"d"', NULL, true, true, true`,
      ],
    },
    { parameters: { top: 1n }, columns: '* REPLACE (decode(members) AS members)' },
  );
  expect(rows).toEqual([
    { period: '2026-01', members: '"a":5,"others":4', mixed: 1, undeclared: 1, incomplete: 1 },
  ]);
});

test('a meter is derived if it is a device or a source of one, else uploaded', async () => {
  const rows = await read(
    'rows/select_meter_days',
    {
      meter_day: [
        'day, key, energy_wh, quality, flags, coverage, revision',
        ...['M', 'D', 'S'].map((key) => `DATE '2026-01-01', '${key}', 1, 'measured', [], 1, 1`),
      ],
      member: ['key, device, source', "'M', NULL, NULL", "'D', 'a', NULL", "'S', 'a', 'x'"],
    },
    { columns: 'meter, kind', order: 'meter' },
  );
  expect(rows).toEqual([
    { meter: 'D', kind: 'derived' },
    { meter: 'M', kind: 'uploaded' },
    { meter: 'S', kind: 'derived' },
  ]);
});

test('a day of a budget has its share of the period, and the energy and the days of the whole period', async () => {
  const rows = await read('rows/select_budget_days', {
    meter_day: [
      'day, key, scenario, energy_wh, period_wh, period_start, period_end, revision, uploaded_at',
      `DATE '2026-01-02', 'M', 'plan', 10, 310, DATE '2026-01-01', DATE '2026-01-31', 3, TIMESTAMPTZ '2025-12-01 00:00:00Z'`,
    ],
  });
  expect(rows.map((row) => Object.entries(row).map(([name, value]) => `${name} ${String(value)}`))).toEqual([
    [
      'day 2026-01-02',
      'meter M',
      'scenario plan',
      'budget_wh 10',
      'period_start 2026-01-01',
      'period_end 2026-01-31',
      'period_wh 310',
      'revision 3',
      'uploaded_at 2025-12-01 00:00:00+00',
    ],
  ]);
});

test('rise and fall are computed of sources of which one of the two counts, and each day has its own', async () => {
  const role_day: [string, ...string[]] = [
    'day, device, source, part, method',
    ...[
      [1, 'rise'],
      [2, 'fall'],
      [3, 'whole'],
    ].map(([day, part]) => `DATE '2026-01-0${day}', 'a', 'x', '${part}', 'total_energy'`),
  ];
  const split = await read('report/select_split_days', { role_day }, { columns: 'day(own_day) AS day' });
  expect(split).toEqual([{ day: 1n }, { day: 2n }]);
  const rise_fall: [string, ...string[]] = [
    'day, device, source, rise_wh, fall_wh',
    "DATE '2026-01-01', 'a', 'x', 5, 1",
    "DATE '2026-01-02', 'a', 'x', 6, 2",
    "DATE '2026-01-02', 'b', 'x', 70, 70",
    "DATE '2026-01-02', 'a', 'y', 80, 80",
  ];
  const columns = 'day(day) AS day, rise_wh, fall_wh';
  expect(await read('report/select_source_day', { role_day, rise_fall }, { columns })).toEqual([
    { day: 1n, rise_wh: 5, fall_wh: 1 },
    { day: 2n, rise_wh: 6, fall_wh: 2 },
    { day: 3n, rise_wh: null, fall_wh: null },
  ]);
});

test('intervals of the names with most energy come first, of either sign, and those of the others are one', async () => {
  const rows = await read(
    'report/answer_top_intervals',
    {
      profile: [
        'day, name, at_ms, energy_wh',
        `DATE '2026-01-01', '"a"', 0, -10`,
        `DATE '2026-01-01', '"a"', 1, NULL`,
        `DATE '2026-01-01', '"b"', 1, 5`,
        `DATE '2026-01-01', '"b"', 0, 2`,
        // Nothing is known of it.
        `DATE '2026-01-01', '"c"', 0, NULL`,
        `DATE '2026-01-01', '"c"', 2, NULL`,
      ],
    },
    { parameters: { top: 1n }, columns: 'decode(members) AS members' },
  );
  expect(rows).toEqual([{ members: '"a":[-10,null],"others":[2,5,null]' }]);
});

test('of names with the same energy the first by name comes first', async () => {
  const names = ['c', 'b', 'a', 'd'];
  const profile: [string, ...string[]] = [
    'day, name, at_ms, energy_wh',
    ...names.map((name) => `DATE '2026-01-01', '"${name}"', 0, 5`),
  ];
  const energy: [string, ...string[]] = [
    'period, name, energy_wh, is_mixed, is_undeclared, is_incomplete',
    ...names.map((name) => `'2026-01-01', '"${name}"', 5, false, false, false`),
  ];
  const asked = { parameters: { top: 2n }, columns: 'decode(members) AS members' };
  expect(await read('report/answer_top_intervals', { profile }, asked)).toEqual([
    { members: '"a":[5],"b":[5],"others":[10]' },
  ]);
  expect(await read('report/answer_top', { energy }, asked)).toEqual([
    { members: '"a":5,"b":5,"others":10' },
  ]);
});

test('the name of a source is text in JSON', async () => {
  const rows = await read(
    'report/answer_intervals_by_source',
    { slot: ['day, device, source, at_ms, energy_wh', `DATE '2026-01-01', 'a', 'my "pv"', 0, 1`] },
    { columns: 'decode(members) AS members' },
  );
  expect(JSON.parse(`{${String(rows[0]!.members)}}`)).toEqual({ 'a.my "pv"': [1] });
});
