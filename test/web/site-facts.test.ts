import { describe, expect, test } from 'vitest';
import { ASLEEP_MS_MAX } from '../../src/warehouse/shard-status.ts';
import type { Balance, DayDetails, Profiles, Variance } from '../../src/web/facts/answers.ts';
import { budgetColumns, daysLeftOut, newestDays } from '../../src/web/facts/budget-columns.ts';
import { deviceKind } from '../../src/web/facts/device-kind.ts';
import { countKinds, deviceRows, energyOfDays } from '../../src/web/facts/device-rows.ts';
import { lastQuarter } from '../../src/web/facts/overview-facts.ts';
import { cutProfile } from '../../src/web/facts/use-day-profile.ts';

const roof = '0b0e7c1e-0000-4000-8000-000000000001';
const shed = '0b0e7c1e-0000-4000-8000-000000000002';
const barn = '0b0e7c1e-0000-4000-8000-000000000003';

describe('devices', () => {
  const status = { since: null, reason: null, lastSeen: null };
  const rows = deviceRows({
    [roof]: { ...status, name: 'roof', state: 'online' },
    [shed]: { ...status, name: 'shed', state: 'offline', reason: 'asleep' },
    [barn]: { ...status, name: 'barn', state: 'offline', reason: 'timeout' },
  });
  test('those that need a look come first, and one that sleeps is no fault', () => {
    expect(rows.map(({ name, kind }) => [name, kind])).toEqual([
      ['barn', 'offline'],
      ['shed', 'asleep'],
      ['roof', 'online'],
    ]);
    expect(countKinds(rows)).toMatchObject({ all: 3, offline: 1, online: 1, asleep: 1, unknown: 0 });
  });
  test.each([
    ['online', null, 23, 'online'],
    ['online', null, 25, 'silent'],
    ['offline', 'asleep', 16, 'asleep'],
    ['offline', 'asleep', 25, 'silent'],
    ['offline', 'timeout', 25, 'offline'],
    ['unknown', null, 1, 'heard'],
    ['unknown', null, 25, 'silent'],
    ['unknown', null, undefined, 'unknown'],
  ] as const)('%s (%s) with data %s hours ago is %s', (state, reason, hours, kind) => {
    const nowMs = Date.parse('2026-11-22T12:00:00Z');
    const lastSeen = hours === undefined ? null : new Date(nowMs - hours * 3_600_000).toISOString();
    expect(deviceKind({ state, reason, since: null, lastSeen }, nowMs)).toBe(kind);
  });
  test.each([
    [ASLEEP_MS_MAX, 'asleep'],
    [ASLEEP_MS_MAX + 1, 'silent'],
  ] as const)('a device without data that went to sleep %s ms ago is %s', (sinceMs, kind) => {
    const nowMs = Date.parse('2026-11-22T12:00:00Z');
    const since = new Date(nowMs - sinceMs).toISOString();
    expect(deviceKind({ ...status, state: 'offline', reason: 'asleep', since }, nowMs)).toBe(kind);
  });
  test('only going to sleep counts as data: a device without data stays as it was announced', () => {
    const nowMs = Date.parse('2026-11-22T12:00:00Z');
    const old = { ...status, since: new Date(nowMs - ASLEEP_MS_MAX - 1).toISOString() };
    expect(deviceKind({ ...old, state: 'online' }, nowMs)).toBe('online');
    expect(deviceKind({ ...old, state: 'unknown' }, nowMs)).toBe('unknown');
  });
  test('a day without data is a gap, but not before the first data, and not on a day that has begun', () => {
    const day = (energyWh: number) => ({ [roof]: { energyWh } }) as unknown as DayDetails[string];
    const details = { '2026-11-19': day(5), '2026-11-20': {}, '2026-11-21': day(0), '2026-11-22': {} };
    const days = ['2026-11-18', ...Object.keys(details)];
    expect(energyOfDays(details, roof, days)).toEqual([undefined, 5, null, 0, undefined]);
    expect(energyOfDays(details, shed, days)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

test('a day of another zone is cut out of two days, and its gaps stay gaps', () => {
  const days: Profiles = {
    '2026-11-20': { start: '2026-11-20T00:00:00.000Z', intervals: 96, energyWh: { a: Array(96).fill(1) } },
    '2026-11-21': { start: '2026-11-21T00:00:00.000Z', intervals: 96, energyWh: { b: Array(96).fill(2) } },
  };
  const startMs = Date.parse('2026-11-20T18:15:00Z');
  const cut = cutProfile(days, { startMs, endMs: startMs + 86_400_000 })!;
  expect(cut.intervals).toBe(96);
  expect(cut.energyWh.a).toEqual([...Array(23).fill(1), ...Array(73).fill(null)]);
  expect(cut.energyWh.b).toEqual([...Array(23).fill(null), ...Array(73).fill(2)]);
  expect(cutProfile({}, { startMs, endMs: startMs })).toBeUndefined();
});

test('the budget of a day stands beside its energy, and days without one of them are named', () => {
  const day = { varianceWh: null, variancePercent: null, partial: false, scenarios: ['P50'] };
  const variance = {
    days: {
      '2026-11-19': { ...day, actualWh: 90, budgetWh: 100, varianceWh: -10 },
      '2026-11-20': { ...day, actualWh: null, budgetWh: 100 },
      '2026-11-21': { ...day, actualWh: 50, budgetWh: 100, partial: true, varianceWh: -50 },
      '2026-11-22': { ...day, actualWh: 20, budgetWh: 100, partial: true },
      '2026-11-23': { ...day, actualWh: null, budgetWh: 100 },
    },
    months: {},
  } as unknown as Variance;
  const columns = budgetColumns(variance, { from: '2026-11-19', to: '2026-11-23' }, '2026-11-22');
  expect(columns.map(({ values, state, reference, mark }) => [values[0], state, reference, mark])).toEqual([
    [90, 'measured', 100, undefined],
    [null, 'missing', 100, undefined],
    [50, 'measured', 100, 'doubtful'],
    [20, 'provisional', 100, undefined],
    [null, 'future', 100, undefined],
  ]);
  expect(daysLeftOut(variance, '2026-11-22').map((one) => one.day)).toEqual(['2026-11-20', '2026-11-21']);
});

test('of days that are left out the 8 newest ones are named, the newest first', () => {
  const days = ['01', '02', '03', '04', '05', '06', '07', '08', '09'].map((day) => ({
    ...{ day, reason: 'there is no budget for it' },
  }));
  const { named, earlier } = newestDays(days);
  expect(named.map(({ day }) => day)).toEqual(['09', '08', '07', '06', '05', '04', '03', '02']);
  expect(earlier).toBe(1);
  expect(newestDays(days.slice(0, 2))).toEqual({ named: [days[1], days[0]], earlier: 0 });
});

test('a month says how many of its days are left out', () => {
  const month = { actualWh: 90, budgetOfAllDaysWh: 100, elapsedDays: 31 };
  const months = {
    '2026-01': { ...month, comparedDays: 29 },
    '2026-02': { ...month, comparedDays: 31 },
    '2026-03': { ...month, comparedDays: 0 },
  };
  const columns = budgetColumns(
    { days: {}, months } as unknown as Variance,
    { from: '2026-01-01', to: '2026-04-30' },
    '2026-04-01',
  );
  expect(columns.map(({ values, mark, notes }) => [values[0], mark, notes.at(-1)])).toEqual([
    [90, 'doubtful', '2\u00a0days left out'],
    [90, undefined, expect.stringContaining('budget')],
    [null, 'doubtful', '31\u00a0days left out'],
    [null, undefined, 'no budget'],
  ]);
});

test('the power of the last known quarter of an hour follows from its energy', () => {
  // Balances by interval list no parts.
  const quarter = (productionWh: number | null, gridImportWh: number | null = null) => {
    const lists = { parts: [], computed: [], missing: [] };
    return { productionWh, consumptionWh: null, gridImportWh, ...lists } as unknown as Balance;
  };
  const withRoof = new Set(['production', 'grid_import'] as const);
  const quarters = {
    '2026-11-22T10:00:00.000Z': quarter(100),
    '2026-11-22T10:15:00.000Z': quarter(250),
    '2026-11-22T10:30:00.000Z': quarter(null),
  };
  expect(lastQuarter(quarters, withRoof)).toEqual({
    startMs: Date.parse('2026-11-22T10:15:00Z'),
    endMs: Date.parse('2026-11-22T10:30:00Z'),
    productionW: 1_000,
    consumptionW: null,
    gridImportW: null,
  });
  expect(lastQuarter({}, withRoof)).toBeUndefined();
  // A home without a roof has 0 Wh of production in its balance, and does not hear of it.
  const night = { '2026-11-22T01:00:00.000Z': quarter(0, 50) };
  expect(lastQuarter(night, new Set(['grid_import']))).toMatchObject({ productionW: null, gridImportW: 200 });
  // A home with a roof hears of it also before the first watt-hour of the day.
  expect(lastQuarter(night, withRoof)).toMatchObject({ productionW: 0, gridImportW: 200 });
  // An inverter is away since 10:30: the import alone would say nothing of the site. Later it does, because
  // nothing else is known any more.
  const away = {
    '2026-11-22T10:00:00.000Z': quarter(100, 5),
    '2026-11-22T10:15:00.000Z': quarter(250, 0),
    '2026-11-22T10:30:00.000Z': quarter(null, 1),
  };
  expect(lastQuarter(away, withRoof)).toMatchObject({ productionW: 1_000, gridImportW: 0 });
  const noon = Date.parse('2026-11-22T12:30:00.000Z');
  expect(lastQuarter({ ...away, '2026-11-22T12:30:00.000Z': quarter(null, 2) }, withRoof)).toMatchObject({
    startMs: noon,
    productionW: null,
    gridImportW: 8,
  });
});
