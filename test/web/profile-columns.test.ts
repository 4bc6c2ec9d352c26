import { expect, test } from 'vitest';
import { profileColumns, profileOfBalance, rolesThemselves } from '../../src/web/facts/profile-columns.ts';
import type { BalanceRole } from '../../src/web/words/role-words.ts';
import { makeBalance } from './support/make-balance.ts';

const name = (key: string) => key;
const START = '2026-11-20T23:00:00.000Z';

/** The columns of series on a day that is over; without `roles`, of sources that have none. */
function shownOf(
  energyWh: Record<string, Array<number | null>>,
  {
    roles = new Map(),
    ...other
  }: { roles?: ReadonlyMap<string, BalanceRole>; before?: Record<string, Array<number | null>> } = {},
) {
  const intervals = Object.values(energyWh)[0]?.length ?? 0;
  return profileColumns(
    { start: START, intervals, energyWh },
    {
      ...{ nameOf: name, roles, zone: 'Etc/UTC', nowMs: Date.parse('2026-11-22T12:00:00Z') },
      other: other.before && { start: '2026-11-19T23:00:00.000Z', intervals, energyWh: other.before },
    },
  );
}

test('a profile keeps gaps, knows where it ends, and has its strongest interval', () => {
  const shown = profileColumns(
    { start: '2026-11-20T23:00:00.000Z', intervals: 4, energyWh: { a: [1, null, 5, null] } },
    {
      nameOf: name,
      roles: new Map(),
      zone: 'Europe/Berlin',
      nowMs: Date.parse('2026-11-22T12:00:00Z'),
      other: undefined,
    },
  )!;
  expect(shown.columns.map(({ state }) => state)).toEqual(['measured', 'missing', 'measured', 'missing']);
  expect(shown).toMatchObject({
    lastKnown: '00:45',
    isWhole: false,
    missing: 1,
    peak: { time: '00:30', wh: 5 },
  });
});

test('the quarters of an hour of a day of 25 hours have names of their own, and files have their start', () => {
  const shown = profileColumns(
    {
      start: '2026-10-24T22:00:00.000Z',
      intervals: 100,
      energyWh: { a: Array.from({ length: 100 }, () => 1) },
    },
    {
      nameOf: name,
      roles: new Map(),
      zone: 'Europe/Berlin',
      nowMs: Date.parse('2026-10-26T12:00:00Z'),
      other: undefined,
    },
  )!;
  expect(shown.columns.slice(11, 17).map(({ name, tick }) => `${name}, ${tick || 'no tick'}`)).toEqual([
    '02:45 (+02:00) – 02:00 (+01:00), no tick',
    '02:00 (+01:00) – 02:15 (+01:00), 02:00',
    '02:15 (+01:00) – 02:30 (+01:00), no tick',
    '02:30 (+01:00) – 02:45 (+01:00), no tick',
    '02:45 (+01:00) – 03:00, no tick',
    '03:00 – 03:15, 03:00',
  ]);
  expect(shown.columns.at(-1)).toMatchObject({ key: '2026-10-25T22:45:00.000Z', name: '23:45 – 00:00' });
  expect(shown).toMatchObject({ lastKnown: '00:00', isWhole: true, missing: 0 });
});

test('hours of a day have ticks in every zone', () => {
  const start = Date.parse('2026-11-20T18:30:00.000Z');
  const shown = profileColumns(
    { start: new Date(start).toISOString(), intervals: 96, energyWh: { a: Array(96).fill(1) } },
    { nameOf: name, roles: new Map(), zone: 'Asia/Kolkata', nowMs: start + 2 * 86_400_000, other: undefined },
  )!;
  const ticks = shown.columns.map(({ tick }) => tick).filter(Boolean);
  expect(ticks.length).toBe(24);
  expect(ticks.slice(0, 2)).toEqual(['00:00', '01:00']);
});

test('an interval without energy is not missing until it ended an hour ago', () => {
  const start = Date.parse('2026-11-20T23:00:00.000Z');
  const statesAt = (minutes: number) =>
    profileColumns(
      { start: new Date(start).toISOString(), intervals: 2, energyWh: { a: [1, null] } },
      { nameOf: name, roles: new Map(), zone: 'Etc/UTC', nowMs: start + minutes * 60_000, other: undefined },
    )!.columns.map(({ state }) => state);
  expect(statesAt(89)).toEqual(['measured', 'future']);
  expect(statesAt(90)).toEqual(['measured', 'missing']);
});

test('a profile of many sources has the largest in colours, and all others are one series', () => {
  const [own, others] = [Array.from({ length: 9 }, (_, index) => `d${index}`), ['others']];
  const shown = profileColumns(
    {
      start: '2026-11-20T23:00:00.000Z',
      intervals: 2,
      energyWh: { ...Object.fromEntries(own.map((key, index) => [key, [index, null]])), others: [100, 1] },
    },
    {
      nameOf: name,
      roles: new Map(),
      zone: 'Europe/Berlin',
      nowMs: Date.parse('2026-11-22T12:00:00Z'),
      // Its largest sources are others.
      other: {
        start: '2026-11-19T23:00:00.000Z',
        intervals: 2,
        energyWh: { d8: [1, 1], elsewhere: [20, null] },
      },
    },
  )!;
  expect(shown.series.map(({ key }) => key)).toEqual([...own.slice(2), ...others]);
  expect(shown.series.at(-1)!.name).toBe('all others');
  expect(shown.columns.map(({ values }) => values)).toEqual([
    [2, 3, 4, 5, 6, 7, 8, 101],
    [null, null, null, null, null, null, null, 1],
  ]);
  expect(shown.columns.map(({ reference }) => reference)).toEqual([21, 1]);
});

test('more than eight sources of one role are one series', () => {
  const seriesOf = (count: number) => {
    const keys = Array.from({ length: count }, (_, index) => `s${index}`);
    return profileColumns(
      {
        ...{ start: '2026-11-20T23:00:00.000Z', intervals: 1 },
        energyWh: Object.fromEntries(keys.map((key) => [key, [1]])),
      },
      {
        ...{ nameOf: name, zone: 'Etc/UTC', nowMs: Date.parse('2026-11-22T12:00:00Z'), other: undefined },
        roles: new Map(keys.map((key) => [key, 'production' as const])),
      },
    )!;
  };
  expect(seriesOf(8).series).toHaveLength(8);
  expect(seriesOf(9).series.map(({ key }) => key)).toEqual(['production']);
  expect(seriesOf(9).columns[0]!.values).toEqual([9]);
});

test('of equal strongest intervals the first one is named, and a day without energy has none', () => {
  expect(shownOf({ a: [1, 5, 5, 2] })!.peak).toEqual({ time: '23:15', wh: 5 });
  expect(shownOf({ a: [0, 0, null] })!.peak).toBeUndefined();
  expect(shownOf({ a: [null, null] })).toMatchObject({ peak: undefined, lastKnown: undefined, missing: 0 });
});

test('the strongest interval has the most of what comes in, and only without that of what goes out', () => {
  const of = (energyWh: Record<string, number[]>) => shownOf(energyWh, { roles: rolesThemselves })!.peak;
  expect(of({ consumption: [9, 1], production: [1, 2], grid_import: [0, 2] })).toEqual({
    time: '23:15',
    wh: 4,
  });
  expect(of({ consumption: [9, 1], grid_export: [0, 2] })).toEqual({ time: '23:00', wh: 9 });
});

test('an interval is known if one source has a value, and the column says its energy', () => {
  const { columns } = shownOf({ a: [1, null, null, 4], b: [2, 3, null, null] })!;
  expect(columns.map(({ values, state, notes }) => [values, state, ...notes])).toEqual([
    [[1, 2], 'measured', expect.stringMatching(/^3\sWh /)],
    [[null, 3], 'measured', expect.stringMatching(/^3\sWh /)],
    [[null, null], 'missing', 'no data'],
    [[4, null], 'measured', expect.stringMatching(/^4\sWh /)],
  ]);
});

test('sources come by role and then by name, and each is a series if all have one role', () => {
  const roles = new Map<string, BalanceRole>([['z', 'production']]);
  const { series } = shownOf({ b: [1], a: [1], z: [1] }, { roles })!;
  expect(series).toEqual([
    { key: 'z', name: 'z', tone: '1', side: 1 },
    { key: 'a', name: 'a', tone: '2', side: 1 },
    { key: 'b', name: 'b', tone: '3', side: 1 },
  ]);
});

test('sources of several roles are one series each role, and those without a role are left out', () => {
  const roles = new Map<string, BalanceRole>([
    ['load', 'consumption'],
    ['east', 'production'],
    ['west', 'production'],
  ]);
  const { series, columns } = shownOf({ load: [7], west: [2], east: [1], other: [90] }, { roles })!;
  expect(series).toEqual([
    { key: 'production', name: 'Production', tone: 'production', side: 1 },
    { key: 'consumption', name: 'Consumption', tone: 'consumption', side: -1 },
  ]);
  expect(columns.map(({ values }) => values)).toEqual([[3, 7]]);
});

test('the day before is compared by its sum, and by its production if energy goes both ways', () => {
  const references = (energyWh: Record<string, number[]>, before: Record<string, Array<number | null>>) =>
    shownOf(energyWh, { roles: rolesThemselves, before })!.columns.map(({ reference }) => reference);
  const day = { production: [1, 1], grid_import: [1, 1] };
  expect(references(day, { production: [3, null], grid_import: [4, 5] })).toEqual([7, 5]);
  expect(references({ ...day, consumption: [2, 2] }, { production: [3, null], consumption: [4, 4] })).toEqual(
    [3, null],
  );
  expect(shownOf({ a: [1] })!.columns[0]!.reference).toBeUndefined();
});

test('there are no columns without a source', () => {
  expect(shownOf({})).toBeUndefined();
  expect(
    profileColumns(undefined, {
      ...{ nameOf: name, roles: rolesThemselves, zone: 'Etc/UTC', nowMs: 0, other: undefined },
    }),
  ).toBeUndefined();
});

test('a balance by interval becomes a profile of its roles, and an interval without one is not known', () => {
  const profile = { start: START, intervals: 3, energyWh: { a: [1, 2, 3] } };
  const balances = {
    '2026-11-20T23:00:00.000Z': makeBalance({ productionWh: 5, gridExportWh: 4 }),
    '2026-11-20T23:30:00.000Z': makeBalance({ productionWh: 6 }),
  };
  expect(profileOfBalance(profile, balances, new Set(['consumption']))).toEqual({
    ...profile,
    energyWh: { production: [5, null, 6], consumption: [0, null, 0], grid_export: [4, null, 0] },
  });
  expect(profileOfBalance(undefined, balances, new Set())).toBeUndefined();
  expect(profileOfBalance({ ...profile, energyWh: {} }, balances, new Set())).toBeUndefined();
});
