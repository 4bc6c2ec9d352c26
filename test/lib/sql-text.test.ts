import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonPointer } from '../../src/lib/json-pointer.ts';
import { sqlName, sqlString } from '../../src/lib/sql-text.ts';

const text = fc
  .string({ unit: 'grapheme' })
  .map((some) => some.replaceAll('\0', ''))
  .chain((some) =>
    fc.constantFrom(some, `${some}'`, `'; DROP TABLE t; --${some}`, `"${some}""`, `\\'${some}`),
  );

test('DuckDB reads any text and any name as it was given', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await fc.assert(
    fc.asyncProperty(text, text, async (value, some) => {
      // A name in DuckDB has at least one character, and two columns may not have the same name.
      const name = `n${some}`;
      const reader = await connection.runAndReadAll(`SELECT ${sqlString(value)} AS ${sqlName(name)}`);
      expect(reader.getRowObjects()).toEqual([{ [name]: value }]);
    }),
    { numRuns: 200 },
  );
  connection.closeSync();
  instance.closeSync();
});

test('a zero byte is refused: it would end the statement', () => {
  for (const write of [sqlString, sqlName]) expect(() => write('a\0b')).toThrow('zero byte');
});

test('a JSON pointer names exactly one member, with any characters in its name', async () => {
  expect(jsonPointer(['a', 'b/c', 'd~e', '~1'])).toBe('/a/b~1c/d~0e/~01');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const names = ['a/b', '~', '~1', 'c'];
  for (const name of names) {
    const json = JSON.stringify(Object.fromEntries(names.map((one) => [one, `of ${one}`])));
    const sql = `SELECT json_extract_string(${sqlString(json)}, ${sqlString(jsonPointer([name]))}) AS found`;
    expect((await connection.runAndReadAll(sql)).getRowObjects()).toEqual([{ found: `of ${name}` }]);
  }
  connection.closeSync();
  instance.closeSync();
});
