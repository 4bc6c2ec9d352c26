import { expect, test } from 'vitest';
import { balanceTables } from './balance-tables.ts';

const readStatements = balanceTables();

const day = "DATE '2026-11-01'";
type Wh = number | null;
/** Wh of each role of an interval; 0 if it is not named. */
type Roles = Partial<Record<(typeof roles)[number], Wh>>;
const roles = [
  'production',
  'consumption',
  'grid_import',
  'grid_export',
  'battery_charge',
  'battery_discharge',
] as const;

/** What is summed of an interval. */
async function sumOf(
  columns: string,
  of: Roles,
  flow: { way?: string; grid?: boolean; net?: Wh; shape?: boolean; into?: Wh } = {},
) {
  const { way = 'measured', grid = true, net = 0, shape = true, into = 0 } = flow;
  const [row] = await readStatements(
    {
      interval_flow: [
        `scope_id, own_day, day, at_ms, way, is_grid_known, into_wh, grid_net_wh, computed, is_complete, is_netted,
          is_undetermined, is_estimated, is_shapeless, tolerance, kwp, has_peak`,
        `'s', ${day}, ${day}, 0, '${way}', ${grid}, ${into}::BIGINT, ${net}::BIGINT, [], true, false, false, false, ${!shape},
          20, NULL, false`,
      ],
      interval_role: [
        'scope_id, at_ms, role, wh, is_gap',
        ...roles.map((role) => `'s', 0, '${role}', ${of[role] === undefined ? 0 : of[role]}::BIGINT, false`),
      ],
    },
    { interval_sum: 'find_interval_sum' },
    columns,
  );
  return row;
}

test('own use is what is not exported and not imported', async () => {
  const columns = 'self_consumption_wh, self_supply_wh';
  expect(await sumOf(columns, { production: 10, grid_export: 3, consumption: 9, grid_import: 2 })).toEqual([
    7, 7,
  ]);
  expect(await sumOf(columns, { production: 10, grid_export: null, consumption: 9 })).toEqual([null, 9]);
});

test('import and export have a difference even if the two are not known', async () => {
  const netOf = async (of: Roles, flow: Parameters<typeof sumOf>[2]) =>
    (await sumOf('grid_net_wh', of, flow))![0];
  const unknown = { grid_import: null, grid_export: null };
  expect(await netOf({ grid_import: 5, grid_export: 2 }, { net: 99 })).toBe(3);
  expect(await netOf(unknown, { net: 4 })).toBe(4);
  expect(await netOf(unknown, { net: 4, grid: false })).toBe(null);
  expect(await netOf(unknown, { net: 4, grid: false, way: 'netted', into: 6 })).toBe(-6);
  expect(await netOf(unknown, { net: 4, grid: false, way: 'not_netted', into: 6 })).toBe(-6);
});

test('the least energy from the grid to the battery is the import that was not used', async () => {
  const leastOf = async (of: Roles, shape = true) => (await sumOf('grid_to_battery_wh', of, { shape }))![0];
  const night = { grid_import: 10, consumption: 4, battery_charge: 8 };
  expect(await leastOf(night)).toBe(6);
  expect(await leastOf({ ...night, battery_charge: 5 })).toBe(5);
  expect(await leastOf({ ...night, consumption: 12 })).toBe(0);
  // A computed consumption can be below 0.
  expect(await leastOf({ ...night, consumption: -3, battery_charge: 20 })).toBe(10);
  expect(await leastOf(night, false)).toBe(null);
  for (const role of ['grid_import', 'consumption', 'battery_charge'])
    expect([role, await leastOf({ ...night, [role]: null })]).toEqual([role, null]);
});

test('the least energy from the battery to the grid is the export that was not produced', async () => {
  const leastOf = async (of: Roles, shape = true) => (await sumOf('battery_to_grid_wh', of, { shape }))![0];
  const evening = { grid_export: 10, production: 4, battery_discharge: 8 };
  expect(await leastOf(evening)).toBe(6);
  expect(await leastOf({ ...evening, battery_discharge: 5 })).toBe(5);
  expect(await leastOf({ ...evening, production: 12 })).toBe(0);
  expect(await leastOf(evening, false)).toBe(null);
  for (const role of ['grid_export', 'production', 'battery_discharge'])
    expect([role, await leastOf({ ...evening, [role]: null })]).toEqual([role, null]);
});

/** The flow of an interval. `flow`: what is known of its sources; undefined without any. */
async function flowOf(
  columns: string,
  way: string,
  flow?: { into?: Wh; net?: Wh; signed?: boolean; shape?: boolean; step?: number; estimated?: boolean },
) {
  const { into = 5, net = 6, signed = false, shape = true, step = 0, estimated = false } = flow ?? {};
  const [row] = await readStatements(
    {
      scope_day: ['scope_id, own_day, way, computed, is_grid_known', `'s', ${day}, '${way}', [], true`],
      slot: ['at_ms, day, own_day', `0, ${day}, ${day}`],
      flow: [
        'scope_id, at_ms, into_wh, grid_net_wh, has_gap, is_signed, is_estimated, has_shape, step_wh',
        `'${flow ? 's' : 'other'}', 0, ${into}::BIGINT, ${net}::BIGINT, false, ${signed}, ${estimated}, ${shape}, ${step}`,
      ],
      scope_peak: ['scope_id, own_day, kwp', `'s', ${day}, 5`],
    },
    { interval_flow: 'find_interval_flow' },
    columns,
  );
  return row;
}

test('the flow of a scope is that of its sources, and 0 without any', async () => {
  expect(await flowOf('into_wh, grid_net_wh, kwp, has_peak', 'measured', {})).toEqual([5, 6, 5, true]);
  expect(await flowOf('into_wh, grid_net_wh', 'measured', { into: null, net: null })).toEqual([null, null]);
  expect(await flowOf('into_wh, grid_net_wh', 'measured')).toEqual([0, 0]);
  const facts = 'is_complete, is_netted, is_estimated, is_shapeless, tolerance::INTEGER';
  expect(await flowOf(facts, 'measured')).toEqual([true, false, false, false, 20]);
  expect(await flowOf(facts, 'measured', { signed: true, estimated: true, shape: false, step: 21 })).toEqual([
    ...[true, true, true, true, 21],
  ]);
  const waysOf = (way: string) => flowOf('is_netted, is_undetermined', way, {});
  expect(await waysOf('computed')).toEqual([false, false]);
  expect(await waysOf('netted')).toEqual([true, false]);
  expect(await waysOf('not_netted')).toEqual([false, true]);
  expect(await waysOf('undetermined')).toEqual([false, true]);
});

test('a role is its sum, 0 if it is absent, and the rest of the balance if it is computed', async () => {
  const rolesOf = async (way: string, flow: { into: Wh; isShapeless?: boolean }) => {
    const states = ['unknown', 'unknown', 'unknown', 'unknown', 'measured', 'absent'];
    const sides = [1, -1, 1, -1, -1, 1];
    const found = await readStatements(
      {
        interval_flow: [
          'scope_id, own_day, at_ms, way, into_wh, is_shapeless',
          `'s', ${day}, 0, '${way}', ${flow.into}::BIGINT, ${flow.isShapeless ?? false}`,
        ],
        scope_role: [
          'scope_id, own_day, role, side, state',
          ...roles.map((role, index) => `'s', ${day}, '${role}', ${sides[index]}, '${states[index]}'`),
        ],
        role_flow: ['scope_id, at_ms, role, wh, is_gap', "'s', 0, 'battery_charge', 3, true"],
      },
      { interval_role: 'find_interval_role' },
      'role, wh, is_gap',
    );
    return Object.fromEntries(found.map(([role, wh, isGap]) => [role, isGap ? `${String(wh)} gap` : wh]));
  };
  const fixed = { battery_charge: '3 gap', battery_discharge: 0 };
  expect(await rolesOf('computed', { into: 7 })).toEqual({
    ...{ ...fixed, production: -7, grid_import: -7, consumption: 7, grid_export: 7 },
  });
  expect(await rolesOf('netted', { into: 7 })).toEqual({
    ...{ ...fixed, production: 0, grid_import: 0, consumption: 7, grid_export: 7 },
  });
  const unknown = { ...fixed, production: null, grid_import: null, consumption: null, grid_export: null };
  expect(await rolesOf('netted', { into: null })).toEqual(unknown);
  expect(await rolesOf('netted', { into: 7, isShapeless: true })).toEqual(unknown);
  expect(await rolesOf('undetermined', { into: 7 })).toEqual(unknown);
});
