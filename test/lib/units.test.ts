import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDuration, parseQuantity, parseUnit, unitFactor, unitTable } from '../../src/lib/units.ts';
import { pages } from '../support/readme.ts';

test.each([
  ['energy', '1 kWh', 1_000],
  ['energy', '2.5MWh', 2_500_000],
  ['energy', '1 mWh', 0.001],
  ['energy', '3.6 MJ', 1_000],
  ['energy', '3600 Ws', 1],
  ['power', '10 kW', 10_000],
  ['power', ' 5 mW ', 0.005],
  ['power', '-.5 W', -0.5],
  ['power', '1e3 W', 1_000],
  ['duration', '15m', 900_000],
  ['duration', '15 min', 900_000],
  ['duration', '1.5h', 5_400_000],
  ['duration', '250ms', 250],
  ['duration', '2d', 172_800_000],
] as const)('as %s, %j is %d', (dimension, text, amount) => {
  expect(parseQuantity(dimension, text)).toBeCloseTo(amount, 9);
});

test.each([
  ['energy', '1 kwh'],
  ['energy', '1 KWH'],
  ['energy', '1 kW'],
  ['energy', '1'],
  ['energy', 'kWh'],
  ['energy', '1,5 kWh'],
  ['energy', '1 k Wh'],
  ['energy', '1 kWh/h'],
  ['energy', '0x10 Wh'],
  ['energy', 'NaN Wh'],
  ['energy', 'Infinity Wh'],
  ['energy', '1e999 Wh'],
  ['energy', '1e308 TWh'],
  ['energy', '1 toString'],
  ['energy', '1 constructor'],
  ['duration', '5 M'],
  ['duration', '1h30m'],
] as const)('as %s, %j is refused', (dimension, text) => {
  expect(parseQuantity(dimension, text)).toBeUndefined();
});

test('prefixes are case-sensitive: mWh is not MWh', () => {
  expect(unitFactor('energy', 'MWh')! / unitFactor('energy', 'mWh')!).toBeCloseTo(1e9);
  expect(unitFactor('power', 'MW')! / unitFactor('power', 'mW')!).toBeCloseTo(1e9);
});

test('every unit of every dimension can be written and read', () => {
  const units = (['energy', 'power', 'duration'] as const).flatMap((dimension) =>
    unitTable(dimension).map(([unit, factor]) => ({ dimension, unit, factor })),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...units),
      fc.double({ min: -1e12, max: 1e12, noNaN: true }),
      ({ dimension, unit, factor }, amount) => {
        expect(parseQuantity(dimension, `${amount} ${unit}`)).toBe(Number(String(amount)) * factor);
      },
    ),
  );
});

test('each unit has its factor to Wh, W or ms', () => {
  expect(unitTable('energy')).toEqual([
    ['mWh', 0.001],
    ['Wh', 1],
    ['kWh', 1_000],
    ['MWh', 1_000_000],
    ['GWh', 1_000_000_000],
    ['TWh', 1_000_000_000_000],
    ['J', 1 / 3_600],
    ['kJ', 1_000 / 3_600],
    ['MJ', 1_000_000 / 3_600],
    ['GJ', 1_000_000_000 / 3_600],
    ['Ws', 1 / 3_600],
    ['kWs', 1_000 / 3_600],
  ]);
  expect(unitTable('power')).toEqual([
    ['mW', 0.001],
    ['W', 1],
    ['kW', 1_000],
    ['MW', 1_000_000],
    ['GW', 1_000_000_000],
  ]);
  expect(unitTable('duration')).toEqual([
    ['ms', 1],
    ['s', 1_000],
    ['m', 60_000],
    ['min', 60_000],
    ['h', 3_600_000],
    ['d', 86_400_000],
  ]);
});

test.each([
  ['kWh', 'kWh'],
  ['KWH', 'kWh'],
  ['kw', 'kW'],
  // It could be mWh or MWh.
  ['mwh', undefined],
  ['kVA', undefined],
])('as a unit in any capitals, %s is %s', (text, unit) => {
  expect(parseUnit(text)).toBe(unit);
});

test.each([
  [0, '0ms'],
  [1_500, '1500ms'],
  [90_000, '90s'],
  [5_400_000, '90m'],
  [86_400_000, '1d'],
])('a duration of %d ms is written as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('no text is a crash', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const amount = parseQuantity('energy', text);
      expect(amount === undefined || Number.isFinite(amount)).toBe(true);
    }),
  );
});

test('docs/configuration.md lists all units', () => {
  const section = pages.get('docs/configuration.md')!.split('\n## Units\n')[1]!.split('\n## ')[0]!;
  for (const dimension of ['energy', 'power', 'duration'] as const) {
    const [, cell] = new RegExp(`^\\| ${dimension} \\| (.+) \\|$`, 'm').exec(section)!;
    const known = unitTable(dimension).map(([unit]) => `\`${unit}\``);
    expect(cell).toBe(known.join(', '));
  }
});
