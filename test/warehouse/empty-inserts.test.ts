import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { targetOf } from '../../src/warehouse/empty-inserts.ts';
import { queryText } from '../../src/warehouse/query.ts';
import { rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openTestShard, rowsOf } from './warehouse-fixture.ts';

const NONE = 'INSERT INTO t SELECT x, x FROM none ORDER BY x';
const MANY = '-- a comment\nINSERT INTO t SELECT range, 1 FROM range(130000) ORDER BY range';
// Half a row group.
const HALF = 'INSERT INTO t SELECT range, 1 FROM range(61440) ORDER BY range';
const FEW = 'INSERT INTO t SELECT range, 1 FROM range(7) ORDER BY range';
const NEW = 'CREATE OR REPLACE TABLE t AS SELECT x AS a, x AS b FROM none ORDER BY x';
const NEW_MANY = 'CREATE OR REPLACE TABLE t AS SELECT range AS a, 1 AS b FROM range(130000) ORDER BY range';
const GONE = 'DELETE FROM t WHERE a % 2 = 0';
const TABLES = 'CREATE TABLE t (a BIGINT, b BIGINT NOT NULL); CREATE TABLE none (x BIGINT)';

async function countOf(connection: DuckDBConnection): Promise<number> {
  // Of a column, because the number of rows is also known without them.
  const reader = await connection.runAndReadAll('SELECT coalesce(sum((a >= 0)::INTEGER), 0)::INTEGER FROM t');
  return Number(reader.getRows()[0]![0]);
}

test.each([
  { behind: 'in its transaction', transactions: [[NONE, MANY]], left: 0 },
  { behind: 'of a new table', transactions: [[NEW, MANY]], left: 0 },
  { behind: 'in a later one', transactions: [[MANY, NONE], [MANY]], left: 130_000 },
])('the engine loses what lies behind no rows, $behind', async ({ transactions, left }) => {
  const instance = await DuckDBInstance.create(join(tempDir(), 't.duckdb'), { threads: '2' });
  const connection = await instance.connect();
  await connection.run(TABLES);
  for (const statements of transactions) {
    await connection.run('BEGIN');
    for (const sql of statements) await connection.run(sql);
    await connection.run('COMMIT');
  }
  // Once this fails, the engine is mended, and src/warehouse/empty-inserts.ts is there for nothing.
  expect(await countOf(connection)).toBe(left);
});

test.each([
  ['INSERT INTO message SELECT 1', 'message', false],
  ['-- a comment\n\n  INSERT INTO message BY NAME', 'message', false],
  ['CREATE TABLE t AS SELECT 1', 't', true],
  ['CREATE OR REPLACE TEMP TABLE t AS\nSELECT 1', 't', true],
])('a statement that inserts rows names its table: %j', (sql, table, isNew) => {
  expect(targetOf(sql)).toEqual({ table, isNew });
});

test.each([
  'CREATE TABLE t (a INTEGER)',
  'UPDATE t SET a = 1',
  'SELECT 1; INSERT INTO t SELECT 1',
  'CREATE TABLE t ASK',
])('a statement that inserts no rows has no table: %j', (sql) => {
  expect(targetOf(sql)).toBeUndefined();
});

test('no row is lost, in any order of transactions that insert no, few and many rows, and delete', {
  tags: ['slow'],
}, async () => {
  const statement = fc.constantFrom(NONE, NONE, NONE, MANY, MANY, MANY, HALF, HALF, FEW, GONE, NEW, NEW_MANY);
  const transactions = fc.array(fc.array(statement, { minLength: 1, maxLength: 5 }), {
    minLength: 1,
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(transactions, async (list) => {
      const shard = await openTestShard({ threads: 2 });
      await shard.transaction((connection) => connection.run(TABLES));
      // With one thread the engine loses nothing.
      await shard.read((connection) => connection.run('SET GLOBAL threads = 2'));
      let expected = 0;
      for (const statements of list) {
        await shard.transaction(async (connection) => {
          for (const sql of statements) {
            const [row] = await queryText(connection, sql);
            if (sql === NEW || sql === NEW_MANY) expected = 0;
            expected += sql === GONE ? -Number(row!.Count) : Number(row!.Count);
          }
          expect(await countOf(connection)).toBe(expected);
        });
        expect(await shard.transaction(countOf)).toBe(expected);
      }
    }),
    {
      numRuns: rounds(6, 40),
      examples: [
        [[[NONE, MANY]]],
        [[[NEW, MANY]]],
        [[[HALF, HALF, NONE], [MANY, NONE], [MANY]]],
        [[[NEW, NEW, NONE, MANY], [NEW_MANY, NONE], [MANY]]],
        [[[MANY, NONE, MANY], [MANY]]],
        [[[MANY, NONE], [MANY]]],
        [
          [
            [FEW, MANY, NONE],
            [MANY, NONE],
            [MANY, NONE],
          ],
        ],
      ],
    },
  );
});

test('the way around works for every table of the warehouse, and leaves nothing in it', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  const tables = (await rowsOf(
    shard,
    "SELECT table_name AS name FROM duckdb_tables() WHERE NOT temporary AND schema_name = 'main'",
  )) as Array<{ name: string }>;
  expect(tables.length).toBeGreaterThan(20);
  await shard.transaction(async (connection) => {
    for (const { name } of tables) {
      const count = () => queryText(connection, `SELECT count(*)::INTEGER AS count FROM ${name}`);
      const before = await count();
      for (let time = 0; time < 2; time++)
        await queryText(connection, `INSERT INTO ${name} SELECT * FROM ${name} WHERE false ORDER BY ALL`);
      expect(await count(), name).toEqual(before);
    }
  });
});
