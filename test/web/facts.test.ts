import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Balances, DeviceStatuses } from '../../src/web/facts/answers.ts';
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

test('a device has the role of its sources if they have one', () => {
  const part = (device: string, source: string, role: string) => ({ device, source, role });
  const balances = {
    '2026-11-20': { parts: [part(roof, 'east', 'production'), part(shed, 'pv', 'production')] },
    '2026-11-21': { parts: [part(roof, 'west', 'production'), part(shed, 'load', 'consumption')] },
  } as unknown as Balances;
  expect([...rolesOfDevices(balances)]).toEqual([[roof, 'production']]);
  expect(rolesOfDevices(undefined).size).toBe(0);
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
