import { expect, test } from 'vitest';
import { balanceTables } from './balance-tables.ts';

const readStatements = balanceTables();

/** A day of which everything is known, as SQL: production 100, consumption 90, export 10 and no battery. */
const known = {
  scope_id: `'s'`,
  intervals: '96',
  known_intervals: '96',
  production_wh: '100',
  consumption_wh: '90',
  grid_import_wh: '0',
  grid_export_wh: '10',
  battery_charge_wh: '0',
  battery_discharge_wh: '0',
  self_consumption_wh: '90',
  self_supply_wh: '90',
  grid_to_battery_wh: '0',
  battery_to_grid_wh: '0',
  residual_wh: '0',
  production_gap: 'false',
  consumption_gap: 'false',
  grid_import_gap: 'false',
  grid_export_gap: 'false',
  battery_charge_gap: 'false',
  battery_discharge_gap: 'false',
  computed: 'NULL::VARCHAR[]',
  is_netted: 'NULL::BOOLEAN',
  is_undetermined: 'NULL::BOOLEAN',
  is_estimated: 'NULL::BOOLEAN',
  is_shapeless: 'NULL::BOOLEAN',
  is_incomplete: 'false',
  is_peak_unknown: 'NULL::BOOLEAN',
  tolerance: '20',
  yield: '2.00049::DOUBLE',
  has_peak: 'false',
  rest: 'MAP {}::MAP(VARCHAR, BIGINT)',
};

type Changes = Partial<Record<keyof typeof known, string | number | null>>;

/** What is judged of the known day, once with each of these changes. Energy is BIGINT, as a sum is. */
async function judge(columns: string, ...changes: Changes[]) {
  const names = Object.keys(known);
  const days = changes.map((change, place) => {
    const values = Object.entries({ ...known, ...change });
    return [place, ...values.map(([name, value]) => (name.endsWith('_wh') ? `${value}::BIGINT` : value))];
  });
  const rows = await readStatements(
    { level: [`place, ${names.join(', ')}`, ...days.map((values) => values.join(', '))] },
    { balance: 'judge' },
    `place, ${columns}`,
  );
  return rows.map(([, ...values]) => values);
}

/** The flags of the known day with each of these changes, with spaces between them. */
const flagsOf = async (...changes: Changes[]) =>
  (await judge("array_to_string(flags, ' ')", ...changes)).flat();

const roles = [
  'battery_charge',
  'battery_discharge',
  'consumption',
  'grid_export',
  'grid_import',
  'production',
] as const;

test('a known day has rates and no flag', async () => {
  const columns = `coverage, self_consumption_rate, autarky, self_consumption_max_wh, autarky_max, specific_yield,
    len(computed), array_to_string(missing, ' '), array_to_string(flags, ' ')`;
  expect(await judge(columns, {})).toEqual([[1, 0.9, 1, null, null, null, 0, '', '']]);
});

test('a rate is from 0 to 1, and null if it is divided by nothing or is not known', async () => {
  const rates = await judge(
    'self_consumption_rate, autarky',
    { self_consumption_wh: -1, self_supply_wh: -1 },
    { self_consumption_wh: 101, self_supply_wh: 91 },
    { self_consumption_wh: 33, consumption_wh: 3, self_supply_wh: 2 },
    { production_wh: 0, consumption_wh: 0 },
    { production_wh: -5, consumption_wh: -5 },
    { self_consumption_wh: null, self_supply_wh: null },
  );
  expect(rates).toEqual([
    [0, 0],
    [1, 1],
    [0.33, 0.6667],
    [null, null],
    [null, null],
    [null, null],
  ]);
});

test('without a shape the sums bound the rates, if all of them are known', async () => {
  const shapeless = { is_shapeless: 'true', self_consumption_wh: null, self_supply_wh: null };
  const boundsOf = (...changes: Changes[]) =>
    judge(
      'self_consumption_max_wh, autarky_max',
      ...changes.map((change): Changes => ({ ...shapeless, ...change })),
    );
  // What is stored is part of the production, and what comes from the battery is not.
  expect(
    await boundsOf(
      {},
      { production_wh: 60 },
      { production_wh: 60, battery_charge_wh: 15 },
      { battery_discharge_wh: 45, battery_charge_wh: 5 },
      { battery_charge_wh: 101 },
      { battery_discharge_wh: 91 },
      { consumption_wh: 0 },
    ),
  ).toEqual([
    [90, 1],
    [60, 0.6667],
    [60, 0.5],
    [50, 1],
    [100, 0],
    [0, 1],
    [0, null],
  ]);
  const unbounded = await boundsOf(
    { production_wh: null },
    { consumption_wh: null },
    { battery_charge_wh: null },
    { battery_discharge_wh: null },
    { is_shapeless: 'NULL' },
    { self_consumption_wh: 80 },
  );
  expect(unbounded).toEqual(Array.from({ length: 6 }, () => [null, null]));
});

test('coverage is that of the intervals, and only a scope with a peak has a yield', async () => {
  expect(
    await judge(
      'coverage, specific_yield',
      { known_intervals: 32, has_peak: 'true' },
      { known_intervals: 0, has_peak: 'NULL' },
    ),
  ).toEqual([
    [0.3333, 2],
    [0, null],
  ]);
});

test('the roles with a gap are missing', async () => {
  const gaps: Changes[] = roles.map((role) => ({ [`${role}_gap`]: 'true' }));
  const missing = await judge(
    "array_to_string(missing, ' ')",
    ...gaps,
    Object.assign({}, ...gaps) as Changes,
  );
  expect(missing.flat()).toEqual([...roles, roles.join(' ')]);
});

test('what is known of a level are its flags', async () => {
  const flags = {
    is_estimated: 'estimated',
    is_incomplete: 'incomplete',
    is_netted: 'netted',
    is_peak_unknown: 'peak_unknown',
    is_shapeless: 'shape_unknown',
    is_undetermined: 'undetermined',
  };
  const each: Changes[] = Object.keys(flags).map((column) => ({ [column]: 'true' }));
  const names = Object.values(flags);
  expect(await flagsOf(...each, Object.assign({}, ...each) as Changes)).toEqual([...names, names.join(' ')]);
});

test('a residual of either sign is an imbalance if it is more than the tolerance and 5 % of the energy', async () => {
  const residuals = [20, 21, -20, -21, null].map((residual_wh) => ({ residual_wh }));
  expect(await flagsOf(...residuals)).toEqual(['', 'imbalance', '', 'imbalance', '']);
  // 5 % of 600 Wh of any role.
  const nothing = { production_wh: null, consumption_wh: null, grid_export_wh: null };
  for (const residual_wh of [30, 31])
    expect(await flagsOf(...roles.map((role) => ({ ...nothing, [`${role}_wh`]: 600, residual_wh })))).toEqual(
      roles.map(() => (residual_wh === 30 ? '' : 'imbalance')),
    );
  // 5 % of the sum of the roles of a side.
  const into = { production_wh: 200, grid_import_wh: 200, battery_discharge_wh: 200 };
  const out = { consumption_wh: 200, grid_export_wh: 200, battery_charge_wh: 200 };
  const sides = [30, 31].flatMap((residual_wh) => [
    { ...into, residual_wh },
    { ...out, residual_wh },
  ]);
  expect(await flagsOf(...sides)).toEqual(['', '', 'imbalance', 'imbalance']);
});

test('a rest below 0 is an imbalance, and one above it is not', async () => {
  const rests = [-20, -21, 1_000].map((wh) => ({
    rest: `MAP {'site': 0, 'a.main': ${wh}}::MAP(VARCHAR, BIGINT)`,
  }));
  expect(await flagsOf(...rests)).toEqual(['', 'imbalance', '']);
});

test('a computed role a little below 0 is noise, and further below it an imbalance', async () => {
  const computedOf = (wh: number) =>
    flagsOf(...roles.map((role) => ({ computed: `['${role}', 'other']`, [`${role}_wh`]: wh })));
  expect(await computedOf(0)).toEqual(roles.map(() => ''));
  expect(await computedOf(-1)).toEqual(roles.map(() => 'noise'));
  expect(await computedOf(-20)).toEqual(roles.map(() => 'noise'));
  expect(await computedOf(-21)).toEqual(roles.map(() => 'imbalance'));
  const both = { computed: "['grid_import', 'grid_export']", grid_import_wh: -1, grid_export_wh: -21 };
  expect(await flagsOf(both, { grid_import_wh: -21 })).toEqual(['imbalance', '']);
});

test('energy goes in a circle if more than the tolerance goes to the battery and back to the grid', async () => {
  const circles = [
    [21, 21],
    [21, 20],
    [20, 21],
  ].map(([grid_to_battery_wh, battery_to_grid_wh]) => ({ grid_to_battery_wh, battery_to_grid_wh }));
  expect(await flagsOf(...(circles as Changes[]))).toEqual(['grid_cycled', '', '']);
});
