import { expect, test } from 'vitest';
import { balanceTables, type BalanceTable as Table } from './balance-tables.ts';

const readStatements = balanceTables();

const days = (...numbers: number[]): Table => ['day', ...numbers.map((day) => `DATE '2026-11-0${day}'`)];
const day = (number: number | null) => (number === null ? 'NULL::DATE' : `DATE '2026-11-0${number}'`);

/** A declaration: series, role, what contains it, negative role, first and last day. */
type Span = [
  series: string,
  role: string,
  within?: string | null,
  negative?: string | null,
  from?: number,
  to?: number,
];
const spans = (...rows: Span[]): Table => [
  'device, source, role, negative_role, within_device, within_source, within_site, valid_from, valid_to',
  ...rows.map(([series, role, within = null, negative = null, from, to]) => {
    const [device, source] = series.split('.');
    const [owner, part] = within?.includes('.') ? within.split('.') : [];
    const text = (value?: string | null) => (value ? `'${value}'` : 'NULL::VARCHAR');
    return `'${device}', '${source}', '${role}', ${text(negative)}, ${text(owner)}, ${text(part)}, ${within === 'site'}, ${day(from ?? null)}, ${day(to ?? null)}`;
  }),
];
const members = (
  ...rows: Array<[scope: string, device: string | null, sign?: number, from?: number, to?: number]>
): Table => [
  'scope_id, device, source, sign, valid_from, valid_to',
  ...rows.map(
    ([scope, device, sign = 1, from, to]) =>
      `'${scope}', ${device ? `'${device}'` : 'NULL::VARCHAR'}, NULL::VARCHAR, ${sign}, ${day(from ?? null)}, ${day(to ?? null)}`,
  ),
];
const scopes: Table = ['scope_id, is_site, allows_netting', "'site', true, true", "'device', false, true"];
const sourcesOf = (tables: { scope_member: Table; role_span: Table; own_day?: Table }) =>
  readStatements(
    { scope: scopes, own_day: days(1), ...tables },
    { scope_source: 'find_scope_source' },
    'scope_id, day(own_day), series, container, counts',
  );

test('a source is contained in another one of the scope with the same sign, and in the site only of a site', async () => {
  const found = await sourcesOf({
    scope_member: members(['site', 'a'], ['site', 'b', -1], ['device', 'a']),
    role_span: spans(
      ['a.main', 'consumption'],
      ['a.part', 'consumption', 'a.main'],
      ['a.rest', 'consumption', 'site'],
      ['a.pv', 'production', 'site'],
      ['a.temperature', 'other'],
      ['b.part', 'consumption', 'a.main'],
    ),
  });
  expect(found).toEqual([
    ['device', 1, 'a.main', null, true],
    ['device', 1, 'a.part', 'a.main', false],
    ['device', 1, 'a.pv', null, true],
    ['device', 1, 'a.rest', null, true],
    ['site', 1, 'a.main', null, true],
    ['site', 1, 'a.part', 'a.main', false],
    ['site', 1, 'a.pv', 'site.production', false],
    ['site', 1, 'a.rest', 'site', false],
    ['site', 1, 'b.part', null, true],
  ]);
});

test('a member is a whole device or one source of it', async () => {
  const found = await sourcesOf({
    scope_member: [
      'scope_id, device, source, sign, valid_from, valid_to',
      `'site', 'a', 'pv', 1, ${day(null)}, ${day(null)}`,
      `'site', 'b', NULL, 1, NULL, NULL`,
    ],
    role_span: spans(
      ['a.pv', 'production'],
      ['a.load', 'consumption'],
      ['b.pv', 'production'],
      ['b.load', 'consumption'],
    ),
  });
  expect(found.map(([, , series]) => series)).toEqual(['a.pv', 'b.load', 'b.pv']);
});

test('the first and the last day of a member and of a declaration are days of it', async () => {
  const found = await sourcesOf({
    own_day: days(1, 2, 3, 4, 5),
    scope_member: members(['site', 'a', 1, 2, 3], ['site', 'b']),
    role_span: spans(['a.pv', 'production'], ['b.pv', 'production', null, null, 4, 5]),
  });
  expect(found.map(([, number, series]) => [number, series])).toEqual([
    [2, 'a.pv'],
    [3, 'a.pv'],
    [4, 'b.pv'],
    [5, 'b.pv'],
  ]);
});

const scopeSources = (
  ...rows: Array<[series: string, role: string, negative: string | null, sign?: number, counts?: boolean]>
): Table => [
  'scope_id, own_day, device, source, series, role, negative_role, sign, counts, container',
  ...rows.map(([series, role, negative, sign = 1, counts = true]) => {
    const [device, source] = series.split('.');
    const container = counts ? 'NULL::VARCHAR' : "'site'";
    return `'site', ${day(1)}, '${device}', '${source}', '${series}', '${role}', ${negative ? `'${negative}'` : 'NULL::VARCHAR'}, ${sign}, ${counts}, ${container}`;
  }),
];

test('a role is measured by a source that is added up, and a contained source hints at its roles', async () => {
  const statesOf = async (scope_source: Table, absent = 'none') => {
    const found = await readStatements(
      {
        scope: scopes.slice(0, 2) as Table,
        own_day: days(1),
        scope_source,
        scope_absent: ['scope_id, role', `'site', '${absent}'`],
      },
      { scope_role: 'find_scope_role' },
      'role, state',
    );
    return Object.fromEntries(found as Array<[string, string]>);
  };
  const battery = { battery_charge: 'absent', battery_discharge: 'absent' };
  expect(
    await statesOf(
      scopeSources(['a.net', 'grid_import', 'grid_export'], ['a.pv', 'production', null, 1, false]),
    ),
  ).toEqual({
    ...{ ...battery, grid_import: 'measured', grid_export: 'measured' },
    ...{ production: 'unknown', consumption: 'unknown' },
  });
  expect(await statesOf(scopeSources(['a.load', 'consumption', null]), 'grid_import')).toEqual({
    ...{ ...battery, grid_import: 'absent', grid_export: 'absent' },
    ...{ production: 'absent', consumption: 'measured' },
  });
  // The panels are a part of what is computed.
  expect(
    await statesOf(scopeSources(['a.load', 'consumption', null], ['a.pv', 'production', null, 1, false])),
  ).toMatchObject({ production: 'unknown', grid_export: 'unknown' });
});

test('one unknown role is computed, and import and export together if the scope allows netting', async () => {
  const roles = ['consumption', 'grid_export', 'grid_import', 'production'];
  const dayOf = async (unknown: string[], allowsNetting = true) => {
    const states = roles.map(
      (role) => `'site', ${day(1)}, '${role}', '${unknown.includes(role) ? 'unknown' : 'absent'}'`,
    );
    const [found] = await readStatements(
      {
        scope: ['scope_id, allows_netting', `'site', ${allowsNetting}`],
        scope_role: ['scope_id, own_day, role, state', ...states],
      },
      { scope_day: 'find_scope_day' },
      "way, array_to_string(computed, ' '), is_grid_known",
    );
    return found;
  };
  const grid = ['grid_export', 'grid_import'];
  expect(await dayOf([])).toEqual(['measured', '', true]);
  expect(await dayOf(['consumption'])).toEqual(['computed', 'consumption', true]);
  expect(await dayOf(['grid_export'])).toEqual(['computed', 'grid_export', false]);
  expect(await dayOf(['grid_import'])).toEqual(['computed', 'grid_import', false]);
  expect(await dayOf(grid)).toEqual(['netted', 'grid_export grid_import', false]);
  expect(await dayOf(grid, false)).toEqual(['not_netted', '', false]);
  expect(await dayOf(['consumption', 'production'])).toEqual(['undetermined', '', true]);
  expect(await dayOf([...grid, 'production'])).toEqual(['undetermined', '', false]);
});

test('computed production is that of the members with a peak power, on the days that they are members', async () => {
  const found = await readStatements(
    {
      scope_source: scopeSources(['a.load', 'consumption', null]),
      scope_member: members(['site', 'a'], ['site', 'b', -1, 2, 3]),
      scope_role: [
        'scope_id, own_day, role, state',
        ...[1, 2, 3, 4].map((number) => `'site', ${day(number)}, 'production', 'unknown'`),
      ],
      device_peak: [
        'device, kwp, valid_from, valid_to',
        `'a', 10, NULL::DATE, ${day(1)}`,
        `'a', 20, ${day(2)}, NULL`,
        `'b', 1, NULL, NULL`,
        `'other', 500, NULL, NULL`,
      ],
    },
    { scope_peak: 'sum_scope_peak' },
    'day(own_day), kwp::DOUBLE',
  );
  expect(found).toEqual([
    [1, 10],
    [2, 19],
    [3, 19],
    [4, 20],
  ]);
});

test('the size of a balance is that of the sources with a role in it, and of their days', async () => {
  const found = await readStatements(
    {
      scope_member: ['scope_id, device, source', `'site', 'a', 'pv'`, `'site', 'b', NULL`],
      role_span: [
        'device, source, role',
        ...[`'a', 'pv', 'production'`, `'a', 'load', 'consumption'`, `'b', 'x', 'consumption'`],
        ...[`'b', 'y', 'other'`, `'c', 'z', 'production'`],
      ],
      scope_source: scopeSources(['a.pv', 'production', null], ['b.x', 'consumption', null]),
    },
    { size: 'count_scope_size' },
    'sources, source_days',
  );
  expect(found).toEqual([[2, 2]]);
});

test('the peak power is that of the producing devices, by the signs of the members, on the days that it holds', async () => {
  const peakOf = async (
    scope_source: Table,
    state: string,
    peaks: string[],
    scope_member = members(['site', null]),
  ) =>
    readStatements(
      {
        scope_source,
        scope_member,
        scope_role: ['scope_id, own_day, role, state', `'site', ${day(1)}, 'production', '${state}'`],
        device_peak: ['device, kwp, valid_from, valid_to', ...peaks],
      },
      { scope_peak: 'sum_scope_peak' },
      'kwp::DOUBLE AS kwp',
    );
  const always = (device: string, kwp: number) => `'${device}', ${kwp}, NULL::DATE, NULL::DATE`;
  const panels = scopeSources(['a.pv', 'production', null], ['b.pv', 'production', null, -1]);
  expect(await peakOf(panels, 'measured', [always('a', 5), always('b', 2)])).toEqual([[3]]);
  // The peak of b is not known.
  expect(await peakOf(panels, 'measured', [always('a', 5)])).toEqual([[null]]);
  expect(await peakOf(panels, 'measured', [always('c', 5)])).toEqual([]);
  const reversed = scopeSources(['a.pv', 'consumption', 'production']);
  expect(await peakOf(reversed, 'measured', [always('a', 5), always('c', 7)])).toEqual([[5]]);
  const load = scopeSources(['a.load', 'consumption', null]);
  expect(await peakOf(load, 'unknown', [always('c', 7)])).toEqual([[7]]);
  expect(await peakOf(reversed, 'measured', [`'a', 5, NULL::DATE, ${day(1)}`])).toEqual([[5]]);
});

/** An interval of a source: series, role, negative role, Wh, sign, and what is not as usual. */
type Flow = [
  series: string,
  role: string,
  negative: string | null,
  wh: number | null,
  sign?: number,
  more?: { shape?: boolean; step?: number },
];
const flowTables = (flows: Flow[]) => ({
  scope_source: scopeSources(
    ...flows.map(([series, role, negative, , sign]): [string, string, string | null, number?] => [
      series,
      role,
      negative,
      sign,
    ]),
  ),
  slot: ['at_ms, day, own_day', `0, ${day(1)}, ${day(1)}`] as Table,
  source_interval: [
    'device, source, own_day, at_ms, energy_wh, is_known, has_shape, is_estimated, step_wh',
    ...flows.map(([series, , , wh, , { shape = true, step = 0 } = {}]) => {
      const [device, source] = series.split('.');
      return `'${device}', '${source}', ${day(1)}, 0, ${wh}::BIGINT, ${wh !== null}, ${shape}, false, ${step}`;
    }),
  ] as Table,
});
const flowOf = async (...flows: Flow[]) =>
  (
    await readStatements(
      flowTables(flows),
      { source_flow: 'find_source_flow', flow: 'sum_flow' },
      'into_wh::DOUBLE, grid_net_wh::DOUBLE, has_gap, step_wh::DOUBLE',
    )
  )[0];
const rolesOf = async (...flows: Flow[]) =>
  Object.fromEntries(
    (await readStatements(
      flowTables(flows),
      { source_flow: 'find_source_flow', role_flow: 'sum_role_flow' },
      'role, wh::DOUBLE',
    )) as Array<[string, number | null]>,
  );

test('a net register counts for one of its two roles, by the sign of its member', async () => {
  const net: Flow = ['a.net', 'grid_import', 'grid_export', -30, -1];
  expect(await rolesOf(net)).toEqual({ grid_import: 0, grid_export: -30 });
  // Minus an export of 30.
  expect(await flowOf(net)).toEqual([30, 30, false, 0]);
});

test('without a shape the two roles of a net register are unknown, and their difference is known', async () => {
  const net: Flow = ['a.net', 'grid_import', 'grid_export', 40, 1, { shape: false }];
  expect(await rolesOf(net)).toEqual({ grid_import: null, grid_export: null });
  expect(await flowOf(net)).toEqual([40, 40, false, 0]);
});

test('energy in minus energy out is unknown if a source is, and that of the grid if a source of the grid is', async () => {
  const net: Flow = ['a.net', 'grid_import', 'grid_export', 40];
  expect(await flowOf(net, ['a.pv', 'production', null, null])).toEqual([null, 40, true, 0]);
  expect(await flowOf(['a.in', 'grid_import', null, null], ['a.pv', 'production', null, 5])).toEqual([
    ...[null, null, true, 0],
  ]);
});

test('a fall counts by the side of its role, and not at all if that is no role of a balance', async () => {
  // What flows out of the panels is an export.
  expect(await flowOf(['a.pv', 'production', 'grid_export', -20])).toEqual([-20, -20, false, 0]);
  expect(await flowOf(['a.net', 'grid_import', 'other', -30])).toEqual([0, 0, false, 0]);
});

test('the steps of the registers are added', async () => {
  const step = (series: string, wh: number): Flow => [series, 'production', null, 5, 1, { step: wh }];
  expect(await flowOf(step('a.pv', 10), step('b.pv', 100))).toEqual([10, null, false, 110]);
});

test('the parts of a day have the sign of their member, and one for each role of the balance', async () => {
  const flows: Flow[] = [
    ['a.net', 'grid_import', 'grid_export', -30, -1],
    ['a.shapeless', 'grid_import', 'grid_export', 40, 1, { shape: false }],
    ['a.half', 'grid_import', 'other', -30],
    ['a.pv', 'production', null, 5, -1],
  ];
  const found = await readStatements(
    {
      ...flowTables(flows),
      interval_sum: ['scope_id, own_day, day, at_ms', `'site', ${day(1)}, ${day(2)}, 0`],
    },
    { day_part: 'sum_day_part' },
    'source, role, wh, day(day)',
  );
  expect(found).toEqual([
    ['half', 'grid_import', 0, 2],
    ['net', 'grid_export', -30, 2],
    ['net', 'grid_import', 0, 2],
    ['pv', 'production', -5, 2],
    ['shapeless', 'grid_export', null, 2],
    ['shapeless', 'grid_import', null, 2],
  ]);
});

test('the parts of a month are those of its complete days, and unknown if one of them is', async () => {
  const partsOf = (digits: number) =>
    readStatements(
      {
        day_part: [
          'scope_id, day, device, source, role, container, wh',
          ...[1, 2, 3].map(
            (number) => `'site', ${day(number)}, 'a', 'pv', 'production', NULL::VARCHAR, ${number}`,
          ),
          ...[1, 2].map(
            (number) =>
              `'site', ${day(number)}, 'a', 'load', 'consumption', NULL, ${number === 1 ? 7 : 'NULL::INTEGER'}`,
          ),
        ],
        day_level: [
          'scope_id, day, period, is_incomplete',
          ...[1, 2, 3].map((number) => `'site', ${day(number)}, '2026-11-0${number}', ${number === 3}`),
        ],
        period_digits: ['period_digits', `${digits}`],
      },
      { part_list: 'list_parts' },
      "period, array_to_string(list_transform(parts, lambda part: concat(part.source, ' ', part.wh)), ', ')",
    );
  expect(await partsOf(7)).toEqual([['2026-11', 'load , pv 3']]);
  expect(await partsOf(10)).toEqual([
    ['2026-11-01', 'load 7, pv 1'],
    ['2026-11-02', 'load , pv 2'],
    ['2026-11-03', 'pv 3'],
  ]);
});
