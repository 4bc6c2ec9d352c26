import { afterEach, describe, expect, test, vi } from 'vitest';
import { DataTable, type TableColumn } from '../../src/web/parts/data-table.tsx';
import { renderPart } from './support/render-part.ts';

interface Row {
  name: string;
  count: number;
}
const columns: Array<TableColumn<Row>> = [
  { title: 'Name', cell: ({ name }: Row) => name },
  { title: 'Count', isNumber: true, cell: ({ count }: Row) => count },
  { title: 'Double', cell: ({ count }: Row) => 2 * count },
];
const table = { caption: 'Things', columns, keyOf: ({ name }: Row) => name };
const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `n${index}`, count: index }));

const drawn = (rows: Row[], changed: object = {}) =>
  renderPart(DataTable<Row>, { ...table, rows, ...changed });

test('a table has its caption, its titles and a line for each row', () => {
  expect(drawn(rowsOf(2)).lines).toEqual([
    'Things',
    'Name | Count | Double',
    'n0 | 0 | 0',
    'n1 | 1 | 2',
    '<Things>',
  ]);
});

test('a table without rows has its titles', () => {
  expect(drawn([]).lines).toEqual(['Things', 'Name | Count | Double', '<Things>']);
});

test('the first cell names its row, numbers stand at the right, and cells know their title', () => {
  const { elements } = drawn(rowsOf(1));
  expect(elements('th')).toEqual([
    { scope: 'col' },
    { scope: 'col', class: 'number' },
    { scope: 'col' },
    { scope: 'row' },
  ]);
  expect(elements('td')).toEqual([{ class: 'number', 'data-title': 'Count' }, { 'data-title': 'Double' }]);
});

test('a sum is the last line, below its column', () => {
  const summed = columns.with(1, { ...columns[1]!, sum: 3 });
  const { lines, elements } = drawn(rowsOf(3), { columns: summed });
  expect(lines.slice(-3)).toEqual(['n2 | 2 | 4', 'Sum | 3 |', '<Things>']);
  expect(elements('td').slice(-2)).toEqual(elements('td').slice(0, 2));
});

test('a table can be a file', () => {
  const file = { name: 'things.csv', heading: ['name'], row: ({ name }: Row) => [name] };
  expect(drawn(rowsOf(1), { file }).lines.at(-1)).toBe('[Download CSV]');
});

test('fifty rows are one page', () => {
  const { lines } = drawn(rowsOf(50));
  expect(lines).toHaveLength(53);
  expect(lines.at(-2)).toBe('n49 | 49 | 98');
});

test('the next rows are on the next page', () => {
  const { lines } = drawn(rowsOf(1_051));
  expect(lines).toHaveLength(54);
  expect(lines.slice(-3)).toEqual(['n49 | 49 | 98', '<Things>', '[Previous, disabled]1 – 50 of 1,051[Next]']);
});

describe('on a phone', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test('a page has ten rows', () => {
    const isPhone = (media: string) => ({ media, matches: media === '(max-width: 720px)' });
    vi.stubGlobal('matchMedia', isPhone);
    expect(drawn(rowsOf(10)).lines).toHaveLength(13);
    expect(drawn(rowsOf(11)).lines.slice(-3)).toEqual([
      'n9 | 9 | 18',
      '<Things>',
      '[Previous, disabled]1 – 10 of 11[Next]',
    ]);
  });
});
