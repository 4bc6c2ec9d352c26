import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseQuantity, unitFactor, unitTable } from '../../src/lib/units.ts';
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
