import { expect, test } from 'vitest';
import { findAmbiguous, findColumns } from '../../src/upload/find-columns.ts';
import { readTableCsv } from '../../src/upload/read-csv.ts';
import { readJson } from '../../src/upload/read-json.ts';

/** The number of columns and rows, or what is wrong. */
function sizeOf(read: ReturnType<typeof readJson>): unknown {
  if (read.kind === 'refused') return read.problems.map(({ line, message }) => `${line}: ${message}`);
  return [read.table.columns.length, read.table.rows.length];
}
const csv = (text: string) => sizeOf(readTableCsv(text, { delimiter: ',', isHeading: () => false }));
const json = (text: string) => sizeOf(readJson(text));
const tooManyColumns = [expect.stringMatching(/^1: has more than 1,000 columns/)];

test('a row has at most 1,000 columns', () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `c${index}`);
  expect(csv(names(1_000).join())).toEqual([1_000, 0]);
  expect(csv(names(1_001).join())).toEqual(tooManyColumns);
  const object = (count: number) => JSON.stringify(Object.fromEntries(names(count).map((name) => [name, 1])));
  expect(json(object(1_000))).toEqual([1_000, 1]);
  expect(json(object(1_001))).toEqual(tooManyColumns);
});

test('a line has at most 65,536 characters, whatever ends it', () => {
  const line = (length: number) => 'x'.repeat(length);
  for (const end of ['\n', '\r', '\r\n', '']) {
    expect(csv(`a\n${line(65_536)}${end}`)).toEqual([1, 1]);
    expect(csv(`a\n${line(65_537)}${end}`)).toEqual([
      expect.stringMatching(/^2: has more than 65,536 characters/),
    ]);
  }
  // Short lines that are longer together.
  expect(csv(`a\n${`${line(1_000)}\n`.repeat(70)}`)).toEqual([1, 70]);
});

test('rows without any text do not count, also above the heading', () => {
  expect(csv('\n,\na,b\n,\n1,2\n')).toEqual([2, 1]);
  expect(csv(' \n\n')).toEqual([expect.stringMatching(/^0: is empty/)]);
  expect(csv(',\n,')).toEqual([expect.stringMatching(/^0: is empty/)]);
});

test('a name of a column has a meaning up to 200 characters, and two of one meaning are ambiguous', () => {
  const energy = (length: number) => `energy${' '.repeat(length - 12)}(kWh)`.padEnd(length, ' ');
  expect(findColumns([energy(200)], {}).energy).toMatchObject({ index: 0, unit: 'kWh' });
  expect(findColumns([energy(201)], {}).energy).toBeUndefined();
  const roles = (...header: string[]) => findAmbiguous(header, {}).map(({ role }) => role);
  expect([roles('meter', 'energy'), roles('meter', 'code')]).toEqual([[], ['meter']]);
});
