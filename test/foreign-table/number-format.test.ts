import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  groupedPattern,
  guessNumberFormat,
  isNumberIn,
  type NumberFormat,
  parseNumber,
} from '../../src/foreign-table/number-format.ts';

test.each<[texts: string[], format: NumberFormat & { unclear?: string }]>([
  [['12', '3'], { decimal: '.' }],
  [['1.234'], { decimal: '.' }],
  [['1,5', '2'], { decimal: ',' }],
  [['1,234'], { decimal: ',', unclear: '1,234' }],
  [['1,234', '0,500'], { decimal: ',' }],
  [['1,234', '2.5'], { decimal: '.', thousands: ',' }],
  [['1.234,5', '1.234'], { decimal: ',', thousands: '.' }],
  [['1.234.567'], { decimal: ',', thousands: '.' }],
  [["1'234.5", '0.5'], { decimal: '.', thousands: "'" }],
  [['1 234,5', '0,5'], { decimal: ',', thousands: ' ' }],
  [['01.05.2026', '1,5', '2,5'], { decimal: ',' }],
  // A point is a decimal point only where no comma is one.
  [['1.5', '2,5'], { decimal: ',' }],
])('%j are written as %j', (texts, format) => {
  expect(guessNumberFormat(texts)).toEqual(format);
});

test.each([
  ['1,5', '.', undefined],
  ['1.5', ',', undefined],
  ['1,234.5', '.', 1234.5],
  ['1.234,5', ',', 1234.5],
  ['12,34.5', '.', undefined],
  ['1\u202f234,5', ',', 1234.5],
  ['-1e3', '.', -1000],
  ['0x10', '.', undefined],
  ['Infinity', '.', undefined],
  ['', '.', undefined],
] as const)('%j with the decimal %j is %j', (text, decimal, number) => {
  expect(parseNumber(text, { decimal })).toBe(number);
});

test.each<[text: string, format: NumberFormat, isNumber: boolean]>([
  ['1,234.5', { decimal: '.', thousands: ',' }, true],
  ['1,234.5', { decimal: '.' }, false],
  ['1,234', { decimal: '.' }, false],
  ['1,234', { decimal: ',' }, true],
  ['1 234,5', { decimal: ',', thousands: ' ' }, true],
  ['1 234,5', { decimal: ',', thousands: '.' }, false],
  ['0,234', { decimal: '.', thousands: ',' }, false],
])('%j is a number in the format %j: %j', (text, format, isNumber) => {
  expect(isNumberIn(text, format)).toBe(isNumber);
});

test('DuckDB accepts the same grouped numbers as the reader of uploads', async () => {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const format = fc
    .record({
      decimal: fc.constantFrom('.' as const, ','),
      thousands: fc.constantFrom('.' as const, ',', ' ', "'"),
    })
    .filter(({ decimal, thousands }) => decimal !== thousands);
  const texts = fc.array(fc.string({ unit: fc.constantFrom(...'0123.,'), maxLength: 9 }), { maxLength: 100 });
  await fc.assert(
    fc.asyncProperty(format, texts, async ({ decimal, thousands }, list) => {
      const statement = await connection.prepare(
        'SELECT regexp_full_match(text, $1) FROM (SELECT unnest($2::VARCHAR[]) AS text)',
      );
      statement.bindVarchar(1, groupedPattern({ decimal, thousands }));
      statement.bindVarchar(2, `[${list.map((text) => JSON.stringify(text)).join(', ')}]`);
      const matched = (await statement.runAndReadAll()).getRows().map(([matches]) => matches);
      for (const [index, text] of list.entries())
        if (matched[index] === true) expect(parseNumber(text, { decimal })).toBeDefined();
    }),
    { numRuns: 30 },
  );
  connection.closeSync();
  instance.closeSync();
});
