import { expect, test } from 'vitest';
import { queryLiterally, queryText, type SqlParameters } from '../../src/warehouse/query.ts';
import { shared } from '../support/shared.ts';
import { openTestShard } from './warehouse-fixture.ts';

const shard = shared(openTestShard);

type Value = SqlParameters[string];

test.each<[value: Value, type: string]>([
  [null, '"NULL"'],
  [true, 'BOOLEAN'],
  [7, 'INTEGER'],
  [-7, 'INTEGER'],
  [2 ** 40, 'BIGINT'],
  [0.1, 'DOUBLE'],
  [-1e-7, 'DOUBLE'],
  [1e300, 'DOUBLE'],
  [Number.POSITIVE_INFINITY, 'DOUBLE'],
  ['home', 'VARCHAR'],
  ['', 'VARCHAR'],
  ["it's; --", 'VARCHAR'],
  ['a\nb', 'VARCHAR'],
  ['größer', 'VARCHAR'],
  ['x'.repeat(251), 'VARCHAR'],
  [['a', 'b c'], 'VARCHAR[]'],
  [['a', "it's"], 'VARCHAR[]'],
  [[1, 2], 'INTEGER[]'],
])('%j as a literal is the same value (%s)', async (value, type) => {
  const [row] = await shard().read((connection) =>
    queryLiterally(connection, 'SELECT $value AS value, typeof($value) AS type', { value }),
  );
  const found = row!.value as { items?: unknown[] } | number | string | bigint | boolean | null;
  const plain = typeof found === 'object' && found?.items ? found.items : found;
  expect(typeof plain === 'bigint' ? Number(plain) : plain).toEqual(value);
  // A number that is no literal, as infinity, and a list with a text that is none stay parameters.
  if (!Array.isArray(value)) expect(row!.type).toBe(type);
});

test('a literal and a parameter can be in one statement, also more than once', async () => {
  const parameters = { a: "it's", b: 'plain', c: [1n, 2n] };
  const sql = 'SELECT $a AS a, $b AS b, $a || $b AS ab, list_sum($c::BIGINT[])::INTEGER AS c';
  const expected = [{ a: "it's", b: 'plain', ab: "it'splain", c: 3 }];
  expect(await shard().read((connection) => queryLiterally(connection, sql, parameters))).toEqual(expected);
  expect(await shard().read((connection) => queryText(connection, sql, parameters))).toEqual(expected);
});
