import { expect, test } from 'vitest';
import { type BalanceTable, balanceTables } from './balance-tables.ts';

const readStatements = balanceTables();

const QUARTER_MS = 900_000;
const HOUR_MS = 3_600_000;
const day = (number: number) => `DATE '2026-11-0${number}'`;

/** The intervals of two days of a register: place, whether it is known, and whether it has a shape. */
async function intervalsOf(measured: Array<[day: number, place: number, wh: number, isSpread?: boolean]>) {
  const tables: Record<string, BalanceTable> = {
    wanted: ['device, source, own_day', `'a', 'x', ${day(1)}`, `'a', 'x', ${day(2)}`],
    slot: [
      'own_day, at_ms',
      ...[1, 1, 1, 2, 2, 2].map((number, place) => `${day(number)}, ${place * QUARTER_MS}`),
    ],
    read_from: [
      'device, source, own_day, stream_id, is_register, is_sparse, step_wh',
      ...[1, 2].map((number) => `'a', 'x', ${day(number)}, 1, true, false, 10`),
    ],
    daily_energy: [
      'day, device, source, method',
      ...[1, 2].map((number) => `${day(number)}, 'a', 'x', 'total_energy'`),
    ],
    measured: [
      'device, source, own_day, at_ms, energy_wh, covered_ms, is_estimated, is_spread',
      ...measured.map(
        ([number, place, wh, isSpread = false]) =>
          `'a', 'x', ${day(number)}, ${place * QUARTER_MS}, ${wh}, ${QUARTER_MS}, false, ${isSpread}`,
      ),
    ],
  };
  const columns = `(at_ms // ${QUARTER_MS})::INTEGER AS place, is_known, has_shape`;
  return readStatements(tables, { source_interval: 'find_source_interval' }, columns);
}

test('what lies between two readings of a register is known, even over midnight', async () => {
  const found = await intervalsOf([
    [1, 1, 5],
    [2, 4, 5],
  ]);
  expect(found.map(([, isKnown]) => isKnown)).toEqual([false, true, true, true, true, false]);
});

test('energy has a shape if at most 20 Wh of its day were spread', async () => {
  const shapesOf = async (spreadWh: number) =>
    (
      await intervalsOf([
        [1, 0, 100],
        [1, 1, spreadWh, true],
        [1, 2, 5],
      ])
    )
      .slice(0, 3)
      .map(([, , hasShape]) => hasShape);
  expect(await shapesOf(20)).toEqual([true, true, true]);
  expect(await shapesOf(21)).toEqual([true, false, true]);
});

test('energy is spread if its bound is estimated or its values are far apart, and no energy is not', async () => {
  const spreadOf = async (isSparse: boolean) => {
    const found = await readStatements(
      {
        read_from: ['device, source, own_day, stream_id, is_sparse', `'a', 'x', ${day(1)}, 1, ${isSparse}`],
        own_slot: ['own_day, at_ms', ...[0, 1, 2].map((place) => `${day(1)}, ${place * QUARTER_MS}`)],
        interval_energy: [
          'device, source, stream_id, interval_start, energy_wh, covered_ms, flags',
          ...[
            [0, "'reset'"],
            [5, "'reset'"],
            [-5, "'estimated'"],
          ].map(
            ([wh, flag], place) =>
              `'a', 'x', 1, make_timestamptz(${place * QUARTER_MS}000::BIGINT), ${wh}, ${QUARTER_MS}, [${flag}]`,
          ),
        ],
      },
      { measured: 'find_measured' },
      'at_ms, is_spread',
    );
    return found.map(([, isSpread]) => isSpread);
  };
  expect(await spreadOf(false)).toEqual([false, false, true]);
  expect(await spreadOf(true)).toEqual([false, true, true]);
});

test('an interval with a gap waits for late data for an hour after its end', async () => {
  const placesAt = async (nowMs: number) => {
    const found = await readStatements(
      {
        scope_day: [
          'scope_id, own_day, way, computed, is_grid_known',
          `'s', ${day(1)}, 'measured', [], true`,
        ],
        slot: ['at_ms, day, own_day', `0, ${day(1)}, ${day(1)}`, `${QUARTER_MS}, ${day(1)}, ${day(1)}`],
        flow: [
          'scope_id, at_ms, into_wh, grid_net_wh, has_gap, is_signed, is_estimated, has_shape, step_wh',
          `'s', 0, NULL, NULL, true, false, false, true, 0`,
          `'s', ${QUARTER_MS}, 5, 5, false, false, false, true, 0`,
        ],
        scope_peak: ['scope_id, own_day, kwp', `'other', ${day(1)}, 5`],
      },
      { interval_flow: 'find_interval_flow' },
      'at_ms',
      nowMs,
    );
    return found.flat();
  };
  expect(await placesAt(QUARTER_MS + HOUR_MS - 1)).toEqual([QUARTER_MS]);
  expect(await placesAt(QUARTER_MS + HOUR_MS)).toEqual([0, QUARTER_MS]);
});

test('the rest of a source is that without its parts, and of a computed role by the signs of the members', async () => {
  const found = await readStatements(
    {
      scope_source: [
        'scope_id, own_day, device, source, series, role, sign, container',
        `'s', ${day(1)}, 'a', 'main', 'a.main', 'consumption', -1, NULL`,
        `'s', ${day(1)}, 'a', 'part', 'a.part', 'consumption', -1, 'a.main'`,
        `'s', ${day(1)}, 'b', 'pump', 'b.pump', 'consumption', -1, 'site'`,
      ],
      slot: ['at_ms, day, own_day', `0, ${day(1)}, ${day(1)}`],
      source_interval: [
        'device, source, own_day, at_ms, energy_wh, is_known',
        ...[
          ['a', 'main', 100],
          ['a', 'part', 30],
          ['b', 'pump', 5],
        ].map(([device, source, wh]) => `'${device}', '${source}', ${day(1)}, 0, ${wh}, true`),
      ],
      interval_role: ['scope_id, at_ms, role, wh', "'s', 0, 'consumption', 40"],
    },
    { rest: 'find_rest' },
    'container, rest_wh',
  );
  expect(found).toEqual([
    ['a.main', 70],
    ['site', 45],
  ]);
});

test('a rest is unknown if a part is, and each computed role of a site has its own', async () => {
  const source = (device: string, name: string, role: string, container: string | null) =>
    `'s', ${day(1)}, '${device}', '${name}', '${device}.${name}', '${role}', 1, ${container ? `'${container}'` : 'NULL'}`;
  const known = { 'a.main': 100, 'b.known': 30, 'c.pv': 5, 'd.pump': 1 };
  const found = await readStatements(
    {
      scope_source: [
        'scope_id, own_day, device, source, series, role, sign, container',
        source('a', 'main', 'consumption', null),
        source('b', 'known', 'consumption', 'a.main'),
        source('b', 'unknown', 'consumption', 'a.main'),
        source('c', 'pv', 'production', 'site.production'),
        source('d', 'pump', 'consumption', 'site'),
      ],
      slot: ['at_ms, day, own_day', `0, ${day(1)}, ${day(1)}`],
      source_interval: [
        'device, source, own_day, at_ms, energy_wh, is_known',
        ...Object.entries(known).map(([series, wh]) => {
          const [device, name] = series.split('.');
          return `'${device}', '${name}', ${day(1)}, 0, ${wh}, true`;
        }),
        `'b', 'unknown', ${day(1)}, 0, NULL, false`,
      ],
      interval_role: ['scope_id, at_ms, role, wh', "'s', 0, 'consumption', 40", "'s', 0, 'production', 60"],
    },
    { rest: 'find_rest' },
    'container, rest_wh',
  );
  expect(found).toEqual([
    ['a.main', null],
    ['site', 39],
    ['site.production', 55],
  ]);
});

test('nothing is left over if a role is computed, and it is unknown what is left if a source is unknown', async () => {
  const residualOf = async (way: string, intoWh: number | null) => {
    const [found] = await readStatements(
      {
        interval_flow: [
          `scope_id, own_day, day, at_ms, way, is_grid_known, into_wh, grid_net_wh, computed, is_complete, is_netted,
            is_undetermined, is_estimated, is_shapeless, tolerance, kwp, has_peak`,
          `'s', ${day(1)}, ${day(1)}, 0, '${way}', true, ${intoWh}::BIGINT, 0, [], true, false, false, false, false, 20, NULL, false`,
        ],
        interval_role: ['scope_id, at_ms, role, wh, is_gap', "'s', 0, 'production', 5, false"],
      },
      { interval_sum: 'find_interval_sum' },
      'residual_wh',
    );
    return found![0];
  };
  expect(await residualOf('measured', 7)).toBe(7);
  expect(await residualOf('computed', 7)).toBe(0);
  expect(await residualOf('computed', null)).toBe(null);
  expect(await residualOf('undetermined', 7)).toBe(null);
});

test('the level of an interval has the rests of its own scope and time', async () => {
  const found = await readStatements(
    {
      interval_sum: [
        'scope_id, at_ms, is_complete',
        `'a', 0, true`,
        `'a', ${QUARTER_MS}, false`,
        `'b', 0, true`,
      ],
      rest: [
        'scope_id, at_ms, container, rest_wh',
        `'a', 0, 'site', 5`,
        `'a', 0, 'a.main', 2`,
        `'b', 0, 'site', 7`,
        `'a', ${HOUR_MS}, 'site', 9`,
      ],
    },
    { level: 'find_interval_level' },
    `scope_id, period, known_intervals, rest::JSON::VARCHAR`,
  );
  expect(found).toEqual([
    ['a', '1970-01-01T00:00:00Z', 1, '{"a.main":2,"site":5}'],
    ['a', '1970-01-01T00:15:00Z', 0, null],
    ['b', '1970-01-01T00:00:00Z', 1, '{"site":7}'],
  ]);
});
