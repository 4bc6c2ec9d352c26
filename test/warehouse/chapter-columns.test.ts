import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBConnection } from '@duckdb/node-api';
import { expect, test, vi } from 'vitest';
import { readStatements } from '../../src/warehouse/load-sql.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { without } from './chapter-heads.ts';
import { openTestShard } from './warehouse-fixture.ts';

const sql = join(import.meta.dirname, '../../sql');

/**
 * The items of a list of columns in a comment; undefined if the comment has none. A list without notes is on
 * the line of its title. In a list with notes each line has names, three spaces or more, and their note.
 */
function itemsOf(text: string, title: string): string[] | undefined {
  const lines = text.split('\n');
  const at = lines.findIndex((line) => line.startsWith(`-- ${title}:`));
  if (at === -1) return undefined;
  const inline = lines[at]!.slice(`-- ${title}:`.length).trim();
  if (inline !== '') return inline.replace(/\.$/, '').split(', ');
  const below = lines.slice(at + 1);
  const end = below.findIndex((line) => !line.startsWith('--   '));
  return below.slice(0, end).flatMap((line) => /^-- {3}(\S.*?)(?: {3}|$)/.exec(line)?.[1]?.split(', ') ?? []);
}

test('a comment names the columns of an answer as DuckDB returns them', async () => {
  const connection = await (await openTestShard()).connect();
  const [listed, found] = [new Map<string, string[]>(), new Map<string, string[]>()];
  for (const folder of readdirSync(sql).filter((name) => name !== 'schema')) {
    for (const [name, text] of readStatements(join(sql, folder))) {
      const items = itemsOf(text, 'Columns');
      // A file of the lake must exist before a statement that reads it can be prepared.
      if (items === undefined || text.includes('read_parquet')) continue;
      const statement = await connection.prepare(text);
      listed.set(name, items);
      found.set(
        name,
        Array.from({ length: statement.columnCount }, (_, index) => statement.columnName(index)),
      );
    }
  }
  connection.closeSync();
  expect(listed.size).toBeGreaterThan(20);
  expect(listed).toEqual(found);
});

test('a comment of the roll-up names the columns of the temporary table that its statement makes', async () => {
  const made = await temporaryColumns();
  const compared = new Set<string>();
  for (const text of readStatements(join(sql, 'rollup')).values()) {
    const [, table] = /TEMP TABLE ([a-z_]+)/.exec(text) ?? [];
    const items = table === undefined ? undefined : itemsOf(text, table);
    const columns = made.get(table ?? '');
    // A table that several statements make is described at the first of them.
    if (items === undefined || columns === undefined || compared.has(table!)) continue;
    const names = items.filter((item) => /^[a-z_0-9]+$/.test(item));
    expect([table, ...without(names, new Set(columns))]).toEqual([table]);
    // Prose stands for the columns of another table.
    if (names.length < items.length) continue;
    expect([table, ...without(columns, new Set(names))]).toEqual([table]);
    compared.add(table!);
  }
  expect(compared.size).toBeGreaterThan(20);
});

/** The columns of all temporary tables of a roll-up that runs every statement. */
async function temporaryColumns(): Promise<Map<string, string[]>> {
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
    "SELECT table_name, list(column_name) AS names FROM duckdb_columns() WHERE database_name = 'temp' GROUP BY ALL",
  );
  return new Map(rows.getRowsJson() as Array<[string, string[]]>);
}
