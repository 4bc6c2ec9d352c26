import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Balances, DeviceStatuses } from '../../src/web/facts/answers.ts';
import { profileColumns } from '../../src/web/facts/profile-columns.ts';
import { daysOfDetails, daysOfQuality } from '../../src/web/facts/quality-days.ts';
import { qualityRows } from '../../src/web/facts/quality-rows.ts';
import { namerOf, rolesOfDevices } from '../../src/web/facts/series.ts';
import { closeScale, niceScale } from '../../src/web/pictures/nice-scale.ts';
import { dayOfSeries, roof, shed, today } from './support/days-of-series.ts';

const name = (key: string) => key;

test('rows of quality begin with the most trouble, and a device is not missing before it came', () => {
  const days = ['2026-11-19', '2026-11-20', '2026-11-21', today];
  const details = {
    '2026-11-19': { old: dayOfSeries(1) },
    '2026-11-20': { old: dayOfSeries(1), fresh: dayOfSeries(1) },
    '2026-11-21': { fresh: dayOfSeries(1, { flags: ['reset'] }) },
    [today]: { old: dayOfSeries(1, { flags: ['partial'] }) },
  };
  const kind = (flags: string[]) => ({ coverage: 1, status: 'final' as const, methods: [], flags });
  const compact = {
    startDate: days[0]!,
    endDate: today,
    kinds: [kind([]), kind(['reset']), kind(['partial'])],
    devices: { old: [0, 0, null, 2], fresh: [null, 0, 1, null] },
  };
  for (const quality of [daysOfDetails(details, days), daysOfQuality(compact, days)]) {
    const facts = { today, nameOf: name, hrefOf: (key: string, day: string) => `${key} ${day}` };
    const rows = qualityRows(quality, ['fresh', 'old'], facts);
    expect(rows.map(({ key, states }) => [key, states])).toEqual([
      ['old', ['good', 'good', 'missing', 'good']],
      ['fresh', ['future', 'good', 'noted', 'future']],
    ]);
    expect(rows[0]!.cellAt(2)).toEqual({ words: 'no data', href: undefined });
    expect(rows[1]!.cellAt(0).words).toBe('before its first data');
    expect(rows[1]!.cellAt(2)).toEqual({
      words: expect.stringMatching(/final.*reset$/),
      href: 'fresh 2026-11-21',
    });
  }
});

test('of the rows of quality a bad day weighs more than a missing one, and that more than a doubtful one', () => {
  const days = ['2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20'];
  const daysOf = (...flags: Array<string | null>) =>
    flags.flatMap((flag, index) => (flag === null ? [] : [[days[index]!, flag] as const]));
  const series = {
    good: daysOf('', '', '', ''),
    noted: daysOf('', '', 'reset', 'reset'),
    doubtful: daysOf('', '', '', 'partial'),
    missing: daysOf('', '', null, ''),
    bad: daysOf('', '', '', 'contradicted'),
  };
  const details: Record<string, Record<string, ReturnType<typeof dayOfSeries>>> = {};
  for (const [key, flagged] of Object.entries(series))
    for (const [day, flag] of flagged)
      details[day] = { ...details[day], [key]: dayOfSeries(1, { flags: flag === '' ? [] : [flag] }) };
  const facts = { today, nameOf: name, hrefOf: name };
  const rows = qualityRows(daysOfDetails(details, days), Object.keys(series), facts);
  expect(rows.map(({ key }) => key)).toEqual(['bad', 'missing', 'doubtful', 'noted', 'good']);
});

test('a day without energy has no 0 Wh', () => {
  const day = '2026-11-20';
  const wordsOf = (energyWh: number | null) =>
    qualityRows(daysOfDetails({ [day]: { a: dayOfSeries(energyWh) } }, [day]), ['a'], {
      ...{ today, nameOf: name, hrefOf: name },
    })[0]!.cellAt(0).words;
  expect(wordsOf(null)).toMatch(/^no energy, final, /);
  expect(wordsOf(5)).toMatch(/^5\sWh, final, /);
});

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

test('a device has the role of its sources if they have one', () => {
  const part = (device: string, source: string, role: string) => ({ device, source, role });
  const balances = {
    '2026-11-20': { parts: [part(roof, 'east', 'production'), part(shed, 'pv', 'production')] },
    '2026-11-21': { parts: [part(roof, 'west', 'production'), part(shed, 'load', 'consumption')] },
  } as unknown as Balances;
  expect([...rolesOfDevices(balances)]).toEqual([[roof, 'production']]);
  expect(rolesOfDevices(undefined).size).toBe(0);
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

test('names leave out what all have in common', () => {
  const devices = { [roof]: { name: 'roof' }, [shed]: { name: 'shed' } } as unknown as DeviceStatuses;
  const names = (...keys: string[]) => keys.map(namerOf(keys, devices));
  expect(names(`${roof}.east`, `${roof}.west`)).toEqual(['east', 'west']);
  expect(names(roof, `${roof}.west`)).toEqual(['roof', 'west']);
  expect(names(`${roof}.main`, `${shed}.main`)).toEqual(['roof', 'shed']);
  expect(names(`${roof}.east`, `${shed}.default`)).toEqual(['roof · east', 'shed']);
});

test('scales contain their values with few ticks', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e9, max: 1e9 }), fc.integer({ min: 1, max: 1e9 }), (low, length) => {
      const high = low + length;
      for (const { low: bottom, high: top, ticks } of [niceScale(low, high), closeScale(low, high)]) {
        expect(bottom).toBeLessThanOrEqual(low);
        expect(top).toBeGreaterThanOrEqual(high);
        expect(ticks[0]).toBeLessThanOrEqual(bottom);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(top);
        expect(ticks.length).toBeLessThan(9);
      }
    }),
  );
  expect(niceScale(0, 0.3, 3).ticks).toEqual([0, 0.1, 0.2, 0.3]);
  expect(niceScale(0, 0).isEmpty).toBe(true);
  expect(closeScale(7, 7).ticks).toContain(7);
});
