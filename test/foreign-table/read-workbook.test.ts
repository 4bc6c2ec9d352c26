import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { csvLine, isWorkbook, readWorkbook } from '../../src/foreign-table/read-workbook.ts';
import { tempDir } from '../support/temp-dir.ts';
import { workbookOf } from './zip-files.ts';

function fileOf(archive: Buffer): string {
  const path = join(tempDir(), 'plan.xlsx');
  writeFileSync(path, archive);
  return path;
}
const row = (...values: Array<number | ''>) =>
  `<row>${values.map((value) => `<c><v>${value}</v></c>`).join('')}</row>`;

test('without a name the first visible sheet with rows is read, with the columns that have values', async () => {
  const path = fileOf(
    workbookOf({ Hidden: row(1), Empty: row('', ''), Data: row(1) + row(1, 2, ''), More: row(1) }),
  );
  const { chosen, width, note } = await readWorkbook(path, undefined);
  expect([chosen.name, width]).toEqual(['Data', 2]);
  expect(note).toBe(
    'plan.xlsx: sheet "Data" is read; the sheets are "Hidden", "Empty", "Data", "More", and --sheet chooses another one',
  );
  expect(await readWorkbook(path, 'Hidden')).toMatchObject({ chosen: { name: 'Hidden' }, width: 1 });
  await expect(readWorkbook(path, 'Empty')).rejects.toThrow('has no rows in sheet "Empty"');
  await expect(readWorkbook(fileOf(workbookOf({ Hidden: row(1) })), undefined)).rejects.toThrow(
    'has no rows',
  );
});

test('a sheet may have 20 million cells, with those that are empty', { tags: ['slow'] }, async () => {
  // A row has 16,384 cells. 1,220 of them are 19,988,480 cells.
  const wide = (rows: number) =>
    fileOf(workbookOf({ Wide: '<row><c r="XFD1"><v>1</v></c></row>'.repeat(rows) }));
  expect(await readWorkbook(wide(1_220), undefined)).toMatchObject({ width: 16_384 });
  await expect(readWorkbook(wide(1_221), undefined)).rejects.toThrow(
    'has more than 20,000,000 cells in sheet "Wide", with those that are empty',
  );
});

test('an old workbook is refused with advice', async () => {
  const path = fileOf(Buffer.from('d0cf11e0a1b11ae1', 'hex'));
  await expect(readWorkbook(path, undefined)).rejects.toThrow('is an old .xls file');
  expect(['a.xls', 'a.XLSX', 'a.xlsm', 'a.xlsb', 'a.csv'].map(isWorkbook)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});

test('a row is a line of CSV in which each cell is one line', () => {
  expect(csvLine(['a', 'b,c', 'say "x"', ' first \r\n second', '1'], 6)).toBe(
    'a,"b,c","say ""x""",first second,1,',
  );
});
