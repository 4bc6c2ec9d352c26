import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBConnection } from '@duckdb/node-api';
import { expect, test, vi } from 'vitest';
import { readStatements } from '../../src/warehouse/load-sql.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { without } from './chapter-heads.ts';
import { columnListsOf, differencesOf, formErrorsOf, madeTables, writtenColumns } from './column-lists.ts';
import { openTestShard } from './warehouse-fixture.ts';

const sql = join(import.meta.dirname, '../../sql');

const chapters = readdirSync(sql)
  .filter((name) => name !== 'schema')
  .map((folder) => ({ folder, statements: [...readStatements(join(sql, folder))] }));
const roles = balanceRoles();

test('a comment describes columns only in a list at its end, one note a line', () => {
  const errors = chapters.flatMap(({ folder, statements }) =>
    statements.flatMap(([name, text]) => formErrorsOf(text).map((error) => `${folder}/${name}: ${error}`)),
  );
  expect(errors).toEqual([]);
});

test('every temporary table has a list of its columns', () => {
  for (const { folder, statements } of chapters) {
    const made = new Set(statements.flatMap(([, text]) => madeTables(text)));
    const listed = new Set(statements.flatMap(([, text]) => columnListsOf(text).map(({ title }) => title)));
    expect([folder, ...without(made, listed)]).toEqual([folder]);
  }
});

test('the lists name the columns that the statements make', { tags: ['slow'] }, async () => {
  const connection = await (await openTestShard()).connect();
  const made = await tableColumns();
  const wrong: string[] = [];
  let compared = 0;
  for (const { folder, statements } of chapters) {
    for (const [name, text] of statements) {
      for (const { title, items, isPartial } of columnListsOf(text)) {
        const columns =
          (title === 'Columns' ? await preparedColumns(connection, text) : undefined) ??
          writtenColumns(text, title) ??
          (folder === 'rollup' ? made.get(title) : undefined);
        if (columns === undefined || isPartial) continue;
        const known = items.flatMap((item) => columnsOfItem(item, made));
        wrong.push(...differencesOf(known, columns).map((one) => `${folder}/${name}, ${title}: ${one}`));
        compared++;
      }
    }
  }
  connection.closeSync();
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(140);
});

/** The columns of the rows that a statement returns; undefined if it reads tables that do not exist alone. */
async function preparedColumns(connection: DuckDBConnection, text: string): Promise<string[] | undefined> {
  if (/^INSERT/m.test(text) || text.includes('read_parquet')) return undefined;
  const statement = await connection.prepare(text).catch(() => undefined);
  return (
    statement && Array.from({ length: statement.columnCount }, (_, index) => statement.columnName(index))
  );
}

/** The columns that an item of a list stands for. */
function columnsOfItem(item: string, tables: ReadonlyMap<string, string[]>): string[] {
  const [, table] = /^columns of ([a-z_]+)$/.exec(item) ?? [];
  if (table !== undefined) return tables.get(table) ?? [];
  return item.startsWith('<role>') ? roles.map((role) => item.replace('<role>', role)) : [item];
}

/** The roles of a balance. */
function balanceRoles(): string[] {
  const text = readStatements(join(sql, 'balance')).get('find_role')!;
  return [...text.matchAll(/\('([a-z_]+)', -?1, \d, /g)].map(([, role]) => role!);
}

/** The columns of all tables of a roll-up that runs every statement, temporary ones too. */
async function tableColumns(): Promise<Map<string, string[]>> {
  const shard = await openTestShard();
  await landReadings(shard, [
    { event_time: '2026-11-20T10:00:00Z', data: { total: 100, daily: 5, power: 1 } },
    { event_time: '2026-11-20T18:00:00Z', data: { total: 400, daily: 305, power: 9 } },
  ]);
  const spy = vi.spyOn(DuckDBConnection.prototype, 'runAndReadAll');
  await rollUpSite(shard, {
    timezone: 'Etc/UTC',
    streams: [
      { table: 't', field: 'total', method: 'total_energy' },
      { table: 't', field: 'daily', method: 'daily_energy' },
      { table: 't', field: 'power', method: 'power_curve' },
    ],
    runAll: true,
  });
  const connection = spy.mock.contexts.at(-1) as DuckDBConnection;
  spy.mockRestore();
  const rows = await connection.runAndReadAll(
    'SELECT table_name, list(column_name) AS names FROM duckdb_columns() WHERE NOT internal GROUP BY ALL',
  );
  return new Map(rows.getRowsJson() as Array<[string, string[]]>);
}
