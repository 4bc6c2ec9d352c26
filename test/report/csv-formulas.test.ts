import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { copyRows } from '../../src/report/rows/copy-rows.ts';
import { listedRows } from '../../src/report/rows/row-select.ts';
import { csvText } from '../../src/web/words/csv-text.ts';
import { tempDir } from '../support/temp-dir.ts';

test.each([
  ['=1+1', "'=1+1"],
  ['＝1+1', "'＝1+1"],
  ['\t=1', "'\t'=1"],
  // Programs that separate cells by semicolons begin a cell here, also inside of quotes.
  ['garage;=1+1;-2', "garage;'=1+1;'-2"],
  ['garage\r\n=1+1', '"garage\r\n\'=1+1"'],
  ['garage-1;2=3', 'garage-1;2=3'],
])('a spreadsheet computes nothing of %j', async (text, cell) => {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const path = join(tempDir(), 'rows.csv');
  const rows = listedRows({ columns: ['device_name', 'energy_wh'], order: [] }, [
    { device_name: text, energy_wh: 5 },
  ]);
  await copyRows(connection, rows, 'csv', path);
  connection.closeSync();
  instance.closeSync();
  const expected = `device_name,energy_wh\r\n${cell},5\r\n`;
  expect(readFileSync(path, 'utf8')).toBe(expected);
  // The page writes its own files.
  expect(csvText(['device_name', 'energy_wh'], [[text, 5]])).toBe(expected);
});
